"""A machine's place for the cells of a sweep, one after another: its directory, cleared in between."""

from __future__ import annotations

import os
from collections.abc import Callable

from outlast.agent.bench import Held
from outlast.agent.child import Child
from outlast.clock import Clock
from outlast.folder.records import LaunchRecord
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.machine.trainer import ProcessChild
from outlast.spec.spec import Spec

HELD = "cell.json"
PAID = "paid.json"
STAYS = frozenset(
    {
        HELD,
        PAID,
        "machine.json",
        "init.json",
        "agent.json",
        "up",
        "left.json",
        "notice.json",
        "losses.json",
        "machine.log",
        "orders",
        "tidings",
        "reserve",
        "run",
        "work",
        "spool",
        "taken",
    }
)
"""What is the machine's, and the directories that every attempt empties before it begins. All else is of the cell that it was at."""


def paid_until(paths: MachineDir) -> float | None:
    document = files.read_json(f"{paths.path}/{PAID}")
    return float(document["until_monotonic"]) if isinstance(document, dict) else None


class MachineBench:
    def __init__(
        self, paths: MachineDir, make_child: Callable[[Spec, LaunchRecord], ProcessChild], clock: Clock
    ) -> None:
        self.paths = paths
        self.clock = clock
        self._make_child = make_child

    def held(self) -> Held | None:
        document = files.read_json(f"{self.paths.path}/{HELD}")
        return Held(document["cell"], document["number"]) if isinstance(document, dict) else None

    def take_up(self, held: Held) -> None:
        """The cell before has ended, and with it all its processes: init ended whatever its trainer had left."""
        for name in os.listdir(self.paths.path):
            if name not in STAYS:
                files.remove(f"{self.paths.path}/{name}")
        files.put_json(f"{self.paths.path}/{HELD}", {"cell": held.cell, "number": held.number})

    def put_down(self) -> None:
        files.remove(f"{self.paths.path}/{HELD}")

    def child(self, spec: Spec, launch: LaunchRecord) -> Child:
        return self._make_child(spec, launch)

    def close(self, child: Child) -> None:
        assert isinstance(child, ProcessChild)
        child.close()

    def paid_until(self) -> float | None:
        return paid_until(self.paths)

    def note_paid(self, until: float) -> None:
        files.put_json(f"{self.paths.path}/{PAID}", {"until_monotonic": until})

    def notice(self) -> float | None:
        document = files.read_json(self.paths.notice)
        if not isinstance(document, dict):
            return None
        return float(document["leave_by_monotonic"]) - self.clock.monotonic()
