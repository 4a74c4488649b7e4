"""The file in which a project or a user keeps settings: `outlast.toml`, or `[tool.outlast]` of `pyproject.toml`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Denied, UsageError
from outlast.spec.plain_file import read_plain

FILE_BYTES_MAX = 1 << 20
LEVELS_MAX = 64


@dataclass(frozen=True)
class SettingsFile:
    path: Path
    content: bytes
    values: Mapping[str, Any]
    table: str = ""
    """Where in the file, for people: `[tool.outlast]`, or nothing for the whole file."""

    @property
    def source(self) -> str:
        return f"{self.table} of {self.path}" if self.table else str(self.path)


def find_project_file(directory: Path) -> SettingsFile | None:
    """The nearest one upward, inside the repository; outside of a repository, in the directory itself alone."""
    for level in _levels(directory.absolute()):
        own = read_settings_file(level / "outlast.toml")
        if own is not None:
            return own
        shared = _tool_table(level / "pyproject.toml")
        if shared is not None:
            return shared
    return None


def read_settings_file(path: Path) -> SettingsFile | None:
    content = _content(path)
    return None if content is None else SettingsFile(path, content, _parse(path, content))


def _levels(directory: Path) -> Iterator[Path]:
    chain = [directory, *directory.parents][:LEVELS_MAX]
    top = next((i for i, level in enumerate(chain) if os.path.lexists(level / ".git")), 0)
    yield from chain[: top + 1]


def _tool_table(path: Path) -> SettingsFile | None:
    content = _content(path)
    if content is None or b"outlast" not in content:
        return None  # without our name it is not worth a parser
    tool = _parse(path, content).get("tool")
    table = tool.get("outlast") if isinstance(tool, dict) else None
    return SettingsFile(path, content, table, "[tool.outlast]") if isinstance(table, dict) else None


def parse_settings(path: Path, content: bytes, table: str = "") -> Mapping[str, Any]:
    """What a settings file with this content would say; `table` as in `SettingsFile`."""
    document = _parse(path, content)
    if not table:
        return document
    tool = document.get("tool")
    found = tool.get("outlast") if isinstance(tool, dict) else None
    return found if isinstance(found, dict) else {}


def _content(path: Path) -> bytes | None:
    try:
        return read_plain(path, FILE_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise UsageError(
                f"`{path}` is above {FILE_BYTES_MAX:,} bytes, no settings are", hint="remove what is no setting"
            ) from error
        raise Denied(f"`{path}` cannot be read: {error.strerror}", hint=f"`ls -l {path}`") from error


def _parse(path: Path, content: bytes) -> dict[str, Any]:
    """Imports the parser here: most commands meet no file, and it costs a tenth of their time."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"`{path}` is not TOML: {error}", hint="see https://toml.io for the form") from error
    return document
