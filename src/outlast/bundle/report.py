"""What was left out and should be said: credentials, odd files, what is large, what the script names."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from outlast.bundle.rules import why_never
from outlast.bundle.walk import BY_GITIGNORE, BY_OUTLASTIGNORE
from outlast.dataclass import dataclass
from outlast.pattern import pattern
from outlast.spec.spec import Target, TargetKind

LARGE_BYTES = 10_000_000
HEAVY_BYTES = 200_000_000
"""Of a bundle that is larger, the largest files are named: data that lies beside the code is seldom meant to travel with it."""

HEAVIEST_MAX = 3
ENTRIES_MEASURED_MAX = 20_000
"""How many files are looked at to tell how large a directory is; beyond, it is at least so large."""

SCRIPT_BYTES_MAX = 1 << 20
MENTIONS_MAX = 2000
PATH_LENGTH_MAX = 1000
REPORTED_MAX = 200

BY_GIT = "ignored by git"

_QUOTED = pattern(r"""["']([^"'\n\\]{1,200})["']""")
_IMPORTED = pattern(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", re.MULTILINE)


@dataclass(frozen=True)
class LeftOut:
    path: str
    """May hold bytes that are no text, as surrogates, and control characters: clean it before it is printed."""

    bytes: int
    """Of a directory with very many files: at least so many."""

    why: str


IGNORED_WORDS = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
"""What git ignores, a directory as one."""


def large(directory: Path, dropped: Iterable[tuple[bytes, str]], ignored: bytes) -> list[LeftOut]:
    """What ignore files have left out, if there is much of it. `ignored` is git's answer to `IGNORED_WORDS`."""
    candidates = [(path, why) for path, why in dropped if why in (BY_GITIGNORE, BY_OUTLASTIGNORE)]
    candidates += [(name.rstrip(b"/"), BY_GIT) for name in ignored.split(b"\0") if name and not why_never(name)]
    budget = [ENTRIES_MEASURED_MAX]
    found = []
    for path, why in candidates:
        source = os.fsencode(directory) + b"/" + path
        size = _measure(source, budget) if not _is_environment(source) else 0
        if size > LARGE_BYTES:
            found.append(LeftOut(os.fsdecode(path), size, f"{why}, large"))
    return found


def heaviest(paths: Sequence[bytes], sizes: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """The largest files of a heavy bundle, each with its size."""
    rows = sorted(zip(sizes, paths, strict=True), reverse=True)[:HEAVIEST_MAX]
    return tuple((os.fsdecode(path), size) for size, path in rows if size > LARGE_BYTES)


def named_by(directory: Path, target: Target, shipped: Collection[bytes]) -> list[LeftOut]:
    """What the target's own text names, is there, and is not shipped."""
    script = script_of(target)
    try:
        with (directory / script).open("rb") as file:
            text = file.read(SCRIPT_BYTES_MAX).decode(errors="replace")
    except OSError:
        return []
    parents = {os.path.dirname(script), ""}
    found: dict[str, LeftOut] = {}
    for words, name in _mentions(text):
        for parent in parents:
            path = os.path.normpath(os.path.join(parent, name))
            size = _missing_bytes(directory, path, shipped)
            if size is not None:
                found.setdefault(path, LeftOut(path, size, f"left out, but `{script}` {words} it"))
    return list(found.values())


def named_by_args(directory: Path, args: Sequence[str], shipped: Collection[bytes]) -> list[LeftOut]:
    """What the script's arguments name, is there, and will not be where the script runs."""
    found: dict[str, LeftOut] = {}
    for arg in args[:MENTIONS_MAX]:
        for word in {arg, arg.partition("=")[2]}:
            if not word or word.startswith("-") or os.path.isabs(word) or "\0" in word or len(word) > PATH_LENGTH_MAX:
                continue
            path = os.path.normpath(word)
            if path.startswith("../"):
                size = _bytes_outside(directory, path)
                why = f"outside of `{directory.name}`, and the arguments name it; `--dataset` takes it along"
            else:
                size = _missing_bytes(directory, path, shipped)
                why = "the arguments name it; `--dataset` takes it along"
            if size is not None:
                found.setdefault(path, LeftOut(path, size, why))
    return list(found.values())


def script_of(target: Target) -> str:
    """The file in which the target begins, as it stands in the bundle."""
    if target.kind is not TargetKind.MODULE:
        return target.value
    return target.value.replace(".", "/") + ".py"


def is_shipped(target: Target, shipped: Collection[bytes]) -> bool:
    names = [script_of(target)]
    if target.kind is TargetKind.MODULE:
        names.append(target.value.replace(".", "/") + "/__main__.py")
    return any(os.fsencode(name) in shipped for name in names)


def _mentions(text: str) -> Iterator[tuple[str, str]]:
    quoted = (("names", name) for name in _QUOTED.findall(text))
    imported = (("imports", name.split(".")[0]) for name in _IMPORTED.findall(text))
    seen: set[str] = set()
    for words, name in (*quoted, *imported):
        if name not in seen and len(seen) < MENTIONS_MAX and not os.path.isabs(name) and "\0" not in name:
            seen.add(name)
            yield words, name
            if words == "imports":
                yield words, name + ".py"


def _missing_bytes(directory: Path, path: str, shipped: Collection[bytes]) -> int | None:
    """The size of what is there and not shipped; None if it is shipped, or there is no such thing."""
    name = os.fsencode(path)
    if path in (".", "..") or path.startswith("../") or name in shipped:
        return None
    source = os.fsencode(directory) + b"/" + name
    try:
        kind = stat.S_IFMT(os.stat(source).st_mode)
    except (OSError, ValueError):
        return None
    if kind == stat.S_IFDIR:
        below = name + b"/"
        if any(one.startswith(below) for one in shipped) or why_never(below):
            return None
        size = _measure(source, [ENTRIES_MEASURED_MAX])
        return size or None
    return os.stat(source).st_size if kind == stat.S_IFREG else None


def _bytes_outside(directory: Path, path: str) -> int | None:
    source = os.fsencode(directory) + b"/" + os.fsencode(path)
    return _measure(source, [ENTRIES_MEASURED_MAX]) if os.path.lexists(source) else None


def _is_environment(path: bytes) -> bool:
    return os.path.lexists(path + b"/pyvenv.cfg") or os.path.lexists(path + b"/conda-meta")


def _measure(path: bytes, budget: list[int]) -> int:
    budget[0] -= 1
    try:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size if stat.S_ISREG(status.st_mode) else 0
        total_bytes = 0
        with os.scandir(path) as entries:
            for entry in entries:
                if budget[0] <= 0:
                    break
                total_bytes += _measure(entry.path, budget)
        return total_bytes
    except OSError:
        return 0
