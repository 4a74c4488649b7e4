"""An unmodified script's checkpoint directory, looked at while it writes: what it saves, when, and what would be found torn."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping, Set
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.host.machine_dir import MachineDir

FILES_MAX = 10_000
DIGEST_BYTES_MAX = 4 << 20
SAMPLES = 16
SAMPLE_BYTES = 64 << 10
"""A file of up to four megabytes is known by all of its bytes, a larger one by its length and samples from all over it."""

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
    """As short as it ever was in the reference."""


def checkpoint_directory(machine: Path, named: str) -> Path:
    """Where a trainer on that machine keeps its checkpoints; `named`: a directory of its own in its working directory."""
    paths = MachineDir(machine)
    return Path(paths.work, named) if named else Path(paths.run, "checkpoint")


class Watch:
    """Begins when the trainer does. `whole`: the files that the reference committed, with the sizes that each of them had."""

    def __init__(self, directory: Path, whole: Mapping[str, Set[int]]) -> None:
        self.directory = directory
        self.whole = whole
        self.torn: Torn | None = None
        self.replaced: dict[str, set[int]] = {}
        """Path -> the sizes of files that gave way to another one under their name: each was whole, or it would have been written on."""

        self._seen = self._looks()
        self.restored = {path: self._digest(path) for path in self._seen}

    def written(self) -> dict[str, str]:
        """What has been written, begun or replaced since the last call, with its digest; notes the first file that is torn."""
        looks = self._looks()
        changed = [path for path, look in looks.items() if self._seen.get(path) != look]
        for path in changed:
            inode, size, _ = self._seen.get(path, looks[path])
            if inode != looks[path][0] and size:
                self.replaced.setdefault(path, set()).add(size)
        self._seen = looks
        for path in changed:
            if self.torn is None and path in self.whole:
                self.torn = self._judge(path)
        return {path: self._digest(path) for path in changed}

    def _digest(self, path: str) -> str:
        """Empty for a file that is gone already, or has nothing in it yet."""
        try:
            with open(self.directory / path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= DIGEST_BYTES_MAX:
                    data = file.read(DIGEST_BYTES_MAX)
                    return hashlib.sha256(data).hexdigest() if data else ""
                digest = hashlib.sha256(str(size).encode())
                for sample in range(SAMPLES):
                    file.seek((size - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                    digest.update(file.read(SAMPLE_BYTES))
                return digest.hexdigest()
        except OSError:
            return ""

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
        smallest = min(self.whole[path])
        well_formed = _well_formed(path, data) if len(data) <= WELL_FORMED_BYTES_MAX else None
        if well_formed is None:
            # No format to go by, but its length: what is always the same, or less than half of the least.
            well_formed = size >= (smallest if len(self.whole[path]) == 1 else smallest / 2)
        return None if well_formed else Torn(path, size, smallest)


def _well_formed(path: str, data: bytes) -> bool | None:
    """By the cheap signs of its format; None: it has no such signs."""
    name = path.lower()
    if data[:4] == b"PK\x03\x04" or name.endswith((".npz", ".keras", ".zip")):
        return _whole_zip(data)
    if name.endswith(".json"):
        try:
            json.loads(data)
        except ValueError:
            return False
        return True
    if name.endswith(".safetensors"):
        return _whole_safetensors(data)
    if name.endswith((".pkl", ".pickle")):
        return None if data.endswith(b".") else False
    return None


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
    return bool(len(data) == 8 + length + max(ends, default=0))
