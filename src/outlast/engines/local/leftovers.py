"""What dead machines of this computer have left on its disk, and nobody will come for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from outlast.engines.engine import Leftover
from outlast.engines.local import ending
from outlast.engines.local.layout import LocalDir, is_id
from outlast.host.files import tree_bytes
from outlast.host.process import Process


def leftovers(user_dir: Path) -> Iterator[Leftover]:
    """Directories are listed before it is asked whether their launch is known: one that has ended never begins again.

    While a supervisor lives, its own litter is its own to remove.
    """
    paths = LocalDir(user_dir / "local")
    lives = supervisor_lives(paths)
    for launch_id in _names(paths.machines):
        known = not is_id(launch_id) or paths.holds(launch_id)
        if known or (lives and paths.read_end(launch_id) is not None) or any(processes_of(paths, launch_id)):
            continue
        path = paths.machines / launch_id
        yield Leftover(path, tree_bytes(path), f"machines of launch {launch_id}, which has ended")
    if not lives:
        for name in _names(paths.trash):
            yield Leftover(paths.trash / name, tree_bytes(paths.trash / name), "a dead machine, half removed")


def processes_of(paths: LocalDir, launch_id: str) -> Iterator[Process]:
    """Those that are alive."""
    for _, _, directory in paths.machine_dirs(launch_id):
        yield from ending.living(directory)


def supervisor_lives(paths: LocalDir) -> bool:
    process = supervisor(paths)
    return process is not None and process.alive()


def supervisor(paths: LocalDir) -> Process | None:
    from outlast.host import files

    return Process.read(files.read_json(paths.supervisor))


def _names(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
