"""The newest jobs' ids in the user's cache, and how many cells sweeps have: what a shell completes, without a look at any home."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from outlast.spec.plain_file import read_plain

NAMES_MAX = 1000
BYTES_MAX = 1 << 20


def names_path(cache_dir: Path) -> Path:
    return cache_dir / "job-names"


def cells_path(cache_dir: Path) -> Path:
    return cache_dir / "sweep-cells"


def read_names(cache_dir: Path) -> list[str]:
    return _lines(names_path(cache_dir))


def read_cells(cache_dir: Path) -> dict[str, int]:
    """Sweep -> how many cells it has."""
    pairs = [line.partition(" ") for line in _lines(cells_path(cache_dir))]
    return {name: int(cells) for name, _, cells in pairs if cells.isdecimal()}


def keep_names(cache_dir: Path, names: Sequence[str]) -> None:
    """Written when they are others than before. Two commands at once: one of the two lists holds, until the next `outlast jobs`."""
    newest = list(dict.fromkeys(names))[:NAMES_MAX]
    if newest != read_names(cache_dir):
        _write(names_path(cache_dir), newest)


def keep_cells(cache_dir: Path, cells: Mapping[str, int]) -> None:
    """As `keep_names`, of sweeps."""
    if cells != read_cells(cache_dir):
        _write(cells_path(cache_dir), [f"{name} {number}" for name, number in list(cells.items())[:NAMES_MAX]])


def add_cells(cache_dir: Path, sweep: str, cells: int) -> None:
    keep_cells(cache_dir, {sweep: cells} | {name: n for name, n in read_cells(cache_dir).items() if name != sweep})


def add_names(cache_dir: Path, names: Sequence[str]) -> None:
    """The newest first."""
    if names:
        keep_names(cache_dir, [*names, *read_names(cache_dir)])


def drop_name(cache_dir: Path, name: str) -> None:
    keep_names(cache_dir, [one for one in read_names(cache_dir) if one != name])


def _lines(path: Path) -> list[str]:
    try:
        return read_plain(path, BYTES_MAX).decode("ascii").splitlines()
    except (OSError, ValueError):
        return []


def _write(path: Path, lines: Sequence[str]) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.writelines(f"{line}\n" for line in lines)
        temporary.replace(path)
    except OSError:
        return  # nothing is completed then
