"""Partial answers: `fields=kind,items(name,metadata/key),prefixes`."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from outlast_emulator.errors import ApiError

Mask = dict[str, "Mask | None"]
"""Name -> what of it is wanted; None: all."""

DEPTH_MAX = 32


def cut(document: Any, mask_text: str) -> Any:
    """What of the document is asked for; 400 if the mask is malformed."""
    return _cut(document, parsed(mask_text))


def names(mask_text: str) -> Collection[str]:
    """The outermost names that are asked for; (): no mask, so all of them."""
    return parsed(mask_text) if mask_text else ()


def _cut(value: Any, mask: Mask) -> Any:
    if isinstance(value, list):
        return [_cut(entry, mask) for entry in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, entry in value.items():
        if name in mask:
            inner = mask[name]
        elif "*" in mask:
            inner = mask["*"]
        else:
            continue
        result[name] = entry if inner is None else _cut(entry, inner)
    return result


@lru_cache(256)
def parsed(text: str) -> Mask:
    """400 if it is malformed."""
    mask, at = _names(text, 0, 0)
    if at != len(text):
        raise malformed(text)
    return mask


def _names(text: str, at: int, depth: int) -> tuple[Mask, int]:
    if depth > DEPTH_MAX:
        raise malformed(text)
    mask: Mask = {}
    while True:
        at = _name(text, at, depth, mask)
        if at < len(text) and text[at] == ",":
            at += 1
            continue
        return mask, at


def _name(text: str, at: int, depth: int, mask: Mask) -> int:
    begin = at
    while at < len(text) and text[at] not in ",()/":
        at += 1
    name = text[begin:at].strip()
    if not name:
        raise malformed(text)
    inner: Mask | None = None
    if at < len(text) and text[at] == "/":
        inner = {}
        at = _name(text, at + 1, depth + 1, inner)
    elif at < len(text) and text[at] == "(":
        inner, at = _names(text, at + 1, depth + 1)
        if at >= len(text) or text[at] != ")":
            raise malformed(text)
        at += 1
    _add(mask, name, inner)
    return at


def _add(mask: Mask, name: str, inner: Mask | None) -> None:
    """To what is wanted of that name already: `items/metadata/a,items/metadata/b` wants both."""
    wanted = mask.setdefault(name, {})
    if inner is None or wanted is None:
        mask[name] = None
        return
    for below, further in inner.items():
        _add(wanted, below, further)


def malformed(text: str) -> ApiError:
    return ApiError(
        400, "invalidParameter", f"Invalid field selection {text}", location="fields", location_type="parameter"
    )
