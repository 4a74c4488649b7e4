"""Multipart uploads of the XML API: parts in files of their own until the upload is completed or aborted.

An upload is a directory, a part is a file whose name tells its number, size, md5 and CRC32C, so that nothing has to be kept
in memory and a restart loses nothing.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

from outlast_emulator.clock import rfc3339
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.storage import crc32c
from outlast_emulator.storage import xml_headers as headers
from outlast_emulator.storage.contents import PIECE_BYTES, SMALL_BYTES, Content
from outlast_emulator.storage.hashing import Hasher
from outlast_emulator.storage.xml_errors import XML_TYPE, XmlError, no_such_upload
from outlast_emulator.storage.xml_lists import UPLOADS_NAMESPACE, document, parsed
from outlast_emulator.storage.xml_objects import XmlObjects

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

PARTS_MAX = 10_000
PART_BYTES_MIN = 5 << 20
_PART_NAME = re.compile(r"(\d{5})-(\d+)-([0-9a-f]{32})-([0-9a-f]{8})-[0-9a-f]{8}\Z")


class Part(NamedTuple):
    number: int
    size: int
    md5: str
    crc32c: int
    path: Path

    @property
    def etag(self) -> str:
        return f'"{self.md5}"'


class XmlUploads:
    def __init__(self, emulator: Emulator, objects: XmlObjects) -> None:
        self._emulator = emulator
        self._objects = objects
        self._root = emulator.data / "xml-uploads"
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def start(self, request: Request) -> Response:
        bucket, name = self._objects.place(request)
        headers.refuse_unknown(request)
        upload_id = secrets.token_urlsafe(30)
        directory = self._root / upload_id
        directory.mkdir(mode=0o700)
        kept: dict[str, Any] = {"bucket": bucket, "name": name, "fields": headers.fields(request)}
        kept["begun_us"] = int(self._emulator.clock.now() * 1e6)
        _replace(directory / "upload.json", json.dumps(kept).encode())
        inside = f"<Bucket>{bucket}</Bucket><Key>{escape(name)}</Key><UploadId>{upload_id}</UploadId>"
        return document("InitiateMultipartUploadResult", inside, UPLOADS_NAMESPACE)

    def part(self, request: Request) -> Response:
        directory, _ = self._upload(request)
        text = request.query("partNumber")
        if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= PARTS_MAX:
            message = f"Part number must be an integer between 1 and {PARTS_MAX}, inclusive."
            raise XmlError(400, "InvalidArgument", message, f"partNumber: {text}")
        number = int(text)
        nonce = secrets.token_hex(4)
        beside = directory / f"new-{nonce}"
        try:
            size, md5, crc = self._received(request, beside)
            headers.check_digests(request, md5, crc)
            older = [part for part in _parts(directory) if part.number == number]
            beside.rename(directory / f"{number:05d}-{size}-{md5.hex()}-{crc:08x}-{nonce}")
        except FileNotFoundError as error:
            raise no_such_upload() from error  # aborted in the meantime
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        for part in older:
            part.path.unlink(missing_ok=True)
        hashes = f"crc32c={base64.b64encode(crc.to_bytes(4, 'big')).decode()},md5={base64.b64encode(md5).decode()}"
        answered = {"etag": f'"{md5.hex()}"', "x-goog-hash": hashes, "x-goog-stored-content-length": str(size)}
        return Response(200, b"", {**answered, "content-type": "text/html; charset=UTF-8"})

    def _received(self, request: Request, path: Path) -> tuple[int, bytes, int]:
        hasher, size = Hasher(), 0
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as file:
            try:
                while piece := request.body.read(PIECE_BYTES):
                    hasher.put(piece)
                    size += len(piece)
                    left = memoryview(piece)
                    while left:
                        left = left[file.write(left) :]
            finally:
                md5, crc = hasher.finish()
        return size, md5, crc

    def complete(self, request: Request) -> Response:
        directory, kept = self._upload(request)
        bucket, name = self._objects.place(request)
        parts = self._chosen(request, directory)
        conditions = headers.conditions(request)
        self._objects.demand_overwrite(request, bucket, name)
        try:
            content = self._joined(parts)
        except FileNotFoundError as error:
            raise no_such_upload() from error
        stored = self._emulator.storage.objects.put(
            bucket, name, headers.without_md5(content), kept["fields"], conditions
        )
        shutil.rmtree(directory, ignore_errors=True)
        digests = b"".join(bytes.fromhex(part.md5) for part in parts)
        tag = f'"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"'
        where = f"{self._emulator.url}/{bucket}/{name}"
        inside = f"<Location>{escape(where)}</Location><Bucket>{bucket}</Bucket><Key>{escape(name)}</Key>"
        response = document("CompleteMultipartUploadResult", f"{inside}<ETag>{escape(tag)}</ETag>", UPLOADS_NAMESPACE)
        response.headers.update({**headers.written(stored), "etag": tag, "content-type": XML_TYPE})
        return response

    def _chosen(self, request: Request, directory: Path) -> list[Part]:
        """The parts that the request names: in ascending order, each there, none but the last too small."""
        there = {part.number: part for part in _parts(directory)}
        chosen: list[Part] = []
        for row in parsed(request.text()).iter():
            if row.tag.rsplit("}", 1)[-1] != "Part":
                continue
            said = {child.tag.rsplit("}", 1)[-1]: (child.text or "").strip() for child in row}
            number = said.get("PartNumber", "")
            part = there.get(int(number)) if re.fullmatch(r"\d{1,5}", number) else None
            if part is None or said.get("ETag", "").strip('"') != part.md5:
                message = (
                    "One or more of the specified parts could not be found or the specified entity tag did not match."
                )
                raise XmlError(400, "InvalidPart", message)
            if chosen and chosen[-1].number >= part.number:
                message = "The list of parts was not in ascending order."
                raise XmlError(400, "InvalidPartOrder", message)
            if chosen and chosen[-1].size < PART_BYTES_MIN:
                raise XmlError(
                    400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed object size."
                )
            chosen.append(part)
        if not chosen:
            raise XmlError(400, "MalformedXML", "At least one part is required.")
        return chosen

    def _joined(self, parts: list[Part]) -> Content:
        """One content of all parts, copied by the kernel; its checksum follows from theirs."""
        contents = self._emulator.storage.contents
        total = sum(part.size for part in parts)
        if total <= SMALL_BYTES:
            return contents.small(b"".join(part.path.read_bytes() for part in parts))
        content_id = self._emulator.storage.database.next_id()
        checksum = 0
        target = os.open(contents.path(content_id), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for part in parts:
                _append(target, part)
                checksum = crc32c.combined(checksum, part.crc32c, part.size)
        except BaseException:
            contents.drop(content_id, False)
            raise
        finally:
            os.close(target)
        return Content(content_id, total, b"", checksum, None)

    def abort(self, request: Request) -> Response:
        directory, _ = self._upload(request)
        shutil.rmtree(directory, ignore_errors=True)
        return Response(204)

    def parts(self, request: Request) -> Response:
        directory, kept = self._upload(request)
        rows = "".join(
            f"<Part><PartNumber>{part.number}</PartNumber><ETag>{escape(part.etag)}</ETag><Size>{part.size}</Size></Part>"
            for part in sorted(_parts(directory))
        )
        inside = (
            f"<Bucket>{kept['bucket']}</Bucket><Key>{escape(kept['name'])}</Key><UploadId>{directory.name}</UploadId>"
        )
        return document("ListPartsResult", f"{inside}<IsTruncated>false</IsTruncated>{rows}", UPLOADS_NAMESPACE)

    def list(self, request: Request) -> Response:
        bucket, prefix = request.params["bucket"], request.query("prefix")
        self._objects.bucket(bucket)
        rows = []
        for directory in sorted(self._root.iterdir()):
            kept = _kept(directory)
            if kept is not None and kept["bucket"] == bucket and kept["name"].startswith(prefix):
                rows.append(
                    f"<Upload><Key>{escape(kept['name'])}</Key><UploadId>{directory.name}</UploadId>"
                    f"<Initiated>{rfc3339(kept['begun_us'])}</Initiated><StorageClass>STANDARD</StorageClass></Upload>"
                )
        inside = f"<Bucket>{bucket}</Bucket><IsTruncated>false</IsTruncated>{''.join(rows)}"
        return document("ListMultipartUploadsResult", inside, UPLOADS_NAMESPACE)

    def _upload(self, request: Request) -> tuple[Path, dict[str, Any]]:
        """404 NoSuchUpload, also for the upload of another object."""
        bucket, name = self._objects.place(request)
        upload_id = request.query("uploadId")
        if not re.fullmatch(r"[\w-]{20,64}", upload_id, re.ASCII):
            raise no_such_upload()
        kept = _kept(self._root / upload_id)
        if kept is None or (kept["bucket"], kept["name"]) != (bucket, name):
            raise no_such_upload()
        return self._root / upload_id, kept


def _kept(directory: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((directory / "upload.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def _parts(directory: Path) -> Iterable[Part]:
    """The newest of each number, should a restart have left two. Other parts may come and go while this is read."""
    found: dict[int, tuple[int, Part]] = {}
    for entry in os.scandir(directory):
        match = _PART_NAME.match(entry.name)
        if match is None:
            continue
        try:
            written_at = entry.stat().st_mtime_ns
        except FileNotFoundError:
            continue  # replaced in the meantime
        part = Part(int(match[1]), int(match[2]), match[3], int(match[4], 16), Path(entry.path))
        if part.number not in found or found[part.number][0] < written_at:
            found[part.number] = (written_at, part)
    return [part for _, part in found.values()]


def _append(target: int, part: Part) -> None:
    with open(part.path, "rb") as source:
        left = part.size
        while left:
            copied = _copy(target, source.fileno(), part.size - left, left)
            if not copied:
                raise ApiError(500, "backendError", f"a part of {part.size} bytes ended after {part.size - left}")
            left -= copied


def _copy(target: int, source: int, offset: int, size: int) -> int:
    """Some of it, at the target's place: by the kernel alone, where it can do that between two files."""
    try:
        return os.sendfile(target, source, offset, min(size, 1 << 30))
    except OSError as error:
        if error.errno not in (errno.ENOTSOCK, errno.EINVAL, errno.ENOSYS):
            raise
    return os.write(target, os.pread(source, min(size, 1 << 20), offset))


def _replace(path: Path, text: bytes) -> None:
    handle = os.open(path.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    path.with_suffix(".new").replace(path)
