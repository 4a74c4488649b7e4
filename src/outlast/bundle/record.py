"""`bundles/<digest>.json`: a listing with the place of every content, written whole or as changes to another one.

    {"format": 1, "packs": [digest, ...], "files": [[path, mode, bytes, sha256, pack, offset], ...]}
    {"format": 1, "packs": [...], "files": [what differs from the parent], "parent": digest, "removed": [path, ...]}

`pack` counts in `packs`. The parent is always a whole one, so a bundle is at most two records. A path that is not UTF-8 has
its odd bytes as U+DC80 to U+DCFF, as Python does. What is read here may have been written by anybody.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from outlast.bundle.listing import DIGEST_FORM, File, Place, digest_of, problem_of
from outlast.errors import Damaged, KeyMissing
from outlast.folder import layout
from outlast.spec.record import FORMAT, parse
from outlast.store.store import Store

PACKS_MAX = 10_000


class Bundle(NamedTuple):
    files: dict[bytes, File]
    """In the order of their paths."""

    places: dict[str, Place]
    """By sha256, of every content that is not empty."""


def encode_whole(files: Mapping[bytes, File], places: Mapping[str, Place]) -> bytes:
    return _encode(files.values(), places, {})


def encode_changes(
    parent: str, files: Collection[File], removed: Collection[bytes], places: Mapping[str, Place]
) -> bytes:
    """`files`: those that the parent has otherwise or not at all."""
    return _encode(files, places, {"parent": parent, "removed": [_text(path) for path in removed]})


def _encode(rows: Collection[File], places: Mapping[str, Place], more: Mapping[str, Any]) -> bytes:
    numbers: dict[str, int] = {}
    files = []
    for path, mode, size, sha256 in rows:
        pack, offset = places[sha256] if size else ("", 0)
        number = numbers.setdefault(pack, len(numbers)) if size else 0
        files.append((_text(path), mode, size, sha256, number, offset))
    document = {"format": FORMAT, "packs": list(numbers), "files": files, **more}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


REMEMBERED_BYTES_MAX = 32 << 10
_last: dict[tuple[str, bytes], Bundle] = {}
"""What was read last, if it is small, by its digest and its very bytes: machines that run one short job after another, all of the
same code, need not check it again."""


def read_bundle(store: Store, digest: str) -> Bundle:
    """The bundle, checked whole: `Damaged` if it is anything else than what has this digest."""
    if not DIGEST_FORM.fullmatch(digest):
        raise Damaged(f"`{digest[:80]}` is no digest of a bundle")
    key = layout.bundle(digest)
    data = _data(store, key)
    if (digest, data) in _last:
        return _last[digest, data]
    document = _parsed(data, key)
    parent = document.get("parent")
    places: dict[str, Place] = {}
    files: dict[bytes, File] = {}
    if parent is not None:
        if not isinstance(parent, str) or not DIGEST_FORM.fullmatch(parent):
            raise Damaged(f"`{key}` is damaged: its parent is no digest")
        whole = _document(store, layout.bundle(parent))
        if "parent" in whole:
            raise Damaged(f"`{key}` is damaged: its parent `{parent}` has a parent itself")
        _take(whole, layout.bundle(parent), files, places)
        for path in _removed(document, key):
            files.pop(path, None)
    _take(document, key, files, places)
    ordered = dict(sorted(files.items()))
    problem = problem_of(ordered)
    if problem:
        raise Damaged(f"`{key}` is damaged: {problem}")
    if digest_of(ordered.values()) != digest:
        raise Damaged(f"`{key}` is damaged: its files do not have the digest in its name")
    bundle = Bundle(ordered, {file.sha256: places[file.sha256] for file in ordered.values() if file.bytes})
    _last.clear()
    if parent is None and len(data) <= REMEMBERED_BYTES_MAX:
        _last[digest, data] = bundle
    return bundle


def read_parent(store: Store, digest: str) -> str:
    """Empty: the bundle is written whole."""
    return str(_document(store, layout.bundle(digest)).get("parent") or "")


def read_packs(store: Store, digest: str) -> tuple[list[str], str]:
    """(the packs that the record itself names, its parent or empty): what it holds on to. `KeyMissing`: it is gone."""
    key = layout.bundle(digest)
    document = _parsed(store.get(key).data, key)
    packs, parent = document.get("packs"), document.get("parent") or ""
    if not isinstance(packs, list) or not all(isinstance(pack, str) for pack in packs) or not isinstance(parent, str):
        raise Damaged(f"`{key}` is damaged: it has no list of packs")
    return packs, parent


def _document(store: Store, key: str) -> dict[str, Any]:
    return _parsed(_data(store, key), key)


def _data(store: Store, key: str) -> bytes:
    try:
        return store.get(key).data
    except KeyMissing:
        raise Damaged(f"`{key}` is gone from `{store.url}`", hint="submit the job again from its directory") from None


def _parsed(data: bytes, key: str) -> dict[str, Any]:
    document = parse(data, key)
    unknown = document.keys() - {"packs", "files", "parent", "removed"}
    if unknown:
        raise Damaged(f"`{key}` is damaged: it has an unknown field `{min(unknown)[:80]}`")
    return document


def _take(document: Mapping[str, Any], key: str, files: dict[bytes, File], places: dict[str, Place]) -> None:
    """Types are checked here, meanings in `problem_of`."""
    packs, rows = document.get("packs"), document.get("files")
    if not isinstance(packs, list) or not isinstance(rows, list) or len(packs) > PACKS_MAX:
        raise Damaged(f"`{key}` is damaged: it has no list of packs and files")
    if not all(isinstance(pack, str) and DIGEST_FORM.fullmatch(pack) for pack in packs):
        raise Damaged(f"`{key}` is damaged: a pack's name is no digest")
    seen: set[bytes] = set()
    for row in rows:
        try:
            text, mode, size, sha256, number, offset = row
            path = text.encode("utf-8", "surrogateescape")
            numeric = type(size) is int and type(number) is int and type(offset) is int
            if not numeric or type(mode) is not str or type(sha256) is not str or path in seen:
                raise ValueError
            if size:
                if number < 0 or offset < 0:
                    raise ValueError
                places[sha256] = Place(packs[number], offset)
        except (ValueError, TypeError, AttributeError, IndexError):
            raise Damaged(f"`{key}` is damaged: {json.dumps(row)[:160]} describes no file") from None
        seen.add(path)
        files[path] = File(path, mode, size, sha256)


def _removed(document: Mapping[str, Any], key: str) -> list[bytes]:
    removed = document.get("removed")
    if not isinstance(removed, list) or not all(isinstance(text, str) for text in removed):
        raise Damaged(f"`{key}` is damaged: `removed` is no list of paths")
    try:
        return [text.encode("utf-8", "surrogateescape") for text in removed]
    except UnicodeEncodeError:
        raise Damaged(f"`{key}` is damaged: `removed` holds what is no path") from None


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
