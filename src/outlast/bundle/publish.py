"""Putting a listing into the home: whole, or as changes to one that is there already."""

from __future__ import annotations

from outlast.bundle.contents import Contents
from outlast.bundle.memory import HomeState
from outlast.bundle.record import encode_changes, encode_whole, read_bundle, read_parent
from outlast.bundle.tree import Tree
from outlast.errors import Damaged, PreconditionFailed
from outlast.folder import layout
from outlast.store.store import Entry, Store

CHANGES_MIN = 100
CHANGED_PART_MAX = 4
"""Changes are written as such up to a quarter of all files, and always up to a hundred; beyond, a whole listing is the better base."""


def find_record(store: Store, contents: Contents, digest: str) -> Entry | None:
    """What a prune has condemned is not there."""
    entry = _entry(store, digest)
    return None if entry is None or contents.prunes.condemns(entry) else entry


def _entry(store: Store, digest: str) -> Entry | None:
    key = layout.bundle(digest)
    return next((entry for entry in store.list(key, limit=1) if entry.key == key), None)


def publish_whole(store: Store, contents: Contents, tree: Tree, digest: str) -> tuple[HomeState | None, int]:
    """The listing is in the home, and all that it names; answers the bytes written. Its contents are there already.

    No state: somebody else has written the same listing as changes to another one, and nothing can be written as changes to that.
    """
    files = tree.files()
    packs = contents.packs_of(files.values())
    written_bytes = _put(store, contents, digest, encode_whole(files, contents.places))
    if not written_bytes and not _is_written_whole(store, digest):
        return None, 0
    return HomeState(store.url, digest, packs, {}, packs, contents.prunes.number), written_bytes


def _is_written_whole(store: Store, digest: str) -> bool:
    try:
        return not read_parent(store, digest)
    except Damaged:
        return False  # a prune has removed it since: whoever submits finds out when its spec is there


def publish_changes(store: Store, contents: Contents, tree: Tree, digest: str, state: HomeState) -> int:
    """The same, as changes to the state's base. The state must serve."""
    rows = {path: tree.row_of(path) for path in sorted(state.changes)}
    files = [tree.file(row) for row in rows.values() if row is not None]
    places = {file.sha256: place for file in files if (place := state.changes[file.path]) is not None}
    removed = [path for path, row in rows.items() if row is None]
    state.packs = {**state.base_packs, **contents.sizes_of(place.pack for place in places.values())}
    return _put(store, contents, digest, encode_changes(state.base, files, removed, places))


def serves(store: Store, contents: Contents, state: HomeState | None, files: int) -> bool:
    """Whether changes to the state's base can be written: it is this home's, it is there with all packs, and they are few."""
    if state is None or state.url != store.url or state.prune != contents.prunes.number or not few(state, files):
        return False
    return contents.has_packs(state.packs) and find_record(store, contents, state.base) is not None


def few(state: HomeState, files: int) -> bool:
    return len(state.changes) <= max(CHANGES_MIN, files // CHANGED_PART_MAX)


def _put(store: Store, contents: Contents, digest: str, data: bytes) -> int:
    """Whoever else writes the same listing at this moment: what is there in the end is whole, and not condemned."""
    while True:
        there = _entry(store, digest)
        if there is not None and not contents.prunes.condemns(there) and _is_whole(store, contents, digest):
            return 0
        try:
            store.put(layout.bundle(digest), data, if_generation=there.generation if there is not None else 0)
        except PreconditionFailed:
            continue
        return len(data)


def _is_whole(store: Store, contents: Contents, digest: str) -> bool:
    """Whether what is there can be unpacked, as far as can be told without reading packs."""
    try:
        bundle = read_bundle(store, digest)
        parent = read_parent(store, digest)
    except Damaged:
        return False
    if parent and find_record(store, contents, parent) is None:
        return False
    return all(contents.holds(file, bundle.places[file.sha256]) for file in bundle.files.values() if file.bytes)
