"""`--config FILE` and `--set a.b=c`: files in YAML, TOML or JSON, merged into one document."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from outlast.errors import Denied, NotFound, UsageError
from outlast.spec.names import shown
from outlast.spec.plain_file import read_plain

FILE_BYTES_MAX = 4 << 20
DEPTH_MAX = 50
SUFFIXES = (".yaml", ".yml", ".toml", ".json")


def merged_config(files: Sequence[str], values: Sequence[str], directory: Path, code: Path) -> dict[str, Any]:
    """Left to right, tables deeply, everything else replaced; then the single values.

    A file that is not in the directory is looked for in the code that is shipped.
    """
    config: dict[str, Any] = {}
    for file in files:
        merge(config, read_config(directory / file if os.path.lexists(directory / file) else code / file))
    for text in values:
        set_value(config, text)
    return config


def merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        here = into.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            merge(here, value)
        else:
            into[key] = value


def read_config(path: Path) -> dict[str, Any]:
    """What is wrong is said with the file, the line and what it is."""
    text = _text(path)
    reader = {".toml": _toml, ".json": _json}.get(path.suffix.lower(), _yaml)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"`{path}` is no configuration by its name", hint=f"it ends in one of {', '.join(SUFFIXES)}")
    document = reader(path, text)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise UsageError(f"`{path}` holds a {type(document).__name__}, not a table of keys and values")
    plain: dict[str, Any] = _plain(document, path, "", 0)
    return plain


def set_value(config: dict[str, Any], text: str) -> None:
    """`a.b=c`: the value as JSON has it, or as text where it is none."""
    name, equals, written = text.partition("=")
    keys = name.split(".")
    if not equals or not all(keys) or "\0" in text:
        raise UsageError(f"`--set {text[:60]}` is no `a.b=VALUE`", hint="`--set model.layers=4`")
    table = config
    for count, key in enumerate(keys[:-1]):
        below = table.setdefault(key, {})
        if not isinstance(below, dict):
            raise UsageError(
                f"`--set {text[:60]}`: `{'.'.join(keys[: count + 1])}` is {json.dumps(below)[:60]}, and no table"
            )
        table = below
    table[keys[-1]] = _value(written)


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def _text(path: Path) -> str:
    try:
        return read_plain(path, FILE_BYTES_MAX).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not UTF-8, at byte {error.start}", hint="save it as UTF-8") from error
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no configuration `{path}`", hint="look at its spelling") from None
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.EINVAL, errno.EISDIR):
            raise UsageError(f"`{path}` is no configuration: {error.strerror}") from error
        raise Denied(f"`{path}` cannot be read: {error.strerror}", hint=f"`ls -l {path}`") from error


def _yaml(path: Path, text: str) -> Any:
    from outlast.spec.yaml import YamlError, read_yaml

    try:
        return read_yaml(text)
    except YamlError as error:
        raise UsageError(f"`{path}` {error}", hint="what YAML is read is in docs/guides/configuration.md") from None


def _toml(path: Path, text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"`{path}` is not TOML: {error}", hint="see https://toml.io for the form") from error


def _json(path: Path, text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found:
                raise UsageError(f"`{path}`: {shown(key)} stands in one table twice")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise UsageError(f"`{path}` line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise UsageError(f"`{path}` is nested too deeply") from error


def _plain(value: Any, path: Path, where: str, depth: int) -> Any:
    """As JSON has it: dates are text; what JSON has not is refused."""
    if depth > DEPTH_MAX:
        raise UsageError(f"`{path}`: `{where[:60]}` is nested deeper than {DEPTH_MAX}")
    if isinstance(value, dict):
        return {key: _plain(item, path, f"{where}.{key}".lstrip("."), depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, path, f"{where}[{number}]", depth + 1) for number, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"`{path}`: `{where[:60]}` is {value}, and no number that JSON has", hint="write it as text")
    return value if value is None or isinstance(value, (str, int, float, bool)) else value.isoformat()
