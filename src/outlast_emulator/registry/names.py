"""What a path below `/v2/` asks for: repository, kind of thing, and which one."""

from __future__ import annotations

import re
from typing import NamedTuple

from outlast_emulator.request import Request, decoded

NAME = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
NAME_CHARACTERS_MAX = 255
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
SHAPES = (
    ("uploads.start", re.compile(r"(?P<name>.+)/blobs/uploads/?")),
    ("uploads", re.compile(r"(?P<name>.+)/blobs/uploads/(?P<what>[^/]+)")),
    ("blobs", re.compile(r"(?P<name>.+)/blobs/(?P<what>[^/]+)")),
    ("manifests", re.compile(r"(?P<name>.+)/manifests/(?P<what>[^/]+)")),
    ("tags", re.compile(r"(?P<name>.+)/tags/list")),
    ("catalog", re.compile(r"_catalog")),
)
"""The first that fits: a repository may be called `blobs/uploads`."""


class Asked(NamedTuple):
    kind: str
    """`uploads.start`, `uploads`, `blobs`, `manifests`, `tags`, `catalog`; "": nothing that there is."""
    name: str = ""
    what: str = ""
    """A digest, a tag, or the id of an upload."""


def asked(request: Request) -> Asked:
    path = decoded(request.path).removeprefix("/v2/")
    for kind, shape in SHAPES:
        found = shape.fullmatch(path)
        if found:
            parts = found.groupdict()
            return Asked(kind, parts.get("name", ""), parts.get("what", ""))
    return Asked("")


def is_name(text: str) -> bool:
    return len(text) <= NAME_CHARACTERS_MAX and NAME.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    return DIGEST.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    return TAG.fullmatch(text) is not None
