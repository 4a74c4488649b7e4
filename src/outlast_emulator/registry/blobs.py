"""Contents and uploads as files: whatever its repositories are, a blob is stored once, by its digest.

blobs/<first two of the digest>/<digest without `sha256:`>
uploads/<id>                                                 as far as it has come
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outlast_emulator.clock import Clock
from outlast_emulator.registry.errors import RegistryError
from outlast_emulator.request import Incoming
from outlast_emulator.response import FileSlice

PIECE_BYTES = 1 << 20
UPLOAD_SECONDS_MAX = 7 * 24 * 3600.0
"""What was begun and not ended by then is gone at the next start."""


class Blobs:
    def __init__(self, root: Path, clock: Clock) -> None:
        self._blobs = root / "blobs"
        self._uploads = root / "uploads"
        for directory in (self._blobs, self._uploads):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._hashes: dict[str, hashlib._Hash] = {}
        """Of uploads that came from the beginning in this process: they need not be read again."""
        for path in self._uploads.iterdir():
            if clock.now() - path.stat().st_mtime > UPLOAD_SECONDS_MAX:
                path.unlink(missing_ok=True)

    # --------------------------------------------------------------------------------------------------------- contents

    def path(self, digest: str) -> Path:
        plain = digest.removeprefix("sha256:")
        return self._blobs / plain[:2] / plain

    def has(self, digest: str) -> bool:
        return self.path(digest).exists()

    def size(self, digest: str) -> int:
        return self.path(digest).stat().st_size

    def slice(self, digest: str, start: int = 0, length: int | None = None) -> FileSlice:
        file = open(self.path(digest), "rb", buffering=0)  # noqa: SIM115  closed when it was sent
        return FileSlice(file, start, os.fstat(file.fileno()).st_size - start if length is None else length)

    def read(self, digest: str) -> bytes:
        return self.path(digest).read_bytes()

    def put(self, data: bytes) -> str:
        """A small one, whole; its digest."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        beside = self._uploads / f"new-{secrets.token_hex(8)}"
        beside.write_bytes(data)
        self._keep(beside, digest)
        return digest

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)

    def _keep(self, source: Path, digest: str) -> None:
        target = self.path(digest)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        os.replace(source, target)

    # ---------------------------------------------------------------------------------------------------------- uploads

    def begin(self) -> str:
        upload = secrets.token_hex(16)
        os.close(os.open(self._uploads / upload, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._hashes[upload] = hashlib.sha256()
        return upload

    def progress(self, upload: str) -> int:
        """How many bytes there are."""
        try:
            return self._upload(upload).stat().st_size
        except FileNotFoundError as error:
            raise unknown_upload(upload) from error

    def append(self, upload: str, body: Incoming, start: int | None = None) -> int:
        """What comes is written as it comes, and kept if it breaks off; how many bytes there are then."""
        with self._alone(upload):
            there = self.progress(upload)
            if start is not None and start != there:
                raise out_of_order(there)
            hashed = self._hashes.pop(upload, None)
            with open(self._upload(upload), "ab") as file:
                while piece := body.read(PIECE_BYTES):
                    file.write(piece)
                    if hashed is not None:
                        hashed.update(piece)
                there = file.tell()
            if hashed is not None:
                self._hashes[upload] = hashed
            return there

    def end(self, upload: str, digest: str) -> None:
        """It becomes a blob, if it is what it is said to be; if not, it is gone."""
        with self._alone(upload):
            self.progress(upload)
            path = self._upload(upload)
            hashed = self._hashes.pop(upload, None) or _hashed(path)
            if f"sha256:{hashed.hexdigest()}" != digest:
                path.unlink()
                raise RegistryError("DIGEST_INVALID", "provided digest did not match uploaded content")
            self._keep(path, digest)

    def drop(self, upload: str) -> None:
        with self._alone(upload):
            self.progress(upload)
            self._hashes.pop(upload, None)
            self._upload(upload).unlink()

    def _upload(self, upload: str) -> Path:
        if not upload.isalnum():
            raise unknown_upload(upload)
        return self._uploads / upload

    @contextmanager
    def _alone(self, upload: str) -> Iterator[None]:
        """Two that write to the same upload at once would both be wrong."""
        with self._lock:
            if upload in self._busy:
                raise RegistryError("BLOB_UPLOAD_INVALID", f"upload {upload} is being written to")
            self._busy.add(upload)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(upload)


def _hashed(path: Path) -> hashlib._Hash:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            found.update(piece)
    return found


def unknown_upload(upload: str) -> RegistryError:
    return RegistryError("BLOB_UPLOAD_UNKNOWN", f"blob upload unknown to registry: {upload}")


def out_of_order(there: int) -> RegistryError:
    return RegistryError("SIZE_INVALID", f"the next byte is {there}", headers={"range": f"0-{max(there - 1, 0)}"})
