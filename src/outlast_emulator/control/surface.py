"""`/_emulator/`: what a test may ask of the emulator, and ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

CUTS = ("reset", "silent")


def routes(emulator: Emulator) -> Iterable[Route]:
    surface = Surface(emulator)
    table: tuple[tuple[str, str, Callable[[Request], Any]], ...] = (
        ("GET", "", surface.overview),
        ("POST", "faults", surface.add_fault),
        ("GET", "faults", surface.list_faults),
        ("GET", "faults/{id}", surface.get_fault),
        ("DELETE", "faults", surface.remove_faults),
        ("DELETE", "faults/{id}", surface.remove_faults),
        ("POST", "latency", surface.set_latency),
        ("POST", "network", surface.cut_network),
        ("GET", "switches", surface.get_switches),
        ("POST", "switches", surface.set_switches),
        ("GET", "clock", surface.get_clock),
        ("POST", "clock", surface.set_clock),
        ("POST", "lifecycle", surface.carry_out_lifecycle),
        ("GET", "ledger", surface.ledger),
        ("GET", "operations", surface.operations),
        ("GET", "requests", surface.requests),
    )
    for verb, path, operation in table:
        name = f"emulator.{operation.__name__}"
        yield Route(name, verb, f"/_emulator/{path}".rstrip("/"), answered(operation), public=True)


def answered(operation: Callable[[Request], Any]) -> Callable[[Request], Response]:
    def call(request: Request) -> Response:
        try:
            return answer(operation(request))
        except (ValueError, TypeError, KeyError) as error:
            why = f"there is no {error} in it" if isinstance(error, KeyError) else str(error)
            raise ApiError(400, "invalid", f"{request.verb} {request.path}: {why}") from error

    return call


class Surface:
    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def overview(self, request: Request) -> dict[str, Any]:
        from outlast_emulator.variables import variables

        return {"url": self._emulator.url, "variables": variables(self._emulator.url, self._emulator.clock.scale)}

    # ---------------------------------------------------------------------------------------------------------- faults

    def add_fault(self, request: Request) -> dict[str, Any]:
        return self._emulator.faults.add(request.json()).shown()

    def list_faults(self, request: Request) -> dict[str, Any]:
        return {"faults": [fault.shown() for fault in self._emulator.faults.all()]}

    def get_fault(self, request: Request) -> dict[str, Any]:
        for fault in self._emulator.faults.all():
            if fault.id == request.params["id"]:
                return fault.shown()
        raise ApiError(404, "notFound", f"no fault `{request.params['id']}`")

    def remove_faults(self, request: Request) -> dict[str, Any]:
        self._emulator.faults.remove(request.params.get("id", ""))
        return self.list_faults(request)

    def set_latency(self, request: Request) -> dict[str, Any]:
        """{"seconds": 0.2, "jitter_seconds": 0.1, "method": "storage.*"}; {} ends it."""
        wanted = request.json()
        seconds, jitter = float(wanted.get("seconds", 0)), float(wanted.get("jitter_seconds", 0))
        self._emulator.faults.set_latency(str(wanted.get("method", "*")), seconds, jitter)
        return {"latency": self._emulator.faults.latency}

    def cut_network(self, request: Request) -> dict[str, Any]:
        """{"cut": true, "how": "reset"}: all but this surface is unreachable."""
        wanted = request.json()
        how = str(wanted.get("how", "reset"))
        if how not in CUTS:
            raise ValueError(f"no way to cut `{how}`; there are {', '.join(CUTS)}")
        self._emulator.faults.cut_network(how if wanted["cut"] else "")
        return {"cut": bool(self._emulator.faults.network_cut), "how": self._emulator.faults.network_cut}

    # ---------------------------------------------------------------------------------------------------------- settings

    def get_switches(self, request: Request) -> dict[str, Any]:
        return self._emulator.switches.shown()

    def set_switches(self, request: Request) -> dict[str, Any]:
        self._emulator.switches.change(request.json())
        return self._emulator.switches.shown()

    def get_clock(self, request: Request) -> dict[str, Any]:
        clock = self._emulator.clock
        return {"now": clock.now(), "skew_seconds": clock.skew_seconds, "time_scale": clock.scale}

    def set_clock(self, request: Request) -> dict[str, Any]:
        """{"skew_seconds": 86400}: the emulator's time is a day ahead of the system's."""
        self._emulator.clock.skew_seconds = float(request.json()["skew_seconds"])
        return self.get_clock(request)

    def carry_out_lifecycle(self, request: Request) -> dict[str, Any]:
        """Now, not some seconds later."""
        return dict(self._emulator.lifecycle.carry_out())

    # -------------------------------------------------------------------------------------------------------- observing

    def ledger(self, request: Request) -> dict[str, Any]:
        return self._emulator.ledger.document()

    def operations(self, request: Request) -> dict[str, Any]:
        return self._emulator.ledger.operations()

    def requests(self, request: Request) -> dict[str, Any]:
        return {"requests": self._emulator.record.last()}
