"""Environments that machines of this computer have put in place, and nobody has used for long.

One is unsealed first: from then on no machine begins to use it. A machine that began before has a directory, and keeps it until all of its
processes are gone: so if there is none *after* that, nobody uses it. Otherwise it is sealed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from outlast.engines.registry import EXAMINERS
from outlast.host.files import remove, remove_tree, tree_bytes
from outlast.jobs.world import World
from outlast.machine.environment import SEAL

UNSEALED = f"{SEAL}.going"


def unused_environments(world: World, *, older_than_seconds: float) -> Iterator[tuple[Path, int]]:
    """(the link that names it, its size). The link's time is that of its last use."""
    folder = world.cache_dir / "environments"
    before = world.clock.now() - older_than_seconds
    if not folder.is_dir() or _has_machines(world):
        return
    for link in sorted(folder.iterdir()):
        if link.is_symlink() and link.lstat().st_mtime <= before:
            yield link, tree_bytes(link.resolve())


def is_environment(world: World, path: Path) -> bool:
    return path.parent == world.cache_dir / "environments" and path.is_symlink()


def remove_environment(world: World, link: Path) -> None:
    """Killed half-way, it is unsealed: the next machine that wants it makes it anew, and sweeps this one away."""
    root = link.parent / os.readlink(link)
    seal, unsealed = root / SEAL, root / UNSEALED
    try:
        os.replace(seal, unsealed)
    except OSError:
        pass  # it was not sealed, or is gone
    if _has_machines(world):
        try:
            os.replace(unsealed, seal)
        except OSError:
            pass
        return
    remove_tree(root)
    remove(link)


def _has_machines(world: World) -> bool:
    return any(examine(world.user_dir).machines for examine in EXAMINERS.values())
