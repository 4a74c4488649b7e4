"""Which names are to be shipped, and which of those that are not should be told to the user."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from outlast.bundle.apart import Apart
from outlast.bundle.ignore import Ignore, Ignores
from outlast.bundle.listing import all_canonical
from outlast.bundle.rules import (
    CREDENTIAL,
    RULES_VERSION,
    UNPORTABLE,
    environments,
    in_environment,
    why_never,
)
from outlast.bundle.survey import NOT_CHECKED_OUT, Survey
from outlast.bundle.walk import BY_OUTLASTIGNORE, Walk, read_ignore_file
from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError

OUTLASTIGNORE = ".outlastignore"


@dataclass
class Selection:
    """Names below one root. They may be links, be gone, or be no files at all: nobody has looked yet."""

    root: bytes
    prefix: bytes
    """Under which the names stand in the bundle; empty, or ending in `/`."""

    names: list[bytes]
    dropped: list[tuple[bytes, str]] = field(default_factory=list)
    """(path, why) of what was left out by its name; a directory stands for all that is in it."""

    ours: Ignores = field(default_factory=lambda: Ignores([]))

    def digest(self) -> str:
        parts = [self.root, self.prefix, *self.names, b"", *(name + why.encode() for name, why in self.dropped)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def ignore_text(directory: Path) -> bytes:
    return read_ignore_file(os.fsencode(directory / OUTLASTIGNORE))


def select_surveyed(directory: Path, survey: Survey, text: bytes, apart: Sequence[Path]) -> Selection:
    """What git tracks plus untracked files that are not ignored, less `.outlastignore`, less what never travels."""
    selection = Selection(os.fsencode(directory), b"", [], ours=Ignores([Ignore(text)]))
    selection.dropped += [(name, NOT_CHECKED_OUT) for name in survey.missing]
    _choose(selection, survey.names(), Apart(directory, apart))
    return selection


def select_walked(directory: Path, text: bytes, apart: Sequence[Path], *, honour_gitignore: bool = True) -> Selection:
    """The same rules where git has nothing to say; `.gitignore` files count too."""
    selection = Selection(os.fsencode(directory), b"", [], ours=Ignores([Ignore(text)]))
    besides = Apart(directory, apart)
    walk = Walk(directory, selection.ours, honour_gitignore=honour_gitignore, apart=besides)
    selection.dropped += walk.skipped
    _choose(selection, walk.names, besides)
    return selection


def select_extra(path: Path, directory: Path, text: bytes, apart: Sequence[Path]) -> Selection:
    """What was asked for by name. Inside the directory it ships where it is, git's rules or not; outside, under its own name."""
    if not os.path.lexists(path):
        raise NotFound(f"there is no `{path}` to be shipped", hint="name a directory or a file that is there")
    inside = _inside(path, directory)
    if inside == b"":
        return Selection(os.fsencode(directory), b"", [])
    if path.is_dir():
        selection = select_walked(path, b"" if inside is None else text, apart, honour_gitignore=inside is None)
        base = inside if inside is not None else os.fsencode(path.name)
        if inside is None:
            selection.prefix = base + b"/"
            return selection
        selection.root = os.fsencode(directory)
        selection.names = [base + b"/" + name for name in selection.names]
        selection.dropped = [(base + b"/" + name, why) for name, why in selection.dropped]
        return selection
    root, name = (
        (os.fsencode(directory), inside) if inside is not None else (os.fsencode(path.parent), os.fsencode(path.name))
    )
    selection = Selection(root, b"", [])
    _choose(selection, [name], Apart(root, apart))
    return selection


def rules_digest(text: bytes, apart: Apart) -> str:
    return hashlib.sha256(b"%d\0%s\0%s" % (RULES_VERSION, text, b"\0".join(apart.names))).hexdigest()


def _choose(selection: Selection, names: Sequence[bytes], apart: Apart) -> None:
    roots = environments(names)
    told: dict[bytes, str] = {}
    for name in names:
        why = why_never(name)
        if why:
            if why in (CREDENTIAL, UNPORTABLE):
                told[name] = why
        elif (roots and in_environment(name, roots)) or (apart.names and name in apart):
            continue
        elif selection.ours.files and selection.ours.leaves_out(name):
            told[selection.ours.left_out_parent(name) or name] = BY_OUTLASTIGNORE
        else:
            selection.names.append(name)
    if not all_canonical(selection.names):
        odd = next(name for name in selection.names if not all_canonical([name]))
        raise UsageError(f"{odd[:80]!r} cannot be shipped: it is no path inside the directory", hint="rename it")
    selection.dropped += sorted(told.items())


def _inside(path: Path, directory: Path) -> bytes | None:
    try:
        relative = path.relative_to(directory)
    except ValueError:
        return None
    return b"" if relative == Path() else os.fsencode(relative)
