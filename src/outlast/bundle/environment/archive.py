"""A wheel, read by rules of our own: whoever made it, nothing in it leads elsewhere, and it is what its RECORD says.

Relative canonical names, each once; regular files only; no more bytes than such an archive can honestly hold; every content's
sha256 as RECORD has it, and nothing beside what RECORD lists.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from outlast.bundle.environment.names import name_and_version, normal
from outlast.bundle.listing import is_canonical
from outlast.errors import Damaged
from outlast.pattern import pattern

FILES_MAX = 200_000
BYTES_MAX = 32 << 30
HONEST_BYTES = 256 << 20
RATIO_MAX = 200
"""Up to 256 MiB whatever it was packed from; beyond, at most 200 times the archive's own size: real wheels stay below 20."""

METADATA_BYTES_MAX = 64 << 20
CHUNK_BYTES = 1 << 20
LOCAL_HEAD_BYTES = 30
UNRECORDED = ("RECORD", "RECORD.jws", "RECORD.p7s")

_HASH = pattern(r"(sha256|sha384|sha512)=([A-Za-z0-9_-]+)")


class Archive:
    """`Damaged` for whatever is wrong, naming the wheel. Contents are checked while they are read."""

    def __init__(self, file: Path | IO[bytes], wheel: str) -> None:
        self.wheel = wheel
        try:
            self.name, self.version = name_and_version(wheel)
            self._zip = zipfile.ZipFile(file)
        except ValueError:
            raise self._wrong("its name is not a wheel's") from None
        except (zipfile.BadZipFile, OSError) as error:
            raise self._wrong(f"it is no archive: {error}") from error
        assert self._zip.fp is not None
        self.members = self._members(self._zip.fp.seek(0, io.SEEK_END))
        self.dist_info = self._dist_info()
        self.data = self.dist_info.removesuffix(".dist-info") + ".data/"
        self._hashes = self._record()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def executable(self, name: str) -> bool:
        return bool(self.members[name].external_attr >> 16 & 0o111)

    def text(self, name: str) -> str:
        """One of its metadata files; empty if it has none of this name."""
        path = f"{self.dist_info}/{name}"
        if path not in self.members:
            return ""
        if self.members[path].file_size > METADATA_BYTES_MAX:
            raise self._wrong(f"`{path}` is too large")
        return b"".join(self.chunks(path)).decode(errors="replace")

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content; `Damaged` at its end if it was another one than RECORD says."""
        if self.is_deflated(name):
            for _, plain in self.pieces(name):
                yield plain
            return
        member = self.members[name]
        expected = self._hashes.get(name)
        digest = hashlib.new(expected[0]) if expected else hashlib.sha256()
        left = member.file_size
        try:
            with self._zip.open(member) as file:
                while chunk := file.read(CHUNK_BYTES):
                    left -= len(chunk)
                    if left < 0:
                        break
                    digest.update(chunk)
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
            raise self._wrong(f"`{name}` cannot be read: {error}") from error
        if left != 0:
            raise self._wrong(f"`{name}` is not as large as the archive says")
        if expected and digest.digest() != expected[1]:
            raise self._wrong(f"the content of `{name}` is not what its RECORD says")

    def is_deflated(self, name: str) -> bool:
        return self.members[name].compress_type == zipfile.ZIP_DEFLATED

    def pieces(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """(as it lies in the archive, the same plain) of a deflated content, whole; checked as `chunks` does."""
        member = self.members[name]
        expected = self._hashes.get(name)
        check = hashlib.new(expected[0]) if expected else _Crc()
        inflating = zlib.decompressobj(-zlib.MAX_WBITS)
        left, plain_left = member.compress_size, member.file_size
        at = self._content_at(member)
        try:
            while left and plain_left >= 0:
                self._zip.fp.seek(at)  # type: ignore[union-attr]
                packed = self._zip.fp.read(min(CHUNK_BYTES, left))  # type: ignore[union-attr]
                if not packed:
                    break
                at, left = at + len(packed), left - len(packed)
                waiting = packed
                while waiting and plain_left >= 0:
                    plain = inflating.decompress(waiting, CHUNK_BYTES)
                    plain_left -= len(plain)
                    check.update(plain)
                    yield packed, plain
                    packed, waiting = b"", inflating.unconsumed_tail
            if plain_left > 0 and (plain := inflating.flush()):  # all was taken in, and not yet given out
                plain_left -= len(plain)
                check.update(plain)
                yield b"", plain
        except (zlib.error, OSError) as error:
            raise self._wrong(f"`{name}` cannot be read: {error}") from error
        if left or plain_left or not inflating.eof or inflating.unused_data:
            raise self._wrong(f"`{name}` is not as large as the archive says")
        if check.digest() != (expected[1] if expected else member.CRC.to_bytes(4, "big")):
            raise self._wrong(f"the content of `{name}` is not what its RECORD says")

    def _content_at(self, member: zipfile.ZipInfo) -> int:
        """Behind the member's own head, whose lengths may differ from those in the archive's list."""
        assert self._zip.fp is not None
        self._zip.fp.seek(member.header_offset)
        head = self._zip.fp.read(LOCAL_HEAD_BYTES)
        if len(head) != LOCAL_HEAD_BYTES or head[:4] != b"PK\x03\x04":
            raise self._wrong(f"`{member.filename[:80]}` is not where the archive says")
        return (
            member.header_offset
            + LOCAL_HEAD_BYTES
            + int.from_bytes(head[26:28], "little")
            + int.from_bytes(head[28:30], "little")
        )

    def _members(self, packed_bytes: int) -> Mapping[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        listed = self._zip.infolist()
        if len(listed) > FILES_MAX:
            raise self._wrong(f"{len(listed):,} files are above the limit of {FILES_MAX:,}")
        for member in listed:
            name, kind = member.filename, stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir() and kind in (0, stat.S_IFDIR) and not member.file_size:
                continue
            if not name.isprintable() or not is_canonical(name.encode(errors="surrogateescape")):
                raise self._wrong(f"it holds {name[:80]!r}, which is no path inside a directory")
            if kind not in (0, stat.S_IFREG):
                raise self._wrong(f"`{name[:80]}` is a link or a device, no file")
            if name in found:
                raise self._wrong(f"it holds `{name[:80]}` twice")
            if member.flag_bits & 1:
                raise self._wrong(f"`{name[:80]}` is encrypted")
            found[name] = member
        total_bytes = sum(member.file_size for member in found.values())
        if total_bytes > min(BYTES_MAX, max(HONEST_BYTES, RATIO_MAX * packed_bytes)):
            raise self._wrong(f"its {packed_bytes:,} bytes claim to be {total_bytes:,}")
        parents = {parent for name in found for parent in _parents(name)}
        if both := min(parents & found.keys(), default=None):
            raise self._wrong(f"`{both[:80]}` is both a file and a directory")
        return found

    def _dist_info(self) -> str:
        folders = {name.split("/")[0] for name in self.members if name.endswith(".dist-info/RECORD")}
        mine = [one for one in folders if normal(one.removesuffix(".dist-info").rpartition("-")[0]) == self.name]
        if len(folders) != 1 or len(mine) != 1:
            raise self._wrong("it has no RECORD of its own")
        return mine[0]

    def _record(self) -> dict[str, tuple[str, bytes]]:
        """Path -> (kind of hash, its value). Every file but RECORD itself has one, and every one has its file."""
        hashes: dict[str, tuple[str, bytes]] = {}
        self._hashes = hashes
        unrecorded = {f"{self.dist_info}/{name}" for name in UNRECORDED}
        try:
            rows = list(csv.reader(io.StringIO(self.text("RECORD"))))
        except csv.Error as error:
            raise self._wrong(f"its RECORD cannot be read: {error}") from error
        for row in filter(None, rows):
            found = _HASH.fullmatch(row[1]) if len(row) == 3 else None
            if found is not None:
                hashes[row[0]] = (found[1], _unpadded(found[2]))
            elif row[0] not in unrecorded:
                raise self._wrong(f"its RECORD has no hash for `{row[0][:80]}`")
        wanted = self.members.keys() - unrecorded
        if stray := min(wanted ^ (hashes.keys() - unrecorded), default=None):
            raise self._wrong(
                f"`{stray[:80]}` is in it, but not in its RECORD"
                if stray in wanted
                else f"its RECORD lists `{stray[:80]}`, which is not in it"
            )
        return hashes

    def _wrong(self, why: str) -> Damaged:
        return Damaged(f"the wheel `{self.wheel[:120]}` is not installed: {why}")


class _Crc:
    """The archive's own check, of what RECORD has none for."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _unpadded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def modules_of(archive: Archive) -> tuple[str, ...]:
    """What can be imported from it, by top-level name."""
    found: set[str] = set()
    for name in archive.members:
        parts = name.split("/")
        if name.startswith(archive.data):
            parts = parts[2:] if parts[1] in ("purelib", "platlib") else []
        if not parts or parts[0].endswith(".dist-info"):
            continue
        if len(parts) > 1:
            found.add(parts[0])
        elif parts[0].endswith((".py", ".so", ".pyd")):
            found.add(parts[0].split(".")[0])
    return tuple(sorted(one for one in found if one.isidentifier()))
