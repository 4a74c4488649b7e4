"""A discovery document, read once: its methods, with the checks of what they take and give.

The files beside this one are written by tools/take_discovery.py.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from outlast_emulator.discovery.types import Check, Types
from outlast_emulator.discovery.words import Word, word_check
from outlast_emulator.storage.masks import Mask

HERE = Path(__file__).parent

SYSTEM_PARAMETERS = frozenset(
    ("$.xgafv", "$alt", "$fields", "$key", "$prettyPrint", "access_token", "callback", "upload_id", "upload_protocol")
)
"""Accepted by every Google API beside those that its document lists."""

OLD = ("compute.v1", "storage.v1")
"""They take the names of fields in one way only."""

UNLISTED = {"compute.v1": ("returnPartialSuccess",)}
"""Accepted by one API although its document does not list it (any more): gcloud and Google's libraries send it."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method. `paths` are all the places where it is served, beginning with a slash."""

    id: str
    verb: str
    paths: tuple[str, ...]
    words: dict[str, Word]
    """Parameters in the query: how each value is checked. None: any text."""
    required: tuple[str, ...]
    repeated: frozenset[str]
    request: Check | None
    response: Check | None
    download: bool
    """`alt=media` answers with contents instead of the response."""
    scopes: frozenset[str]
    unselectable: Callable[[Mask], str | None] | None = None
    """The first name in a mask (`fields=`) that its answers do not have."""


@dataclass(frozen=True)
class Document:
    name: str
    revision: str
    methods: dict[str, Method]
    schemas: tuple[str, ...]


@cache
def load(name: str) -> Document:
    """`load("storage.v1")`: once per process, a few milliseconds."""
    taken = json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))
    types = Types(taken["schemas"], both_names=name not in OLD)
    system = {key: word_check(value) for key, value in taken["parameters"].items()}
    system.update(dict.fromkeys((*SYSTEM_PARAMETERS, *UNLISTED.get(name, ()))))
    methods = {key: _method(key, value, taken, types, system) for key, value in taken["methods"].items()}
    return Document(name, taken["revision"], methods, tuple(sorted(taken["schemas"])))


def names() -> tuple[str, ...]:
    """All documents that are shipped."""
    return tuple(sorted(path.name.removesuffix(".json.gz") for path in HERE.glob("*.json.gz")))


def _method(
    method_id: str, value: dict[str, Any], taken: dict[str, Any], types: Types, system: dict[str, Word]
) -> Method:
    queries = {name: one for name, one in value["parameters"].items() if one["location"] == "query"}
    paths = ["/" + taken["servicePath"] + value.get("flatPath", value["path"])]
    paths += value.get("uploads", {}).values()
    return Method(
        id=method_id,
        verb=value["httpMethod"],
        paths=tuple(dict.fromkeys(paths)),
        words={**system, **{name: word_check(one) for name, one in queries.items()}},
        required=tuple(name for name, one in queries.items() if one.get("required")),
        repeated=frozenset(name for name, one in queries.items() if one.get("repeated")),
        request=types.check(value["request"]) if "request" in value else None,
        response=types.check(value["response"], strict=True) if "response" in value else None,
        download=value.get("download", False),
        scopes=frozenset(value.get("scopes", ())),
        unselectable=partial(types.unselectable, value["response"]) if "response" in value else None,
    )
