"""gzip: what is inside; when it was compressed, and how well, does not count."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import BinaryIO, cast

from outlast.results.compare.source import STRUCTURE_BYTES_MAX, Look, Source, Unreadable, pieces

MAGIC = b"\x1f\x8b"


def compare(reference: Source, other: Source, look: Look) -> str:
    return look.inside(_unpacked(reference, look), _unpacked(other, look), look)


def _unpacked(source: Source, look: Look) -> Source:
    name = source.name.removesuffix(".gz").removesuffix(".gzip") or source.name

    def unpack() -> BinaryIO:
        return cast(BinaryIO, gzip.GzipFile(fileobj=source.open(), mode="rb"))

    count = 0
    kept: list[bytes] | None = []
    try:
        with unpack() as stream:
            for piece in pieces(stream):
                look.spend(len(piece))
                count += len(piece)
                if kept is not None:
                    kept.append(piece)
                if count > STRUCTURE_BYTES_MAX:
                    kept = None
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable("not a whole gzip file") from error
    if kept is None:
        return Source(name, count, unpack)
    data = b"".join(kept)
    return Source(name, count, lambda: io.BytesIO(data))
