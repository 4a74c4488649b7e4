"""Looking at selected names: which are files, what to do about links, what is none of both."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field

from outlast.bundle.listing import directories_of
from outlast.bundle.rules import environments, in_environment, why_never
from outlast.bundle.select import Selection
from outlast.bundle.tree import Tree, Watch, kind_of, marks_of, mode_of, watch
from outlast.dataclass import dataclass
from outlast.errors import UsageError

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
LINK_OUTSIDE = "a link to outside of the bundle"
LINK_TO_NOTHING = "a link to nothing"
LINK_AROUND = "a link to a directory around it"
LINK_TO_LEFT_OUT = "a link to what is left out"


@dataclass
class Looked:
    rows: dict[bytes, tuple[bytes, os.stat_result]] = field(default_factory=dict)
    """Path in the bundle -> where the content is, and its status."""

    directories: set[bytes] = field(default_factory=set)
    watches: list[Watch] = field(default_factory=list)
    left_out: list[tuple[bytes, str]] = field(default_factory=list)

    def tree(self, known: Mapping[bytes, tuple[tuple[int, ...], str]]) -> Tree:
        """With the sha256s that are known by source and marks."""
        tree = Tree(directories=sorted(self.directories), watches=self.watches)
        for path, (source, status) in sorted(self.rows.items()):
            marks = marks_of(status)
            remembered, sha256 = known.get(source, ((), ""))
            tree.paths.append(path)
            tree.sources.append(source)
            tree.marks.append(marks)
            tree.sizes.append(status.st_size)
            tree.modes.append(mode_of(status.st_mode))
            tree.sha256s.append(sha256 if remembered == marks else "")
        return tree


def look(selections: Iterable[Selection]) -> Looked:
    looked = Looked()
    for selection in selections:
        _look(looked, selection)
    return looked


def _look(looked: Looked, selection: Selection) -> None:
    root = selection.root.rstrip(b"/") + b"/"
    hidden = _hidden(looked, root, selection.names)
    links = []
    rows, prefix = looked.rows, selection.prefix
    for name in selection.names:
        if hidden and any(parent in hidden for parent in directories_of([name])):
            continue
        source = root + name
        try:
            status = os.lstat(source)
        except OSError:
            looked.watches.append(watch(source))
            continue
        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFREG:
            path = prefix + name
            if path in rows:
                _add(looked, path, source, status)
            rows[path] = (source, status)
            continue
        looked.watches.append(watch(source))
        if kind == stat.S_IFLNK:
            links.append(name)
        elif kind in KINDS:
            looked.left_out.append((selection.prefix + name, KINDS[kind]))
    _follow(looked, selection, links)


def _hidden(looked: Looked, root: bytes, names: Iterable[bytes]) -> set[bytes]:
    """Directories of git's that are something else now, a link perhaps: what lies behind them is not what was named."""
    hidden = set()
    for directory in directories_of(names):
        if kind_of(root + directory) == stat.S_IFDIR:
            looked.directories.add(root + directory)
        else:
            hidden.add(directory)
            looked.watches.append(watch(root + directory))
    return hidden


def _follow(looked: Looked, selection: Selection, links: list[bytes]) -> None:
    """Links to files first, so that a linked directory has them too. A link inside of a linked directory is not followed again."""
    real_root = os.path.realpath(selection.root).rstrip(b"/") + b"/"
    roots = environments(selection.names)
    to_directories = []
    for name in links:
        real = os.path.realpath(selection.root.rstrip(b"/") + b"/" + name)
        inside = real[len(real_root) :] if real.startswith(real_root) else None
        kind = kind_of(real)
        if inside is None:
            looked.left_out.append((selection.prefix + name, LINK_OUTSIDE if real + b"/" != real_root else LINK_AROUND))
        elif kind not in (stat.S_IFREG, stat.S_IFDIR):
            looked.left_out.append((selection.prefix + name, LINK_TO_NOTHING))
        elif why_never(inside) or in_environment(inside, roots) or selection.ours.leaves_out(inside):
            looked.left_out.append((selection.prefix + name, LINK_TO_LEFT_OUT))
        elif kind == stat.S_IFREG:
            _add(looked, selection.prefix + name, real, os.lstat(real))
        elif name.startswith(inside + b"/"):
            looked.left_out.append((selection.prefix + name, LINK_AROUND))
        else:
            to_directories.append((name, inside + b"/"))
    copies = []
    for name, inside in to_directories:
        base = selection.prefix + inside
        found = [(path, row) for path, row in looked.rows.items() if path.startswith(base)]
        copies += [(selection.prefix + name + b"/" + path[len(base) :], row) for path, row in found]
        if not found:
            looked.left_out.append((selection.prefix + name, LINK_TO_LEFT_OUT))
    for path, (source, status) in copies:
        _add(looked, path, source, status)


def _add(looked: Looked, path: bytes, source: bytes, status: os.stat_result) -> None:
    there = looked.rows.setdefault(path, (source, status))
    if there[0] != source:
        names = f"`{os.fsdecode(there[0])}` and `{os.fsdecode(source)}`"
        raise UsageError(
            f"{names} would both be `{os.fsdecode(path)}` in the bundle", hint="rename one of them, or leave one out"
        )
