"""Frozen dataclasses to JSON and back, strictly: what is read has been checked as thoroughly as what is written."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from outlast.errors import Damaged, NewerFormat

FORMAT = 1
"""The version of everything stored in a home. A reader takes all up to its own."""

RECORD_BYTES_MAX = 64 << 20
DEPTH_MAX = 32

T = TypeVar("T")
Reader = Callable[[Any, int], Any]
"""(what JSON holds, how deeply it is nested) -> the value, or `Wrong`."""


def encode(record: Any) -> bytes:
    """One JSON document with sorted keys and a `format`, so that equal records are equal bytes."""
    document = {"format": FORMAT, **_plain(record)}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # Bytes of somebody's that are no UTF-8, as Python holds them: only JSON's own escapes do.
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def decode(cls: type[T], data: bytes, key: str) -> T:
    """The record in `data`; `Damaged` or `NewerFormat`, naming `key`, if it is anything else."""
    document = parse(data, key)
    try:
        kind: Any = cls
        return typing.cast(T, _reader(kind)(document, 0))
    except Wrong as error:
        raise Damaged(f"`{key}` is damaged: {cls.__name__}{error.where}{error.what}") from error


def parse(data: bytes, key: str) -> dict[str, Any]:
    """A record's fields, of a format that is known here; nothing else is checked yet."""
    if len(data) > RECORD_BYTES_MAX:
        raise Damaged(f"`{key}` is {len(data):,} bytes long, no record is")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"`{key}` is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Damaged(f"`{key}` holds a {type(document).__name__}, not a record")
    version = document.pop("format", None)
    if type(version) is not int:
        raise Damaged(f"`{key}` names no format")
    if version > FORMAT:
        raise NewerFormat(f"`{key}` has format {version}, this outlast knows up to {FORMAT}", hint="update outlast")
    return document


_AS_IT_IS = frozenset({str, int, float, bool, type(None)})
"""Most of what a record holds, and the same in JSON."""


def _plain(value: Any) -> Any:
    kind: Any = type(value)
    return value if kind in _AS_IT_IS else _writer(kind)(value)


plain = _plain
"""The record as dicts, lists and plain values: what `--json` prints."""


@functools.cache
def _writer(kind: type) -> Callable[[Any], Any]:
    """Made once per type: what a value of it is in JSON."""
    if dataclasses.is_dataclass(kind):
        names = _field_names(kind)
        return lambda record: _plain_fields(record.__dict__, names)
    if issubclass(kind, enum.Enum):
        return lambda one: one.value
    if issubclass(kind, Mapping):
        return lambda mapping: {str(name): _plain(item) for name, item in mapping.items()}
    if issubclass(kind, (tuple, list)):
        return lambda items: [_plain(item) for item in items]
    return lambda value: value


def _plain_fields(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value if type(value := fields[name]) in _AS_IT_IS else _plain(value) for name in names}


class Wrong(ValueError):
    """`where` is the way to it, from the outside in, and grows as it is raised."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.where = ""
        self.what = what

    def at(self, where: str) -> Wrong:
        self.where = where + self.where
        return self


@functools.cache
def _reader(kind: Any) -> Reader:
    """Made once per type: what takes a value of it out of JSON."""
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _union_reader(typing.get_args(kind))
    if origin is tuple:
        return _list_reader(typing.get_args(kind)[0])
    if origin in (dict, Mapping) or origin is typing.get_origin(Mapping[str, int]):
        return _mapping_reader(typing.get_args(kind)[1])
    if kind is typing.Any:
        return lambda value, depth: value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum_reader(kind)
    return _scalar_reader(kind)


def _list_reader(kind: Any) -> Reader:
    def read(value: Any, depth: int) -> Any:
        if not isinstance(value, list):
            raise Wrong(" is not a list")
        if not value:
            return ()
        _check_depth(depth)
        items = _reader(kind)
        found = []
        for number, item in enumerate(value):
            try:
                found.append(item if type(item) is kind else items(item, depth + 1))
            except Wrong as wrong:
                raise wrong.at(f"[{number}]") from None
        return tuple(found)

    return read


def _mapping_reader(kind: Any) -> Reader:
    def read(value: Any, depth: int) -> Any:
        if not isinstance(value, dict):
            raise Wrong(" is not an object")
        _check_depth(depth)
        items = _reader(kind)
        found = {}
        for name, item in value.items():
            try:
                found[name] = item if type(item) is kind else items(item, depth + 1)
            except Wrong as wrong:
                raise wrong.at(f".{name}") from None
        return found

    return read


def _union_reader(kinds: tuple[Any, ...]) -> Reader:
    optional = type(None) in kinds
    others = [kind for kind in kinds if kind is not type(None)]

    def read(value: Any, depth: int) -> Any:
        if value is None and optional:
            return None
        problem: Wrong | None = None
        for kind in others:
            try:
                return _reader(kind)(value, depth + 1)
            except Wrong as wrong:
                problem = wrong
        assert problem is not None
        raise problem

    return read


def _enum_reader(kind: type[enum.Enum]) -> Reader:
    def read(value: Any, depth: int) -> Any:
        try:
            return kind(value)
        except ValueError as error:
            raise Wrong(f": {error}") from None

    return read


def _scalar_reader(kind: Any) -> Reader:
    def read(value: Any, depth: int) -> Any:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                raise Wrong(" is too large") from None
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            return value
        raise Wrong(f" is {json.dumps(value)[:80]}, not of type {kind.__name__}")

    return read


class _Readers(dict[str, Reader]):
    """Field -> its reader, made when it is needed first: a command that looks at one record pays for no other's types."""

    def __init__(self, hints: Mapping[str, Any]) -> None:
        super().__init__()
        self._hints = hints

    def __missing__(self, name: str) -> Reader:
        reader = self[name] = _reader(self._hints[name])
        return reader


def _dataclass_reader(kind: Any) -> Reader:
    hints = typing.get_type_hints(kind)
    readers = _Readers(hints)
    own = {name: sys.intern(name) for name in hints}

    def read(value: Any, depth: int) -> Any:
        if not isinstance(value, dict):
            raise Wrong(" is not an object")
        _check_depth(depth)
        if not value.keys() <= hints.keys():
            raise Wrong(f" has an unknown field `{min(value.keys() - hints.keys())}`")
        found = {}
        for name, item in value.items():
            # Most fields are of exactly their type, and need no more looking at.
            if type(item) is not hints[name]:
                try:
                    item = readers[name](item, depth + 1)
                except Wrong as wrong:
                    raise wrong.at(f".{name}") from None
            # What was measured may be anything, in a mapping; a time, a limit or a price may not.
            if type(item) is float and not math.isfinite(item):
                raise Wrong(f".{name} is {item}")
            # By the very text that is the parameter's name: Python compares others with all of them, one by one.
            found[own[name]] = item
        try:
            return kind(**found)
        except TypeError as error:
            raise Wrong(f": {error}") from error

    return read


def _check_depth(depth: int) -> None:
    if depth > DEPTH_MAX:
        raise Wrong(" is nested too deeply")


def prepare(kind: Any) -> None:
    """Does what reading and writing do once per type: for a process that is about to fork others, which inherit it."""
    _reader(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        _writer(kind)
        for hint in typing.get_type_hints(kind).values():
            prepare(hint)
    for inner in typing.get_args(kind):
        if not isinstance(inner, str) and inner is not Ellipsis:
            prepare(inner)


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
