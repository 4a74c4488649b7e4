"""One content made of several: their bytes one after the other, their checksums combined."""

from __future__ import annotations

import os

from outlast_emulator.response import FileSlice, pieces
from outlast_emulator.storage import crc32c
from outlast_emulator.storage.contents import SMALL_BYTES, Content, Contents
from outlast_emulator.storage.objects import Objects
from outlast_emulator.storage.stored import Stored

SOURCES_MAX = 32


def composed(contents: Contents, objects: Objects, sources: list[Stored]) -> Content:
    """Has no md5, as at Google. The sources' bytes are held open first, so that none can be replaced half-way."""
    size = sum(source.size for source in sources)
    checksum = 0
    for source in sources:
        checksum = crc32c.combined(checksum, source.crc32c, source.size)
    bodies = [objects.open(source) for source in sources]
    try:
        content_id = contents.next_id()
        if size <= SMALL_BYTES:
            data = b"".join(piece for body in bodies for piece in pieces(body))
            return Content(content_id, size, b"", checksum, data)
        with open(contents.path(content_id), "xb", opener=_private) as file:
            for body in bodies:
                for piece in pieces(body):
                    file.write(piece)
        return Content(content_id, size, b"", checksum, None)
    finally:
        for body in bodies:
            if isinstance(body, FileSlice):
                body.file.close()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
