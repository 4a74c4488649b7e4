"""Putting a dataset's record into the home, and whether one that is there can be relied on."""

from __future__ import annotations

from outlast.bundle.dataset.packs import Packs
from outlast.bundle.dataset.record import DatasetRecord, read_record
from outlast.errors import Damaged, PreconditionFailed
from outlast.folder import layout
from outlast.folder.prunes import Prunes
from outlast.spec.record import encode
from outlast.store.store import Entry, Store


def publish(store: Store, prunes: Prunes, packs: Packs, record: DatasetRecord) -> int:
    """All that it names is there already. Answers the bytes written: none where an equal dataset stands."""
    if stands(store, prunes, packs, record.digest):
        return 0
    there = _entry(store, record.digest)
    data = encode(record)
    try:
        store.put(layout.dataset(record.digest), data, if_generation=there.generation if there is not None else 0)
    except PreconditionFailed:
        pass  # somebody has just written the same dataset
    return len(data)


def stands(store: Store, prunes: Prunes, packs: Packs, digest: str) -> bool:
    """Whether the record is there with all that it names, as far as can be told without reading packs."""
    entry = _entry(store, digest)
    if entry is None or prunes.condemns(entry):
        return False
    try:
        return packs.have(read_record(store, digest).all_packs)
    except Damaged:
        return False


def _entry(store: Store, digest: str) -> Entry | None:
    key = layout.dataset(digest)
    return next((entry for entry in store.list(key, limit=1) if entry.key == key), None)
