"""What machines, disks and images cost while they are there: lines in the database, which the ledger adds up."""

from __future__ import annotations

from typing import Any

from outlast_emulator.clock import Clock
from outlast_emulator.compute import links, machine_types, quotas, scheduling_rules
from outlast_emulator.compute.database import Database
from outlast_emulator.compute.resources import Instance, Resource

HOURS_PER_MONTH = 730.0
FREE_SECONDS = 60.0
"""A machine that is preempted within this time of its creation is not paid for."""


class Usage:
    """A line is open as long as its thing is paid for. A killed emulator's lines stay open until the next start ends them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin_machine(self, instance: Instance) -> None:
        """It runs: from now on it is paid for. A machine that is running already is left as it is."""
        self._begin("compute.instance", instance, machine_usd_per_hour(instance.document))

    def end_machine(self, instance: Instance, *, preempted: bool = False) -> None:
        """It is off. One that was preempted within a minute of its creation was free."""
        self.end(instance)
        began_at = instance.state.get("created_at", 0.0)
        if preempted and self._clock.now() - began_at < self._clock.scaled(FREE_SECONDS):
            with self._database.write() as connection:
                connection.execute("UPDATE usage SET usd_per_hour=0 WHERE resource=?", (instance.id,))

    def begin_disk(self, disk: Resource) -> None:
        gb = float(disk.document.get("sizeGb", 0))
        usd = machine_types.DISK_TYPES[links.last(disk.document["type"])][2]
        self._begin("compute.disk", disk, gb * usd / HOURS_PER_MONTH)

    def begin_image(self, image: Resource) -> None:
        gb = float(image.document.get("archiveSizeBytes", 0)) / 1e9
        self._begin("compute.image", image, gb * machine_types.IMAGE_USD_PER_GB_MONTH / HOURS_PER_MONTH)

    def end(self, resource: Resource) -> None:
        with self._database.write() as connection:
            connection.execute(
                "UPDATE usage SET ended_at=? WHERE resource=? AND ended_at IS NULL", (self._clock.now(), resource.id)
            )

    def alive(self) -> list[dict[str, Any]]:
        """What is paid for now."""
        rows = self._database.rows(
            "SELECT kind, name, zone, usd_per_hour FROM usage WHERE ended_at IS NULL ORDER BY kind, name, zone"
        )
        return [{"kind": row[0], "name": row[1], "zone": row[2], "usd_per_hour": row[3]} for row in rows]

    def lines(self) -> list[dict[str, Any]]:
        """Everything that was ever paid for, with its time and price."""
        now = self._clock.now()
        rows = self._database.rows("SELECT kind, name, zone, usd_per_hour, began_at, ended_at FROM usage ORDER BY id")
        names = ("kind", "name", "zone", "usd_per_hour", "began_at", "ended_at")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for one in found:
            one["usd"] = ((one["ended_at"] or now) - one["began_at"]) / 3600 * one["usd_per_hour"]
        return found

    def usd_total(self) -> float:
        found = self._database.row(
            "SELECT sum((coalesce(ended_at, ?) - began_at) / 3600.0 * usd_per_hour) FROM usage", (self._clock.now(),)
        )
        return float(found[0] or 0.0) if found else 0.0

    def _begin(self, kind: str, resource: Resource, usd_per_hour: float) -> None:
        with self._database.write() as connection:
            if self._database.row("SELECT 1 FROM usage WHERE resource=? AND ended_at IS NULL", (resource.id,)):
                return
            connection.execute(
                "INSERT INTO usage (kind, resource, name, zone, usd_per_hour, began_at) VALUES (?, ?, ?, ?, ?, ?)",
                (kind, resource.id, resource.name, resource.zone or resource.region, usd_per_hour, self._clock.now()),
            )


def machine_usd_per_hour(document: dict[str, Any]) -> float:
    machine = machine_types.find(links.last(document["machineType"]))
    if machine is None:
        return 0.0
    attached = quotas.gpus(document, machine)
    attached.pop(machine.accelerator, None)
    spot = scheduling_rules.is_preemptible(document.get("scheduling", {}))
    return machine_types.usd_per_hour(machine, attached, spot)
