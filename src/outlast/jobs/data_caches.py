"""What pushes, commits and datasets have left in the user's own directory, and nobody has used for long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from outlast.jobs.world import World
from outlast.machine.dataset_seal import read_seal


class Cached(NamedTuple):
    paths: tuple[Path, ...]
    """All of it, in the order in which it is removed: what makes it whole comes first."""

    bytes: int


def unused_caches(world: World, *, older_than_seconds: float) -> Iterator[Cached]:
    """Datasets only while this computer has no machine: one that runs may be reading them."""
    before = world.clock.now() - older_than_seconds
    for path in _entries(world.cache_dir / "pushes"):
        if path.is_file() and path.lstat().st_mtime <= before:
            yield Cached((path,), path.lstat().st_size)
    for path in (*_entries(world.cache_dir / "git"), *_entries(world.cache_dir / "git" / "trees")):
        if path.is_dir() and path.name != "trees" and path.lstat().st_mtime <= before:
            yield Cached((path,), _size(path))
    if not any(path.is_dir() for path in _entries(world.user_dir / "local" / "machines")):
        yield from _datasets(world.cache_dir / "datasets", before)


def _datasets(folder: Path, before: float) -> Iterator[Cached]:
    for seal in _entries(folder):
        if seal.suffix == ".seal" and seal.lstat().st_mtime <= before:
            about = read_seal(seal)
            yield Cached((seal, folder / seal.name[1:].removesuffix(".seal")), about.bytes if about is not None else 0)


def _size(path: Path) -> int:
    return sum(
        os.lstat(os.path.join(directory, name)).st_size for directory, _, names in os.walk(path) for name in names
    )


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
