"""`outlast.toml`, written by `outlast init`: four lines are set or taken out, and everything else of the file stays as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from outlast.errors import Denied, UsageError
from outlast.jobs.init_step import Setup, Step
from outlast.pattern import pattern
from outlast.spec.project import SettingsFile, find_project_file, parse_settings
from outlast.spec.trust import trust

FILE = "outlast.toml"
_HEADER = pattern(r"\s*\[")


def values_of(setup: Setup) -> dict[str, str]:
    return {"project": setup.project, "region": setup.region, "bucket": setup.bucket}


def file_step(setup: Setup, directory: Path, user_dir: Path) -> Step:
    """The project's file, wherever above it is found; a new one here if there is none. Its maker trusts it."""
    wanted = values_of(setup)

    def file() -> SettingsFile | None:
        return find_project_file(directory)

    def is_there() -> bool:
        found = file()
        return found is not None and all(found.values.get(name) == value for name, value in wanted.items())

    def make() -> None:
        found = file()
        path = found.path if found is not None else directory / FILE
        text = found.content.decode() if found is not None else ""
        _write(path, changed(text, wanted, path, found.table if found else ""))
        trust(path, user_dir)

    def undo() -> str:
        found = file()
        own = [name for name, value in wanted.items() if found is not None and found.values.get(name) == value]
        if found is None or not own:
            return ""
        text = changed(found.content.decode(), dict.fromkeys(own), found.path, found.table)
        if not text.strip() and found.path.name == FILE:
            found.path.unlink()
            return f"`{found.path}` was deleted"
        _write(found.path, text)
        return f"{', '.join(f'`{name}`' for name in own)} were taken out of `{found.path}`"

    listed = ", ".join(f'{name} = "{value}"' for name, value in wanted.items())
    return Step(
        "file",
        f"`{FILE}` says {listed}",
        is_there,
        make,
        undo=undo,
        undone=f"what it says of that is taken out of `{FILE}`",
    )


def changed(text: str, values: Mapping[str, str | None], path: Path, table: str) -> str:
    """The file's text with these settings, None: without that one. Checked by reading it again."""
    lines = text.splitlines(keepends=True)
    begin, end = _section(lines, table)
    section = [line for line in lines[begin:end] if _name(line) not in values]
    added = [f'{name} = "{value}"\n' for name, value in values.items() if value is not None]
    if section and not section[0].endswith("\n"):
        section[0] += "\n"
    new = "".join([*lines[:begin], *added, *section, *lines[end:]])
    before = parse_settings(path, text.encode(), table)
    wanted = {**{_normal(name): value for name, value in before.items()}, **values}
    try:
        found = {_normal(name): value for name, value in parse_settings(path, new.encode(), table).items()}
    except UsageError:
        found = {}
    if found != {name: value for name, value in wanted.items() if value is not None}:
        raise UsageError(
            f"`{path}` is written in a way that outlast does not change",
            state="the file is as it was; everything else is made",
            hint=f"write there: {', '.join(line.strip() for line in added)}",
        )
    return new


def _section(lines: list[str], table: str) -> tuple[int, int]:
    """Where the settings stand: before the first table, or inside ours."""
    begin = 0
    if table:
        begin = next((at + 1 for at, line in enumerate(lines) if line.strip().startswith(table)), len(lines))
    end = next((at for at in range(begin, len(lines)) if _HEADER.match(lines[at])), len(lines))
    return begin, end


def _name(line: str) -> str:
    return _normal(line.partition("=")[0].strip().strip("\"'")) if "=" in line else ""


def _normal(name: str) -> str:
    return name.replace("_", "-")


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        temporary.write_text(text)
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except OSError as error:
        raise Denied(f"`{path}` cannot be written: {error.strerror}", hint=f"`ls -ld {path.parent}`") from error
