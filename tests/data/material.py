"""Datasets to be pushed, and what became of them."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

from outlast.bundle.dataset.push import Pushed, push
from outlast.bundle.dataset.record import read_record
from outlast.bundle.dataset.unpack import unpack
from outlast.store.store import Store

HOUR_NS = 3600 * 10**9


def make(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def many(root: Path, count: int, size: int = 100) -> Path:
    return make(root, {f"class{number % 10}/{number:06d}.bin": noise(size, number) for number in range(count)})


def age(root: Path) -> None:
    """As if nobody had touched it for an hour: contents, not status, whose time is the kernel's own."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - HOUR_NS))


def push_it(store: Store, root: Path, cache: Path) -> Pushed:
    return push(store, root, cache=cache)


def back(store: Store, digest: str, to: Path) -> Path:
    record = read_record(store, digest)
    unpack(store, record, to)
    return to / record.file


def contents(root: Path) -> dict[bytes, tuple[bytes, bool]]:
    """Path -> content and whether it may be executed; directories that hold nothing end in a slash."""
    found: dict[bytes, tuple[bytes, bool]] = {}
    for directory, directories, files in os.walk(os.fsencode(root)):
        below = os.path.relpath(directory, os.fsencode(root))
        if not directories and not files:
            found[below + b"/"] = (b"", False)
        for name in files:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                found[os.path.normpath(os.path.join(below, name))] = (file.read(), bool(os.stat(path).st_mode & 0o100))
    return found
