"""Writes a layer into a directory: as an overlay's layer, with its deletions in it, or, `flat`, over the layers before.

Nothing is written outside the directory, whatever names and links the layer has.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tarfile
import zlib
from pathlib import Path
from typing import Protocol

from outlast_emulator.machines.furniture import OPAQUE, set_attribute

DELETED, EMPTIED = ".wh.", ".wh..wh..opq"
XATTR = "SCHILY.xattr."
LINKS_MAX = 40
GZIP = b"\x1f\x8b"


class BadLayer(Exception):
    """It is no tar, or it asks for what no layer may."""


class Stream(Protocol):
    def read(self, size: int) -> bytes: ...


class Begun:
    """A stream of which the first bytes have been looked at."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.first = stream.read(len(GZIP))
        self._left = self.first

    def read(self, size: int) -> bytes:
        if not self._left:
            return self._stream.read(size)
        data, self._left = self._left[:size], self._left[size:]
        return data


def unpack(stream: Stream, target: Path, *, flat: bool = False) -> None:
    target.mkdir(mode=0o755, parents=True, exist_ok=True)
    begun = Begun(stream)
    # A gzip file may be of many members, one after the other, of which `tarfile`, left to itself, reads the first.
    source = gzip.GzipFile(fileobj=begun) if begun.first == GZIP else begun  # type: ignore[call-overload]
    try:
        with tarfile.open(fileobj=source, mode="r|" if begun.first == GZIP else "r|*") as archive:  # type: ignore[call-overload]
            for entry in archive:
                _write(archive, entry, str(target), flat)
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadLayer(f"a layer is no tar of a kind that is known: {error}") from error


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, root: str, flat: bool) -> None:
    parts = [part for part in entry.name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise BadLayer(f"a layer has a file `{entry.name}`")
    if not parts:
        return
    parent, name = _directory(root, parts[:-1]), parts[-1]
    if name == EMPTIED:
        _empty(parent, flat)
    elif name.startswith(DELETED):
        _delete(os.path.join(parent, name.removeprefix(DELETED)), flat)
    else:
        _make(archive, entry, root, os.path.join(parent, name))


def _directory(root: str, parts: list[str]) -> str:
    """The directory in the layer, with all above it; links on the way lead nowhere but into the layer."""
    place, todo, links = root, list(parts), 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            place = os.path.dirname(place) if place != root else root
            continue
        path = os.path.join(place, part)
        if os.path.islink(path):
            links += 1
            if links > LINKS_MAX:
                raise BadLayer(f"`{'/'.join(parts)}` in a layer is a loop of links")
            led = os.readlink(path)
            place = root if led.startswith("/") else place
            todo = [one for one in led.split("/") if one not in ("", ".")] + todo
            continue
        if not os.path.isdir(path):
            if os.path.lexists(path):
                os.unlink(path)
            os.mkdir(path, 0o755)
        place = path
    return place


def _delete(path: str, flat: bool) -> None:
    _remove(path)
    if not flat:
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))


def _empty(directory: str, flat: bool) -> None:
    if not flat:
        set_attribute(directory, OPAQUE, b"y")
        return
    for name in os.listdir(directory):
        _remove(os.path.join(directory, name))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _make(archive: tarfile.TarFile, entry: tarfile.TarInfo, root: str, path: str) -> None:
    if not entry.isdir() or not os.path.isdir(path) or os.path.islink(path):
        _remove(path)
    if entry.isdir():
        os.makedirs(path, exist_ok=True)
    elif entry.isreg():
        source = archive.extractfile(entry)
        assert source is not None
        with open(path, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    elif entry.issym():
        os.symlink(entry.linkname, path)
    elif entry.islnk():
        parts = [part for part in entry.linkname.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise BadLayer(f"a layer has a link to `{entry.linkname}`")
        os.link(os.path.join(_directory(root, parts[:-1]), parts[-1]), path, follow_symlinks=False)
        return  # what it is linked to has its owner and mode
    elif entry.isfifo():
        os.mkfifo(path)
    elif os.geteuid() != 0:
        return  # devices
    else:
        kind = stat.S_IFCHR if entry.ischr() else stat.S_IFBLK
        os.mknod(path, kind, os.makedev(entry.devmajor, entry.devminor))
    _describe(entry, path)


def _describe(entry: tarfile.TarInfo, path: str) -> None:
    if os.geteuid() == 0:
        os.lchown(path, entry.uid, entry.gid)
        for name, value in entry.pax_headers.items():
            if name.startswith(XATTR) and not name.startswith(f"{XATTR}trusted.overlay."):
                set_attribute(path, name.removeprefix(XATTR), value.encode("utf-8", "surrogateescape"))
    if not entry.issym():
        os.chmod(path, stat.S_IMODE(entry.mode))
    if not entry.isdir():
        os.utime(path, (entry.mtime, entry.mtime), follow_symlinks=False)
