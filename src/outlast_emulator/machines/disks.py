"""Disks and images as directories: a disk is an overlay's upper layer, an image a saved one that new disks lie on.

    disks/<disk>/upper        what its machine has written
    disks/<disk>/layers.json  what lies below it, uppermost first
    disks/<disk>/serial-<n>   its machine's serial output, from byte n on
    images/<image>.json       the layers of an image, uppermost first
    layers/<name>             one layer; deleted with the last disk or image that names it

A disk made of an image copies nothing. Without overlays (`flat`), for plain machines, it is a copy.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import threading
from pathlib import Path

from outlast_emulator.machines.errors import MachineError, NoSuchDisk, NoSuchImage

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
COPY_SECONDS_MAX = 3600


class Disks:
    """Thread-safe; what is made or deleted is so at once for whoever looks, and stays half-made after no kill."""

    def __init__(self, data: Path, *, flat: bool = False) -> None:
        self._data = data
        self._flat = flat
        self._lock = threading.RLock()
        for name in ("disks", "images", "layers", "gone"):
            (data / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def make(self, disk_id: str, image_id: str | None) -> None:
        """Nothing happens if it is there already: whoever was killed in the middle may ask again."""
        path = self.path(disk_id, missing_ok=True)
        with self._lock:
            if path.exists():
                return
            layers = [] if image_id is None else self.image_layers(image_id)
            beside = self._data / "gone" / f"new-{secrets.token_hex(8)}"
            (beside / "upper").mkdir(mode=0o755, parents=True)
            if self._flat and layers:
                copy_tree(self._data / "layers" / layers[0], beside / "upper")
                layers = []
            (beside / "layers.json").write_text(json.dumps(layers))
            os.rename(beside, path)

    def save(self, disk_id: str, image_id: str) -> None:
        """The disk as it is now becomes an image."""
        disk = self.path(disk_id)
        record = self._image_path(image_id)
        name = f"{image_id[:64]}-{secrets.token_hex(8)}"
        beside = self._data / "gone" / f"new-{name}"
        copy_tree(disk / "upper", beside)
        with self._lock:
            os.rename(beside, self._data / "layers" / name)
            _write(record, [name, *self.layers(disk_id)])

    def delete(self, disk_id: str) -> None:
        """A disk that is gone is not an error."""
        with self._lock:
            path = self.path(disk_id, missing_ok=True)
            if path.exists():
                os.rename(path, self._data / "gone" / secrets.token_hex(8))
        self._collect()

    def delete_image(self, image_id: str) -> None:
        with self._lock:
            self._image_path(image_id).unlink(missing_ok=True)
        self._collect()

    def path(self, disk_id: str, *, missing_ok: bool = False) -> Path:
        if not ID.fullmatch(disk_id):
            raise MachineError(f"`{disk_id}` is no name for a disk")
        path = self._data / "disks" / disk_id
        if not missing_ok and not path.exists():
            raise NoSuchDisk(f"there is no disk `{disk_id}`")
        return path

    def layers(self, disk_id: str) -> list[str]:
        found: list[str] = json.loads((self.path(disk_id) / "layers.json").read_text())
        return found

    def image_layers(self, image_id: str) -> list[str]:
        try:
            found: list[str] = json.loads(self._image_path(image_id).read_text())
        except FileNotFoundError as error:
            raise NoSuchImage(f"there is no image `{image_id}`") from error
        return found

    def has_image(self, image_id: str) -> bool:
        return self._image_path(image_id).exists()

    def bytes(self, disk_id: str) -> int:
        """What its machine has written."""
        return tree_bytes(self.path(disk_id) / "upper")

    def clean(self) -> None:
        """What a kill left half made or half deleted. For the start, when nothing is being made."""
        for path in self._data.glob("gone/*"):
            shutil.rmtree(path, ignore_errors=True)
        self._collect()

    def _image_path(self, image_id: str) -> Path:
        if not ID.fullmatch(image_id):
            raise MachineError(f"`{image_id}` is no name for an image")
        return self._data / "images" / f"{image_id}.json"

    def _collect(self) -> None:
        """Deletes what nothing names. Files go outside the lock: there may be many."""
        with self._lock:
            named: set[str] = set()
            for record in (*self._data.glob("disks/*/layers.json"), *self._data.glob("images/*.json")):
                named.update(json.loads(record.read_text()))
            for layer in self._data.glob("layers/*"):
                if layer.name not in named:
                    os.rename(layer, self._data / "gone" / secrets.token_hex(8))
            gone = [path for path in self._data.glob("gone/*") if not path.name.startswith("new-")]
        for path in gone:
            shutil.rmtree(path, ignore_errors=True)


def copy_tree(source: Path, target: Path) -> None:
    """With owners, devices and attributes where this may be done: an overlay keeps its deletions in them."""
    target.mkdir(mode=0o755, parents=True, exist_ok=True)
    if os.geteuid() != 0:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=_no_files)
        return
    command = ["cp", "-a", "--reflink=auto", f"{source}/.", str(target)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=COPY_SECONDS_MAX)
    if done.returncode != 0:
        raise MachineError(f"`{source}` could not be copied: {done.stderr.strip()[-500:]}")


def _no_files(directory: str, names: list[str]) -> list[str]:
    """Pipes and sockets, which are nothing without their processes."""
    modes = {name: os.lstat(os.path.join(directory, name)).st_mode for name in names}
    return [name for name, mode in modes.items() if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)]


def tree_bytes(path: Path) -> int:
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                found = os.lstat(os.path.join(directory, name))
            except FileNotFoundError:
                continue
            total += found.st_blocks * 512
    return total


def _write(path: Path, value: object) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(value))
    beside.replace(path)
