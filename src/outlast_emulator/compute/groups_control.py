"""`/_emulator/preempt`, `/_emulator/maintain` and `/_emulator/trace`: machines are taken away when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute.instances import is_spot
from outlast_emulator.compute.resources import Instance
from outlast_emulator.control.surface import answered
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator


def routes(emulator: Emulator) -> Iterable[Route]:
    control = GroupsControl(emulator)
    table: tuple[tuple[str, str, Callable[[Request], Any]], ...] = (
        ("POST", "preempt", control.preempt),
        ("POST", "maintain", control.maintain),
        ("POST", "machines/lose", control.lose_machine),
        ("POST", "trace", control.play_trace),
        ("GET", "trace", control.get_trace),
        ("DELETE", "trace", control.stop_trace),
    )
    for verb, path, operation in table:
        name = f"emulator.{operation.__name__}"
        yield Route(name, verb, f"/_emulator/{path}", answered(operation), quick=False, public=True)


class GroupsControl:
    def __init__(self, emulator: Emulator) -> None:
        self._compute = emulator.compute

    def preempt(self, request: Request) -> dict[str, Any]:
        """{"instance": NAME, "notice_seconds": 120}: from the first word to the end, in Google's time; 0: dead at once.

        Without `notice_seconds` as its scheduling says. `zone` where the name is in several.
        """
        instance, seconds = self._asked(request, "notice_seconds")
        if not is_spot(instance):
            raise ValueError(f"`{instance.name}` is no Spot machine; `machines/kill` and `maintain` end others")
        self._compute.preemption.preempt(instance, **seconds)
        return self._shown(instance)

    def maintain(self, request: Request) -> dict[str, Any]:
        """{"instance": NAME, "notice_seconds": 3600}: its host is maintained after the notice that Google gives, or this one."""
        instance, seconds = self._asked(request, "notice_seconds")
        self._compute.preemption.maintain(instance, **seconds)
        return self._shown(instance)

    def lose_machine(self, request: Request) -> dict[str, Any]:
        """{"instance": NAME, "frozen_seconds": 60, "seconds": 120}: dead to the API at once, and alive: a zombie."""
        instance, seconds = self._asked(request, "frozen_seconds", "seconds")
        self._compute.zombies.lose(instance, **seconds)
        return self._shown(instance)

    def play_trace(self, request: Request) -> dict[str, Any]:
        return self._compute.traces.play(request.json())

    def get_trace(self, request: Request) -> dict[str, Any]:
        return self._compute.traces.shown()

    def stop_trace(self, request: Request) -> dict[str, Any]:
        self._compute.traces.stop()
        return self._compute.traces.shown()

    def _asked(self, request: Request, *lengths: str) -> tuple[Instance, dict[str, float]]:
        """The instance, and the lengths of time that were said."""
        wanted = request.json()
        unknown = sorted(set(wanted) - {"instance", "zone", *lengths})
        if unknown:
            raise ValueError(f"unknown field `{unknown[0]}`; there are instance, zone, {', '.join(lengths)}")
        name, zone = str(wanted["instance"]), str(wanted.get("zone", ""))
        found = [one for one in self._compute.instances.all() if one.name == name and zone in ("", one.zone)]
        if not found:
            raise ApiError(404, "notFound", f"no instance `{name}`{f' in `{zone}`' if zone else ''}")
        if len(found) > 1:
            raise ValueError(f"`{name}` is in {', '.join(sorted(one.zone for one in found))}: say which `zone`")
        said = {name: float(wanted[name]) for name in lengths if wanted.get(name) is not None}
        for name, seconds in said.items():
            if not 0 <= seconds < float("inf"):
                raise ValueError(f"`{name}` cannot be {wanted[name]}")
        return found[0], said

    def _shown(self, instance: Instance) -> dict[str, Any]:
        found = self._compute.instances.fresh(instance) or instance
        return {"instance": found.name, "zone": found.zone, "status": found.status}
