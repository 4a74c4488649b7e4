"""Contents into packs, then the listing into the home: for what has changed alone where that is enough, else for all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from outlast.bundle.contents import Contents
from outlast.bundle.crew import read_rows
from outlast.bundle.listing import Place, digest_of
from outlast.bundle.memory import HomeState, Memory
from outlast.bundle.publish import few, publish_changes, publish_whole, serves
from outlast.bundle.reading import LEAVE_OUT, Content, chunks_of, read_content
from outlast.bundle.report import LeftOut
from outlast.bundle.rules import CREDENTIAL, looks_like_key
from outlast.bundle.see import Seen
from outlast.bundle.tree import UNTRUSTED, Tree, lasting, mode_of
from outlast.errors import OutlastError, UsageError
from outlast.store.store import Store

PACKS_OF_CHANGES_MAX = 32
TIDIED_BYTES_MAX = 256 << 10
"""Changes whose contents lie in more packs have some of them, up to so many bytes, put together: unpacking reads every pack."""


def ship_changes(seen: Seen, store: Store, contents: Contents, memory: Memory) -> tuple[str, HomeState | None]:
    """The digest of the listing, which is in the home. Only the contents of known files have changed, and the state serves.

    What has not changed is in the home, so nothing need be known of it but its row.
    """
    assert seen.before is not None and seen.before.state is not None
    state = seen.before.state
    tree = seen.tree.complete()
    contents.take(_places_of_changes(tree, state), state.packs)
    before = {row: tree.file(row) for row in seen.unread}
    marks = {row: tree.marks[row] for row in seen.unread}
    _read(seen, sorted(seen.unread), contents, memory.begun_ns, here=True)
    changed = {file.path for row, file in before.items() if tree.file(row) != file or row in seen.refused}
    _drop_refused(seen)
    if not changed:
        seen.as_before = all(tree.marks[row] == one for row, one in marks.items())
        return seen.before.digest, state
    _find(tree, changed, contents)
    _note(state, tree, contents, changed)
    if not few(state, len(tree.paths)):
        seen.unread.clear()
        return ship_all(seen, store, contents, memory)
    _tidy(tree, state, contents)
    digest = digest_of(tree.rows())
    contents.uploaded_bytes += publish_changes(store, contents, tree, digest, state)
    return digest, state


def ship_all(seen: Seen, store: Store, contents: Contents, memory: Memory) -> tuple[str, HomeState | None]:
    """The same, whatever has changed and whatever the home has."""
    before = seen.before.tree.complete().files() if seen.before is not None else {}
    state = seen.before.state if seen.before is not None else None
    tree = seen.tree.complete()
    contents.recall()
    if state is not None and state.url == store.url:
        contents.take(_places_of_changes(tree, state), state.packs)
    if not contents.places:
        contents.learn()
    unread = [
        row
        for row, (size, sha256) in enumerate(zip(tree.sizes, tree.sha256s, strict=True))
        if row in seen.unread or (size and not contents.has(sha256))
    ]
    _read(seen, unread, contents, memory.begun_ns)
    _drop_refused(seen)
    digest = digest_of(tree.rows())
    memory.keep_places(store.url, contents.places, contents.sizes_of(place.pack for place in contents.places.values()))
    if state is not None and state.url == store.url:
        after = tree.files()
        _note(
            state,
            tree,
            contents,
            {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)},
        )
        if serves(store, contents, state, len(tree.paths)):
            contents.uploaded_bytes += publish_changes(store, contents, tree, digest, state)
            return digest, state
    whole, written_bytes = publish_whole(store, contents, tree, digest)
    contents.uploaded_bytes += written_bytes
    return digest, whole


def _read(seen: Seen, rows: Sequence[int], contents: Contents, begun_ns: int, *, here: bool = False) -> None:
    """Each file is read once, on its way into a pack if the home has not got its content. `here`: the rows' old ones are there."""
    tree = seen.tree
    total, done = sum(tree.sizes[row] for row in rows), 0
    for row, content in read_rows(tree, rows):
        done += content.bytes
        contents.on_progress("packing", done, max(done, total))
        if content.data is not None and looks_like_key(content.data):
            seen.refused.append(row)
            continue
        known = here and content.sha256 == tree.sha256s[row]
        tree.sizes[row], tree.sha256s[row] = content.bytes, content.sha256
        tree.modes[row] = mode_of(content.marks[4])
        tree.marks[row] = lasting(content.marks, begun_ns) if content.settled else UNTRUSTED
        if content.bytes and not known and not contents.has(content.sha256):
            _add(contents, content, tree.sources[row], tree.paths[row])
    contents.flush()


def _find(tree: Tree, paths: Iterable[bytes], contents: Contents) -> None:
    """A file whose mode alone has changed has a content that is in the home, and nobody may remember where: it is added again."""
    for path in paths:
        row = tree.row_of(path)
        if row is not None and tree.sizes[row] and not contents.has(tree.sha256s[row]):
            content = read_content(tree.sources[row], path)
            if content.sha256 != tree.sha256s[row]:
                raise OutlastError(f"`{os.fsdecode(path)}` changed while it was read", hint=LEAVE_OUT)
            _add(contents, content, tree.sources[row], path)
    contents.flush()


def _add(contents: Contents, content: Content, source: bytes, name: bytes) -> None:
    if content.data is not None:
        contents.add(content.sha256, content.data)
    else:
        contents.add_large(content.sha256, content.bytes, chunks_of(source, name, content))


def _drop_refused(seen: Seen) -> None:
    tree = seen.tree
    seen.left_out += [LeftOut(os.fsdecode(tree.paths[row]), tree.sizes[row], CREDENTIAL) for row in seen.refused]
    tree.drop(seen.refused)
    if seen.refused and not tree.paths:
        raise nothing_to_ship(seen.directory)


def nothing_to_ship(directory: Path) -> UsageError:
    return UsageError(
        f"there is nothing to ship in `{directory}`",
        hint="stand in the project's directory; ignored files do not count",
    )


def _note(state: HomeState, tree: Tree, contents: Contents, changed: Iterable[bytes]) -> None:
    for path in changed:
        row = tree.row_of(path)
        state.changes[path] = None if row is None else contents.places.get(tree.sha256s[row])


def _places_of_changes(tree: Tree, state: HomeState) -> dict[str, Place]:
    rows = ((tree.row_of(path), place) for path, place in state.changes.items())
    return {tree.sha256s[row]: place for row, place in rows if row is not None and place is not None}


def _tidy(tree: Tree, state: HomeState, contents: Contents) -> None:
    used: Counter[str] = Counter()
    for path, place in state.changes.items():
        row = tree.row_of(path)
        if place is not None and row is not None:
            used[place.pack] += tree.sizes[row]
    if len(used) <= PACKS_OF_CHANGES_MAX:
        return
    left_bytes = TIDIED_BYTES_MAX
    small = set()
    for pack, size in sorted(used.items(), key=lambda one: one[1]):
        left_bytes -= size
        if left_bytes >= 0:
            small.add(pack)
    moved = [path for path, place in state.changes.items() if place is not None and place.pack in small]
    for path in moved:
        row = tree.row_of(path)
        content = read_content(tree.sources[row], path) if row is not None else None
        if row is not None and content is not None and content.data and content.sha256 == tree.sha256s[row]:
            contents.add(content.sha256, content.data)
    contents.flush()
    _note(state, tree, contents, moved)
