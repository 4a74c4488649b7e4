"""An unmodified script's checkpoint directory, looked at while it writes: when to kill in mid-save, and what would be found torn."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outlast.host.machine_dir import MachineDir

FILES_MAX = 10_000
WELL_FORMED_BYTES_MAX = 64 << 20
"""A larger file is judged by its length alone."""

_Look = tuple[int, int, int]
"""Inode, size, time of the last change: together they change with every write."""


@dataclass(frozen=True)
class Torn:
    """A file under its final name, caught while it was being written."""

    path: str
    bytes: int
    whole_bytes: int
    """As long as it was in the reference; 0: unknown."""


def checkpoint_directory(machine: Path, named: str) -> Path:
    """Where a trainer on that machine keeps its checkpoints; `named`: a directory of its own in its working directory."""
    paths = MachineDir(machine)
    return paths.work / named if named else paths.run / "checkpoint"


class Watch:
    """`whole`: the files that the reference committed, with the smallest size that each of them had."""

    def __init__(self, directory: Path, whole: Mapping[str, int]) -> None:
        self.directory = directory
        self.whole = whole
        self.torn: Torn | None = None
        self._seen = self._looks()

    def writing(self) -> bool:
        """Whether a file has been written, begun or replaced since the last call; notes the first one that is found torn."""
        looks = self._looks()
        changed = [path for path, look in looks.items() if self._seen.get(path) != look]
        self._seen = looks
        for path in changed:
            if self.torn is None and path in self.whole:
                self.torn = self._judge(path)
        return bool(changed)

    def _looks(self) -> dict[str, _Look]:
        looks: dict[str, _Look] = {}
        for folder, _, names in os.walk(self.directory):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    stat = os.stat(path, follow_symlinks=False)
                except OSError:
                    continue
                looks[os.path.relpath(path, self.directory)] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if len(looks) >= FILES_MAX:
                    return looks
        return looks

    def _judge(self, path: str) -> Torn | None:
        """What a machine that died at this moment would have left under the name that the script resumes from."""
        try:
            with open(self.directory / path, "rb") as file:
                data = file.read(WELL_FORMED_BYTES_MAX + 1)
                size = max(len(data), os.fstat(file.fileno()).st_size)
        except OSError:
            return None
        smallest = self.whole[path]
        if size < smallest or not _well_formed(path, data):
            return Torn(path, size, smallest)
        return None


def _well_formed(path: str, data: bytes) -> bool:
    """By the cheap signs of its format; a format without such signs passes."""
    if len(data) > WELL_FORMED_BYTES_MAX:
        return True
    name = path.lower()
    if data[:4] == b"PK\x03\x04" or name.endswith((".npz", ".keras", ".zip")):
        return _whole_zip(data)
    if name.endswith(".json"):
        try:
            json.loads(data)
        except ValueError:
            return False
    if name.endswith(".safetensors"):
        return _whole_safetensors(data)
    if name.endswith((".pkl", ".pickle")):
        return data.endswith(b".")
    return True


def _whole_zip(data: bytes) -> bool:
    """The list of members stands at the end of an archive: where it is missing, the end is."""
    return data.rfind(b"PK\x05\x06", max(0, len(data) - 65_557)) >= 0


def _whole_safetensors(data: bytes) -> bool:
    if len(data) < 8:
        return False
    (length,) = struct.unpack("<Q", data[:8])
    try:
        header = json.loads(data[8 : 8 + length])
        ends = [field["data_offsets"][1] for name, field in header.items() if name != "__metadata__"]
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return False
    return len(data) == 8 + length + max(ends, default=0)
