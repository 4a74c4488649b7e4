"""Whether a zone has room for an instance: what the control surface has exhausted, and quotas."""

from __future__ import annotations

import fnmatch
import json
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import failures, links, machine_types, places, quotas, scheduling_rules
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

CAPACITY, LIMITS = "capacity", "quotas"
"""Names of the notes in which both survive a restart."""


class Capacity:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def check(self, project: str, zone: str, document: dict[str, Any]) -> None:
        """Raises `Failure` if an instance like this cannot be had there now. `document` is that of the instance."""
        self._check_quotas(project, zone, document)
        self._check_room(project, zone, document)

    # -------------------------------------------------------------------------------------------------------- stock-outs

    def exhaust(
        self, *, zone: str = "*", machine_type: str = "*", provisioning: str = "*", machines: int = 0
    ) -> dict[str, Any]:
        """From now on a zone has room for `machines` such machines (those that run count, and go on). Patterns like `us-*`."""
        rule = {"zone": zone, "machine_type": machine_type, "provisioning": provisioning, "machines": machines}
        with self._compute.database.write():
            kept = [one for one in self.rules() if not _same(one, rule)]
            self._compute.database.keep_note(CAPACITY, json.dumps([*kept, rule]))
        return rule

    def restore(self, *, zone: str = "*", machine_type: str = "*", provisioning: str = "*") -> None:
        """Takes back what was said with the same patterns; without any, all of it."""
        wanted = {"zone": zone, "machine_type": machine_type, "provisioning": provisioning}
        everything = set(wanted.values()) == {"*"}
        with self._compute.database.write():
            kept = [] if everything else [one for one in self.rules() if not _same(one, wanted)]
            self._compute.database.keep_note(CAPACITY, json.dumps(kept))

    def rules(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._compute.database.note(CAPACITY) or "[]")
        return found

    def _check_room(self, project: str, zone: str, document: dict[str, Any]) -> None:
        for rule in self.rules():
            if not _covers(rule, zone, document):
                continue
            same = [one for one in self._taken(zone=zone) if _covers(rule, one.zone, one.document)]
            if len(same) >= rule["machines"]:
                machine = links.last(document["machineType"])
                attached = ", ".join(
                    f"{one.get('acceleratorCount', 0)} {links.last(one.get('acceleratorType', ''))}"
                    for one in document.get("guestAccelerators", ())
                )
                detailed = self._compute.switches.stockout_with_details
                words = failures.no_capacity_with_details if detailed else failures.no_capacity
                raise words(project, zone, machine, attached)

    # ------------------------------------------------------------------------------------------------------------ quotas

    def set_limit(self, metric: str, limit: float, region: str = "") -> None:
        """`region` "": the project's own; `*`: of every region."""
        known = quotas.GLOBAL if not region else quotas.REGIONAL
        if metric not in known:
            raise ValueError(f"no quota `{metric}`; there are {', '.join(sorted(known))}")
        with self._compute.database.write():
            limits = self._limits()
            for name in places.REGIONS if region == "*" else (region,):
                limits.setdefault(name, {})[metric] = limit
            self._compute.database.keep_note(LIMITS, json.dumps(limits))

    def limits(self, region: str = "") -> dict[str, float]:
        own = self._limits().get(region, {})
        return {**(quotas.REGIONAL if region else quotas.GLOBAL), **own}

    def shown(self, project: str, region: str = "") -> list[dict[str, Any]]:
        """`quotas` of a region's document, or of the project's."""
        limits = self.limits(region)
        used = self._used(project, region)
        return [{"metric": metric, "limit": limit, "usage": used.get(metric, 0.0)} for metric, limit in limits.items()]

    def _check_quotas(self, project: str, zone: str, document: dict[str, Any]) -> None:
        region = links.region_of(zone)
        spot = scheduling_rules.is_preemptible(document.get("scheduling", {}))
        regional, worldwide = self.limits(region), self.limits()
        wanted = quotas.uses(document, spot, regional)
        here, everywhere = self._used(project, region), self._used(project)
        for metric, amount in wanted.items():
            limits, used, where = (worldwide, everywhere, "") if metric in worldwide else (regional, here, region)
            if metric in limits and used.get(metric, 0.0) + amount > limits[metric]:
                raise failures.no_quota(metric, limits[metric], where)

    def _used(self, project: str, region: str = "") -> dict[str, float]:
        found: dict[str, float] = {}
        limits = self.limits(region) if region else {}
        for one in self._taken(project=project):
            if region and one.region != region:
                continue
            spot = scheduling_rules.is_preemptible(one.document.get("scheduling", {}))
            for metric, amount in quotas.uses(one.document, spot, limits).items():
                found[metric] = found.get(metric, 0.0) + amount
        for disk in self._compute.resources.list("disks", project):
            if not region or disk.region == region:
                metric = quotas.disk_metric(links.last(disk.document.get("type", "")))
                found[metric] = found.get(metric, 0.0) + float(disk.document.get("sizeGb", 0))
        return found

    def _limits(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = json.loads(self._compute.database.note(LIMITS) or "{}")
        return found

    def _taken(self, project: str = "", zone: str = "") -> list[Instance]:
        """Whatever holds a place: a stopped machine does not."""
        scope = links.zone_scope(zone) if zone else ""
        return [one for one in self._compute.resources.list("instances", project, scope) if one.status != "TERMINATED"]


def _same(rule: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(rule[name] == other[name] for name in ("zone", "machine_type", "provisioning"))


def _covers(rule: dict[str, Any], zone: str, document: dict[str, Any]) -> bool:
    model = scheduling_rules.model_of(document.get("scheduling", {}))
    machine = links.last(document["machineType"])
    named = [machine, *gpu_names(document)]
    return (
        fnmatch.fnmatchcase(zone, rule["zone"])
        and rule["provisioning"] in ("*", model)
        and any(fnmatch.fnmatchcase(one, rule["machine_type"]) for one in named)
    )


def gpu_names(document: dict[str, Any]) -> list[str]:
    """GPUs are named like machine types by whoever exhausts them: `nvidia-l4`."""
    machine = machine_types.find(links.last(document["machineType"]))
    return list(quotas.gpus(document, machine)) if machine is not None else []
