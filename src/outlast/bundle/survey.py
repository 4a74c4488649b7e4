"""What git names in a directory, and in the repositories that lie within it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from outlast.bundle.git import Question, commit_of, git_program, git_top
from outlast.dataclass import dataclass
from outlast.pattern import pattern

NESTED_MAX = 1000
DEPTH_MAX = 8

NAMES = ("ls-files", "-t", "--stage", "--others", "--exclude-standard", "-z")
"""`? name` for each untracked file, `<letter> <mode> <hash> <stage>\\t<name>` for each tracked one."""

NOT_CHECKED_OUT = "a submodule that is not checked out"

_NESTED = pattern(rb"(?:^|\0)(?:[A-Z] 160000 [0-9a-f]+ [0-3]\t([^\0]+)|\? ([^\0]+)/)(?=\0)")


@dataclass
class Part:
    """One repository: git's own words, which are only taken apart when they differ from the last time."""

    base: bytes
    words: bytes

    @property
    def has_untracked(self) -> bool:
        """Git names them first."""
        return self.words.startswith(b"? ")

    def names(self) -> Iterator[bytes]:
        for line in self.words.split(b"\0"):
            if line.startswith(b"? "):
                if not line.endswith(b"/"):
                    yield self.base + line[2:]
            elif line and line[2:9] != b"160000 ":
                yield self.base + line[line.index(b"\t") + 1 :]

    def nested(self) -> list[bytes]:
        """Submodules, and repositories that somebody has cloned into this one."""
        if b" 160000 " not in self.words and b"/\0" not in self.words:
            return []
        return list(dict.fromkeys(submodule or cloned for submodule, cloned in _NESTED.findall(self.words)))


@dataclass
class Survey:
    program: str
    commit: str = ""
    parts: list[Part] = field(default_factory=list)
    missing: list[bytes] = field(default_factory=list)

    @property
    def has_untracked(self) -> bool:
        return any(part.has_untracked for part in self.parts)

    def names(self) -> list[bytes]:
        return sorted({name for part in self.parts for name in part.names()})

    def digest(self) -> str:
        words = hashlib.sha256()
        for part in self.parts:
            words.update(b"%s\0%d\0" % (part.base, len(part.words)))
            words.update(part.words)
        return words.hexdigest()


class Surveyor:
    """Asks at once and listens later, so that we can look at files meanwhile."""

    def __init__(self, directory: Path, *, ask: bool = True) -> None:
        """Without `ask` git has nothing to say, whatever lies around the directory."""
        self._directory = directory
        self._top = git_top(directory) if ask else None
        self._program = git_program() if self._top is not None else None
        self._names = Question(self._program, directory, *NAMES) if self._program is not None else None

    def __enter__(self) -> Surveyor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._names is not None:
            self._names.close()

    def finish(self) -> Survey | None:
        """None where git has nothing to say: no repository, no git, or a directory that the repository around it ignores."""
        if self._names is None or self._program is None or self._top is None:
            return None
        found = Survey(self._program, commit_of(self._program, self._top))
        _add(found, self._directory, Part(b"", self._names.answer()), 0)
        if not any(part.words for part in found.parts):
            with Question(self._program, self._directory, "check-ignore", "--quiet", ".") as ignored:
                if ignored.exit_code() == 0:
                    return None
        return found


def survey(directory: Path) -> Survey | None:
    with Surveyor(directory) as surveyor:
        return surveyor.finish()


def _add(found: Survey, directory: Path, part: Part, depth: int) -> None:
    found.parts.append(part)
    for name in part.nested():
        below = directory / os.fsdecode(name)
        if not os.path.lexists(below / ".git") or below.is_symlink():
            found.missing.append(part.base + name)
        elif depth < DEPTH_MAX and len(found.parts) < NESTED_MAX:
            with Question(found.program, below, *NAMES) as names:
                nested = Part(part.base + name + b"/", names.answer())
            _add(found, below, nested, depth + 1)
