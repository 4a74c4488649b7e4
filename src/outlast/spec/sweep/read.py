"""Reads a sweep's document: JSON with comments, TOML or YAML from a file, JSON with comments from stdin."""

from __future__ import annotations

import datetime
import errno
import sys
from pathlib import Path
from typing import IO, Any

from outlast.errors import Denied, NotFound, UsageError
from outlast.spec.plain_file import read_plain
from outlast.spec.sweep.commented_json import read_commented_json

STDIN = "stdin"
FILE_BYTES_MAX = 64 << 20
FORMS = "JSON (with comments), or TOML in a file `*.toml`, or YAML in a file `*.yaml`"


def is_stdin(source: str) -> bool:
    return source.lower() == STDIN


def read_document(source: str, stdin: IO[Any]) -> Any:
    """The document as JSON has it; mistakes are told with the file, the line and what is allowed."""
    if is_stdin(source):
        return read_commented_json(_piped(stdin), STDIN)
    if not source.strip():
        raise UsageError("no file is named", hint=f"a sweep's file is {FORMS}; `stdin` reads what is piped in")
    path = Path(source)
    text = _text(path)
    if not text.strip():
        raise UsageError(f"`{source}` is empty", hint='a sweep is `{"lr": [0.1, 0.2]}`, or a list of such')
    reader = {".toml": _toml, ".yaml": _yaml, ".yml": _yaml}.get(path.suffix.lower(), read_commented_json)
    return reader(text, source)


def _piped(stdin: IO[Any]) -> str:
    if stdin.isatty():
        raise UsageError("nothing is piped into stdin", hint="`outlast expand FILE | outlast run --sweep stdin TARGET`")
    content = stdin.buffer.read(FILE_BYTES_MAX + 1) if hasattr(stdin, "buffer") else stdin.read(FILE_BYTES_MAX + 1)
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"stdin is above {FILE_BYTES_MAX:,} bytes", hint="write the lists, not their product")
    text = content if isinstance(content, str) else _decoded(content, STDIN)
    if not text.strip():
        raise UsageError("stdin is empty", hint="`outlast expand FILE | outlast run --sweep stdin TARGET`")
    return text


def _text(path: Path) -> str:
    try:
        return _decoded(read_plain(path, FILE_BYTES_MAX), str(path))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFound(
            f"there is no file `{path}`", hint="look at its spelling; `stdin` reads what is piped in"
        ) from None
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.EINVAL, errno.EISDIR, errno.ENAMETOOLONG, errno.ENXIO, errno.EOPNOTSUPP):
            raise UsageError(
                f"`{path}` is no sweep's file: {error.strerror}",
                hint=f"it is {FORMS}; pipes: `... | outlast expand stdin`",
            ) from error
        raise Denied(f"`{path}` cannot be read: {error.strerror}", hint=f"`ls -l {path}`") from error


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{where}` is not UTF-8, at byte {error.start}", hint="save it as UTF-8") from error


def _yaml(text: str, where: str) -> Any:
    from outlast.spec.yaml import YamlError, read_yaml

    try:
        document = read_yaml(text)
    except YamlError as error:
        hint = 'keys with brackets stand in quotes, `"[a,b]": [[1, 2]]`; what YAML is read is in docs/guides/configuration.md'
        raise UsageError(f"`{where}` {error}", hint=hint) from None
    _check_keys(document, where)
    return document


def _check_keys(document: Any, where: str) -> None:
    from outlast.spec.yaml_scalar import Unquoted

    for config in document if isinstance(document, list) else ():
        _check_keys(config, where)
    for key in document if isinstance(document, dict) else ():
        if isinstance(key, Unquoted):
            raise UsageError(
                f"`{where}` has a key `{key}`, which is no text to YAML", hint=f'`"{key}":` if a flag is called so'
            )


def _toml(text: str, where: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = _plain(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"`{where}` is not TOML: {error}", hint="see https://toml.io for the form") from error
    if list(document) == ["configs"] and isinstance(document["configs"], list):
        tables = document["configs"]
        if tables and all(isinstance(one, dict) for one in tables):
            return tables  # TOML has no list at its top: `[[configs]]` is how one is written
    return document


def _plain(value: Any) -> Any:
    """As JSON has it: dates are text."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value
