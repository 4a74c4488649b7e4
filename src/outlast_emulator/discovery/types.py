"""The schemas of a discovery document as functions: each compiled once, when something of its type is first seen.

A check gets a value and where it stands, and raises `Mismatch`. There are two kinds: what a client sends may hold nulls, and
64-bit numbers as numbers or as texts; what a server answers may not (`strict`). What a client sent is also put into the form
in which it is answered later: 64-bit numbers become texts, and nulls within lists are gone.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from outlast_emulator.discovery.words import DATE_TIME, RANGES, whole_number
from outlast_emulator.storage.masks import Mask

Check = Callable[[Any, str], None]

_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_DURATION = re.compile(r"-?\d+(\.\d{1,9})?s\Z", re.ASCII)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_FORMS: dict[str, Callable[[str], bool]] = {
    "byte": _is_base64,
    "date-time": lambda text: bool(DATE_TIME.match(text)),
    "google-datetime": lambda text: bool(DATE_TIME.match(text)),
    "date": lambda text: bool(_DATE.match(text)),
    "google-duration": lambda text: bool(_DURATION.match(text)),
}


class Mismatch(Exception):
    """A value that is not of its type, in Google's words."""

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message)
        self.message = message
        self.where = where


class Types:
    """All schemas of one document."""

    def __init__(self, schemas: dict[str, Any], *, both_names: bool = False) -> None:
        """`both_names`: a client may also write a field as its protocol buffer calls it, `page_size` for `pageSize`."""
        self._schemas = schemas
        self._both_names = both_names
        self._compiled: dict[tuple[str, bool], Check] = {}

    def check(self, name: str, strict: bool = False) -> Check:
        """The check of a named schema, compiled when it is first called: most are never needed."""
        compiled = self._compiled

        def call(value: Any, where: str) -> None:
            found = compiled.get((name, strict))
            if found is None:
                found = compiled[name, strict] = self._compile(self._schemas[name], strict)
            found(value, where)

        return call

    def unselectable(self, name: str, mask: Mask) -> str | None:
        """The first name of a mask that a partial answer of this schema cannot have; None: all are known."""
        return self._unselectable(self._schemas[name], mask)

    def _unselectable(self, schema: dict[str, Any], mask: Mask) -> str | None:
        while "$ref" in schema or schema.get("type") == "array":
            schema = self._schemas[schema["$ref"]] if "$ref" in schema else schema["items"]
        if schema.get("type", "any") == "any":
            return None
        fields, other = schema.get("properties", {}), schema.get("additionalProperties")
        for name, inner in mask.items():
            field = fields.get(name, other)
            if name == "*":
                continue
            if field is None:
                return name
            unknown = self._unselectable(field, inner) if inner is not None else None
            if unknown is not None:
                return unknown
        return None

    def _compile(self, schema: dict[str, Any], strict: bool) -> Check:
        if "$ref" in schema:
            return self.check(schema["$ref"], strict)
        kind = schema.get("type", "any")
        if kind == "object":
            return self._object(schema, strict)
        if kind == "array":
            return _array(self._compile(schema["items"], strict), strict)
        if kind == "any":
            return _anything
        return _scalar(kind, schema, strict, self._both_names)

    def _object(self, schema: dict[str, Any], strict: bool) -> Check:
        fields = {name: self._compile(one, strict) for name, one in schema.get("properties", {}).items()}
        other = self._compile(schema["additionalProperties"], strict) if "additionalProperties" in schema else None
        properties = schema.get("properties", {})
        texts = frozenset(name for name, one in properties.items() if one.get("format") in ("int64", "uint64"))

        def check(value: Any, where: str) -> None:
            if type(value) is not dict:
                if value is None and not strict:
                    return
                raise _wrong(value, where, "a JSON object")
            if self._both_names and not strict and other is None:
                _rename(value, fields)
            for name, one in value.items():
                field = fields.get(name, other)
                if field is None:
                    raise _unknown(name, where)
                field(one, f"{where}.{name}" if where else name)
                if name in texts and type(one) is int and properties[name]["type"] == "string":
                    value[name] = str(one)

        return check


def _rename(value: dict[str, Any], fields: dict[str, Check]) -> None:
    """In place: `dry_run` becomes `dryRun`, where there is such a field."""
    for name in [name for name in value if name not in fields and "_" in name]:
        known = re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)
        if known in fields and known not in value:
            value[known] = value.pop(name)


def _array(item: Check, strict: bool) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not list:
            if value is None and not strict:
                return
            raise _wrong(value, where, "a list")
        for at, one in enumerate(value):
            if one is None:
                raise _wrong(one, f"{where}[{at}]", "an element of a list")
            item(one, f"{where}[{at}]")
            if not strict:
                drop_nulls(one)

    return check


def drop_nulls(value: Any) -> None:
    """In place: an absent field and a null are the same, but where a patch removes something."""
    if type(value) is dict:
        if None in value.values():
            for name in [name for name, one in value.items() if one is None]:
                del value[name]
        for one in value.values():
            if type(one) is not str:
                drop_nulls(one)
    elif type(value) is list:
        for one in value:
            drop_nulls(one)


def _anything(value: Any, where: str) -> None:
    return None


def _text(value: Any, where: str) -> None:
    """The most usual of all, in one call."""
    if type(value) is not str and value is not None:
        raise _wrong(value, where, "TYPE_STRING")


def _scalar(kind: str, schema: dict[str, Any], strict: bool, both_names: bool) -> Check:
    if kind == "string" and not strict and "format" not in schema and not (both_names and "enum" in schema):
        return _text
    accepts = _acceptor(kind, schema, strict)
    if both_names and "enum" in schema and not strict:  # by its number, as clients send it with `enum-encoding=int`
        accepts = _word_or_number
    label = f"TYPE_{schema.get('format', kind).upper().replace('-', '_')}"
    if strict:

        def check_strictly(value: Any, where: str) -> None:
            if not accepts(value):
                raise _wrong(value, where, label)

        return check_strictly

    def check(value: Any, where: str) -> None:
        if value is not None and not accepts(value):
            raise _wrong(value, where, label)

    return check


def _acceptor(kind: str, schema: dict[str, Any], strict: bool) -> Callable[[Any], bool]:
    form = schema.get("format", "")
    if kind == "boolean":
        return lambda value: type(value) is bool
    if kind == "number":
        return lambda value: type(value) in (int, float)
    if kind == "integer":
        return _whole(form if form in RANGES else "int32")
    if form in ("int64", "uint64"):
        as_number = _whole(form)
        if strict:
            return lambda value: type(value) is str and whole_number(value, form)
        return lambda value: whole_number(value, form) if type(value) is str else as_number(value)
    if form in _FORMS:
        is_form = _FORMS[form]
        return lambda value: type(value) is str and is_form(value)
    if "enum" in schema and strict:  # what a client sends is for the operation to judge: its words differ by field
        known = frozenset(schema["enum"])
        return lambda value: value in known
    return lambda value: type(value) is str


def _word_or_number(value: Any) -> bool:
    return type(value) in (str, int)


def _whole(form: str) -> Callable[[Any], bool]:
    low, high = RANGES[form]
    return lambda value: type(value) is int and low <= value <= high


def _unknown(name: str, where: str) -> Mismatch:
    place = f" at '{where}'" if where else ""
    return Mismatch(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.', where)


def _wrong(value: Any, where: str, label: str) -> Mismatch:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Mismatch(f"Invalid value at '{where or 'body'}' ({label}), {shown[:200]}", where)
