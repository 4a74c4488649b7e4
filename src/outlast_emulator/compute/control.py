"""`/_emulator/capacity`, `/_emulator/quotas`, `/_emulator/machines`, `/_emulator/usage`: Compute Engine as a test wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import places
from outlast_emulator.compute.contents import MachineGuest
from outlast_emulator.compute.resources import Instance
from outlast_emulator.control.surface import answered
from outlast_emulator.errors import ApiError
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.request import Request
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

CAPACITY_FIELDS = ("zone", "machine_type", "provisioning", "machines")
PROVISIONING = ("*", "SPOT", "STANDARD", "FLEX_START", "RESERVATION_BOUND")


def routes(emulator: Emulator) -> Iterable[Route]:
    control = _Control(emulator)
    table: tuple[tuple[str, str, Callable[[Request], Any]], ...] = (
        ("GET", "capacity", control.get_capacity),
        ("POST", "capacity", control.set_capacity),
        ("DELETE", "capacity", control.restore_capacity),
        ("GET", "quotas", control.get_quotas),
        ("POST", "quotas", control.set_quota),
        ("GET", "machines", control.get_machines),
        ("POST", "machines/cut", control.cut_machine),
        ("POST", "machines/kill", control.kill_machine),
        ("GET", "usage", control.get_usage),
    )
    for verb, path, operation in table:
        name = f"emulator.{operation.__name__}"
        yield Route(name, verb, f"/_emulator/{path}", answered(operation), quick=False, public=True)


class _Control:
    def __init__(self, emulator: Emulator) -> None:
        self._compute = emulator.compute

    # ---------------------------------------------------------------------------------------------------------- capacity

    def get_capacity(self, request: Request) -> dict[str, Any]:
        return {"rules": self._compute.capacity.rules()}

    def set_capacity(self, request: Request) -> dict[str, Any]:
        """{"zone": "us-central1-*", "machine_type": "nvidia-l4", "provisioning": "SPOT", "machines": 0}; null takes it back."""
        wanted = request.json()
        unknown = sorted(set(wanted) - set(CAPACITY_FIELDS))
        if unknown:
            raise ValueError(f"unknown field `{unknown[0]}`; there are {', '.join(CAPACITY_FIELDS)}")
        patterns = {name: str(wanted[name]) for name in CAPACITY_FIELDS[:3] if name in wanted}
        if patterns.get("provisioning", "*") not in PROVISIONING:
            raise ValueError(f"no provisioning `{patterns['provisioning']}`; there are {', '.join(PROVISIONING)}")
        machines = wanted.get("machines", 0)
        if machines is None:
            self._compute.capacity.restore(**patterns)
        else:
            self._compute.capacity.exhaust(**patterns, machines=int(machines))
        return self.get_capacity(request)

    def restore_capacity(self, request: Request) -> dict[str, Any]:
        self._compute.capacity.restore()
        return self.get_capacity(request)

    def get_quotas(self, request: Request) -> dict[str, Any]:
        region = request.query("region")
        if region:
            places.check_region(region)
        return {"region": region, "quotas": self._compute.capacity.shown(PROJECT, region)}

    def set_quota(self, request: Request) -> dict[str, Any]:
        """{"metric": "NVIDIA_L4_GPUS", "limit": 1, "region": "us-central1"}; `*` is every region, none the project's own."""
        wanted = request.json()
        region = str(wanted.get("region", ""))
        if region not in ("", "*"):
            places.check_region(region)
        self._compute.capacity.set_limit(str(wanted["metric"]), float(wanted["limit"]), region)
        return {"region": region, "metric": wanted["metric"], "limit": float(wanted["limit"])}

    # ---------------------------------------------------------------------------------------------------------- machines

    def get_machines(self, request: Request) -> dict[str, Any]:
        """What really runs."""
        found = []
        for instance in self._compute.instances.all():
            guest = self._compute.instances.guest(instance)
            pid = guest.machine.pid if isinstance(guest, MachineGuest) else 0
            alive = guest is not None and guest.alive()
            found.append(
                {
                    "instance": instance.name,
                    "zone": instance.zone,
                    "status": instance.status,
                    "alive": alive,
                    "pid": pid,
                    "boots": instance.state.get("boots", 0),
                }
            )
        return {"kind": self._compute.contents.kind, "machines": found}

    def cut_machine(self, request: Request) -> dict[str, Any]:
        """{"instance": NAME, "cut": true}: nothing it sends arrives; its metadata server answers still."""
        instance = self._instance(request)
        guest = self._compute.instances.guest(instance)
        if guest is None:
            raise ValueError(f"`{instance.name}` does not run")
        guest.cut(bool(request.json()["cut"]))
        return {"instance": instance.name, "cut": bool(request.json()["cut"])}

    def kill_machine(self, request: Request) -> dict[str, Any]:
        """{"instance": NAME}: SIGKILL to all of it, as when its host dies; nobody is told."""
        from outlast_emulator.compute.instances import HOST_ERROR

        instance = self._instance(request)
        self._compute.operations.done("compute.instances.hostError", instance)
        self._compute.instances.end(instance, HOST_ERROR, grace_seconds=0)
        return {"instance": instance.name}

    def get_usage(self, request: Request) -> dict[str, Any]:
        """Every line that was ever paid for."""
        return {"lines": self._compute.usage.lines(), "usd_total": self._compute.usage.usd_total()}

    def _instance(self, request: Request) -> Instance:
        name = str(request.json()["instance"])
        found = self._compute.instances.named(name)
        if found is None:
            raise ApiError(404, "notFound", f"no instance `{name}`")
        return found
