"""The directory of a machine that has left becomes the next one's: it is renamed, instead of being removed while another one is made.

Only where the launch before had this one machine, which is over: nothing else is in its directory, and nobody looks for it any more.
"""

from __future__ import annotations

import os

from outlast.host import files
from outlast.host.machine_dir import ENTERED, Assignment, MachineDir

STAYS = frozenset(
    ("init.json", "agent.json", "orders", "tidings", "machine.log", "reserve", "work", "run", "spool", "taken")
)
"""What is the same for machines that share their processes, and the directories that every attempt empties before it begins."""


def may_move(assignment: Assignment) -> bool:
    """By what a machine was told that has left, with its launch done."""
    return assignment.workers == 1 and assignment.boot == 1


def move(before: MachineDir, after: MachineDir, assignment: Assignment) -> bool:
    """False: it cannot be, and nothing is at `after`.

    By a third name: whoever comes late to end the machine before must find nothing at all, and not the processes of the next one. Under
    that name it belongs to no launch, and goes with the supervisor.
    """
    old, name = os.path.split(before.path)
    aside = MachineDir(f"{os.path.dirname(old)}/.{os.path.basename(old)}/{name}")
    try:
        os.rename(old, os.path.dirname(aside.path))
    except OSError:
        return False  # it was large, and is removed already
    try:
        if _clear(aside):
            aside.write_assignment(assignment)
            os.rename(os.path.dirname(aside.path), os.path.dirname(after.path))
            return True
    except OSError:
        pass
    files.remove_tree(os.path.dirname(aside.path))
    return False


def _clear(directory: MachineDir) -> bool:
    """Takes away all that was this machine's own. False: its processes have said something, which is not the next one's, or somebody has
    entered it, and may still stand in it."""
    with os.scandir(directory.path) as entries:
        for entry in entries:
            if entry.name == ENTERED:
                return False
            if entry.name not in STAYS:
                files.remove(entry.path)
            elif entry.path == directory.log and entry.stat(follow_symlinks=False).st_size:
                return False
    return True
