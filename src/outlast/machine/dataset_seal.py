"""Whether a dataset on this machine is still what was put there: modes do not stop a trainer that runs as root.

The seal is a small file beside the dataset, written when all of it was in place. What was written later has a later time; so has a
directory in which something was made or removed. When the seal was touched last is when the dataset was used last.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from outlast.host import files

LOOKED_AT_MAX = 100_000
"""A look at more files would take longer than many a training's first step."""


class Seal(NamedTuple):
    files: int
    bytes: int
    sealed_ns: int
    """The kernel's time, as files get it."""


def seal_path(folder: Path, key: str) -> Path:
    return folder / f".{key}.seal"


def put_seal(path: Path, count: int, size: int) -> None:
    files.put(path, b"")
    sealed_ns = os.stat(path).st_ctime_ns
    files.put_json(path, {"files": count, "bytes": size, "sealed_ns": sealed_ns}, durable=True)


def read_seal(path: Path) -> Seal | None:
    document = files.read_json(path)
    try:
        return Seal(int(document["files"]), int(document["bytes"]), int(document["sealed_ns"]))
    except (TypeError, KeyError, ValueError):
        return None


def is_intact(root: Path, seal: Seal | None) -> bool:
    """As far as times tell. The directory itself got its name, and so a new status, after it was sealed: its content's time counts."""
    if seal is None or not root.is_dir():
        return False
    if os.stat(root).st_mtime_ns > seal.sealed_ns:
        return False
    if seal.files > LOOKED_AT_MAX:
        return True
    left = [os.fspath(root)]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.stat(follow_symlinks=False).st_ctime_ns > seal.sealed_ns:
                    return False
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
    return True
