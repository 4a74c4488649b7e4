"""Watches a rented machine's metadata, and passes a notice on: `python -m outlast.machine.notices DIRECTORY... SECONDS`.

Google sends no signal during the notice: who does not ask is not told. One question is always open, and is answered at the change.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from outlast.clock import SYSTEM
from outlast.errors import OutlastError
from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.machine.metadata import Metadata

QUESTION_SECONDS = 60
PAUSE_SECONDS = 1.0
MAINTENANCE = "TERMINATE_ON_HOST_MAINTENANCE"
MAINTENANCE_SECONDS = 150.0
"""Google says so an hour before; who leaves sooner begins again sooner, elsewhere."""


def seconds_of(tree: dict[str, Any], notice_seconds: float) -> float | None:
    """How long this machine still has, by what its metadata say; None: nobody wants it."""
    if str(tree.get("preempted", "")).upper() == "TRUE":
        return notice_seconds
    if tree.get("maintenanceEvent") == MAINTENANCE:
        return max(notice_seconds, MAINTENANCE_SECONDS)
    return None


def watch(machines: Sequence[MachineDir], metadata: Metadata, notice_seconds: float) -> None:
    """Returns when the notice has been passed on, to each of those that share this machine."""
    while True:
        try:
            tree = metadata.watch("instance/", QUESTION_SECONDS)
        except OutlastError:
            SYSTEM.sleep(PAUSE_SECONDS)
            continue
        seconds = seconds_of(tree, notice_seconds)
        if seconds is None:
            continue
        leave_by = SYSTEM.monotonic() + seconds
        for paths in machines:
            if not os.path.exists(paths.notice):
                files.put_json(paths.notice, {"leave_by_monotonic": leave_by})
        for paths in machines:
            _tell(paths)
        return


def _tell(paths: MachineDir) -> None:
    while (init := paths.init_process()) is None and paths.left_done() is None:
        SYSTEM.sleep(PAUSE_SECONDS / 20)
    if init is not None:
        init.send(signal.SIGTERM)


def main(arguments: list[str]) -> int:
    system.die_with(os.getppid())
    *directories, seconds = arguments
    watch([MachineDir(one) for one in directories], Metadata.of(os.environ), float(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
