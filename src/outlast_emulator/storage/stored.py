"""An object as the model knows it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from outlast_emulator.response import JSON

COLUMNS = "bucket, name, generation, metageneration, size, md5, crc32c, components, created_us, updated_us, content, inline, fields"
"""In the order of `Stored`."""


class Stored(NamedTuple):
    bucket: str
    name: str
    generation: int
    metageneration: int
    size: int
    md5: bytes
    """b"" for an object that was composed of others."""
    crc32c: int
    components: int
    """0, or of how many uploads the object was composed."""
    created_us: int
    updated_us: int
    content: int
    inline: int
    fields_text: str

    @property
    def fields(self) -> dict[str, Any]:
        """What callers may set: contentType, metadata, cacheControl..., by their names in the JSON API."""
        fields: dict[str, Any] = json.loads(self.fields_text)
        return fields


class Departed(NamedTuple):
    """Deleted or replaced in a bucket with a soft-delete policy; restored or purged later."""

    stored: Stored
    departed_us: int
    purge_us: int


def fields_text(fields: dict[str, Any]) -> str:
    return JSON.encode(fields) if fields else "{}"
