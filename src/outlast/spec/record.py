"""Frozen dataclasses to JSON and back, strictly: what is read has been checked as thoroughly as what is written."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from outlast.errors import Damaged, NewerFormat

FORMAT = 1
"""The version of everything stored in a home. A reader takes all up to its own."""

RECORD_BYTES_MAX = 64 << 20
DEPTH_MAX = 32

T = TypeVar("T")


def encode(record: Any) -> bytes:
    """One JSON document with sorted keys and a `format`, so that equal records are equal bytes."""
    document = {"format": FORMAT, **_plain(record)}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except (
        UnicodeEncodeError
    ):  # bytes of somebody's that are no UTF-8, as Python holds them: only JSON's own escapes do
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def decode(cls: type[T], data: bytes, key: str) -> T:
    """The record in `data`; `Damaged` or `NewerFormat`, naming `key`, if it is anything else."""
    if len(data) > RECORD_BYTES_MAX:
        raise Damaged(f"`{key}` is {len(data):,} bytes long, no record is")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"`{key}` is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Damaged(f"`{key}` holds a {type(document).__name__}, not a record")
    version = document.pop("format", None)
    if not isinstance(version, int) or isinstance(version, bool):
        raise Damaged(f"`{key}` names no format")
    if version > FORMAT:
        raise NewerFormat(f"`{key}` has format {version}, this outlast knows up to {FORMAT}", hint="update outlast")
    try:
        return typing.cast(T, _read(cls, document, cls.__name__, 0))
    except ValueError as error:
        raise Damaged(f"`{key}` is damaged: {error}") from error


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in _field_names(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


plain = _plain
"""The record as dicts, lists and plain values: what `--json` prints."""


def _read(kind: Any, value: Any, where: str, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise ValueError(f"{where} is nested too deeply")
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _read_union(typing.get_args(kind), value, where, depth)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where} is not a list")
        item_kind = typing.get_args(kind)[0]
        return tuple(_read(item_kind, item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value))
    if origin in (dict, Mapping) or origin is typing.get_origin(Mapping[str, int]):
        if not isinstance(value, dict):
            raise ValueError(f"{where} is not an object")
        item_kind = typing.get_args(kind)[1]
        return {name: _read(item_kind, item, f"{where}.{name}", depth + 1) for name, item in value.items()}
    if kind is typing.Any:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, value, where, depth)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    return _read_scalar(kind, value, where)


def _read_union(kinds: tuple[Any, ...], value: Any, where: str, depth: int) -> Any:
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(kind, value, where, depth + 1)
        except ValueError as error:
            problem = error
    raise problem


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError(f"{where} is too large") from error
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    raise ValueError(f"{where} is {json.dumps(value)[:80]}, not of type {kind.__name__}")


def _read_dataclass(kind: Any, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")
    hints = _hints(kind)
    unknown = value.keys() - hints.keys()
    if unknown:
        raise ValueError(f"{where} has an unknown field `{min(unknown)}`")
    read = {
        # Most fields are of exactly their type, and need no more looking at.
        name: item if type(item) is hints[name] else _read(hints[name], item, f"{where}.{name}", depth + 1)
        for name, item in value.items()
    }
    for name, item in read.items():
        # What was measured may be anything, in a mapping; a time, a limit or a price may not.
        if type(item) is float and not math.isfinite(item):
            raise ValueError(f"{where}.{name} is {item}")
    try:
        return kind(**read)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def prepare(kind: Any) -> None:
    """Does what `decode` does once per type: for a process that is about to fork others, which inherit it."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        for hint in _hints(kind).values():
            prepare(hint)
        _field_names(kind)
    for inner in typing.get_args(kind):
        prepare(inner)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
