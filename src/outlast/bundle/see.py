"""What a working directory holds now, with as little looking as is safe.

Git says only which names count; whether a content has changed is told by the files' own times, sizes and inodes. So flags in
git's index and filters on its contents cannot make us ship anything else than what lies in the working directory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path

from outlast.bundle.apart import Apart
from outlast.bundle.git import Dirty, Question
from outlast.bundle.look import look
from outlast.bundle.memory import Kept, Memory, tree_name
from outlast.bundle.report import IGNORED_WORDS, LeftOut, large
from outlast.bundle.rules import CREDENTIAL, UNPORTABLE
from outlast.bundle.select import (
    Selection,
    ignore_text,
    rules_digest,
    select_extra,
    select_surveyed,
    select_walked,
)
from outlast.bundle.survey import NOT_CHECKED_OUT, Survey, Surveyor
from outlast.bundle.tree import Tree
from outlast.dataclass import dataclass

REPORT_SECONDS_MAX = 600.0
"""How long a report of what is large and left out is repeated while no name changes."""


@dataclass
class Seen:
    directory: Path
    name: str
    """Under which it is remembered."""

    key: str
    tree: Tree
    unread: set[int]
    """The rows whose content is not known."""

    survey: Survey | None
    before: Kept | None
    reported_at: float
    left_out: list[LeftOut]
    fresh: Fresh | None = None
    """All names were looked at anew."""

    refused: list[int] = field(default_factory=list)
    as_before: bool = False
    """Set where all was read again and nothing was new, not even what is worth remembering."""

    @property
    def commit(self) -> str:
        return self.survey.commit if self.survey is not None else ""


@dataclass
class Fresh:
    """What git is still being asked when names were looked at anew."""

    dropped: list[tuple[bytes, str]]
    ignored: Question | None = None
    dirty: Dirty | None = None

    def large(self, directory: Path) -> list[LeftOut]:
        return large(directory, self.dropped, self.ignored.answer() if self.ignored is not None else b"")


def see(
    directory: Path,
    extra: Sequence[Path],
    apart: Sequence[Path],
    memory: Memory,
    now: float,
    closing: ExitStack,
    *,
    plain: bool = False,
) -> Seen:
    """`plain`: the directory is a commit's, and all that is in it counts, whatever ignore files of git's say."""
    name = tree_name([directory, *extra])
    text = ignore_text(directory)
    with Surveyor(directory, ask=not plain) as surveyor:
        before = memory.recall(name)
        changed = before.tree.glance() if before is not None else None
        survey = surveyor.finish()
    selections = [select_extra(path, directory, text, apart) for path in extra]
    if survey is None:
        selections.append(select_walked(directory, text, apart, honour_gitignore=not plain))
    key = _key(survey, selections, rules_digest(text, Apart(directory, apart)))
    if before is not None and before.key == key and changed is not None and _recent(before, now):
        left_out = [LeftOut(*one) for one in before.left_out]
        return Seen(directory, name, key, before.tree, set(changed), survey, before, before.reported_at, left_out)
    fresh = Fresh([])
    if survey is not None:
        fresh.ignored = closing.enter_context(Question(survey.program, directory, *IGNORED_WORDS))
        fresh.dirty = Dirty(survey.program, directory)
        closing.callback(fresh.dirty.close)
        selections.append(select_surveyed(directory, survey, text, apart))
        fresh.dirty.go_on()
    fresh.dropped += [one for selection in selections if not selection.prefix for one in selection.dropped]
    tree, left_out = _look(selections, before)
    unread = {row for row, sha256 in enumerate(tree.sha256s) if not sha256}
    return Seen(directory, name, key, tree, unread, survey, before, now, left_out, fresh)


def _look(selections: Sequence[Selection], before: Kept | None) -> tuple[Tree, list[LeftOut]]:
    looked = look(selections)
    known = {}
    if before is not None:
        before.tree.complete()
        columns = zip(before.tree.sources, before.tree.marks, before.tree.sha256s, strict=True)
        known = {source: (marks, sha256) for source, marks, sha256 in columns}
    said = [
        (selection.root, selection.prefix, path, why)
        for selection in selections
        for path, why in selection.dropped
        if why in (CREDENTIAL, UNPORTABLE, NOT_CHECKED_OUT)
    ]
    left_out = [LeftOut(os.fsdecode(prefix + path), _size(root + b"/" + path), why) for root, prefix, path, why in said]
    left_out += [LeftOut(os.fsdecode(path), 0, why) for path, why in looked.left_out]
    return looked.tree(known), left_out


def _key(survey: Survey | None, selections: Sequence[Selection], rules: str) -> str:
    parts = [rules, survey.digest() if survey is not None else "", *(selection.digest() for selection in selections)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _recent(before: Kept, now: float) -> bool:
    return 0 <= now - before.reported_at < REPORT_SECONDS_MAX


def _size(path: bytes) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
