"""The newest jobs' ids in the user's cache, a line each: what a shell completes, without a look at any home."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from outlast.spec.plain_file import read_plain

NAMES_MAX = 1000
BYTES_MAX = 1 << 20


def names_path(cache_dir: Path) -> Path:
    return cache_dir / "job-names"


def read_names(cache_dir: Path) -> list[str]:
    try:
        return read_plain(names_path(cache_dir), BYTES_MAX).decode("ascii").splitlines()
    except (OSError, ValueError):
        return []


def keep_names(cache_dir: Path, names: Sequence[str]) -> None:
    """Written when they are others than before. Two commands at once: one of the two lists holds, until the next `outlast jobs`."""
    newest = list(dict.fromkeys(names))[:NAMES_MAX]
    if newest == read_names(cache_dir):
        return
    path = names_path(cache_dir)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.writelines(f"{name}\n" for name in newest)
        temporary.replace(path)
    except OSError:
        return  # nothing is completed then


def add_names(cache_dir: Path, names: Sequence[str]) -> None:
    """The newest first."""
    if names:
        keep_names(cache_dir, [*names, *read_names(cache_dir)])


def drop_name(cache_dir: Path, name: str) -> None:
    keep_names(cache_dir, [one for one in read_names(cache_dir) if one != name])
