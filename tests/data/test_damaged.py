"""Whoever wrote the home, a dataset that is put in place is what was pushed, or it is not there; nothing is written elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle.contents import pack_digest
from outlast.bundle.dataset.listing import Digest, Row, decode_shard
from outlast.bundle.dataset.push import push
from outlast.bundle.dataset.record import DatasetRecord, Shard, read_record
from outlast.bundle.dataset.unpack import unpack
from outlast.errors import Damaged
from outlast.folder import layout
from outlast.spec.record import encode
from outlast.store.directory import DirectoryStore
from tests.data.material import make

PACK = pack_digest([("a" * 64, 1)], 0)


def forge(store: DirectoryStore, shard: Any) -> str:
    """A record as an enemy would write it: all its sums are right."""
    data = shard if isinstance(shard, bytes) else json.dumps(shard).encode()
    pack = hashlib.sha256(data).hexdigest()
    store.upload(layout.pack(pack), [data])
    digest = Digest("")
    try:
        for row in decode_shard(data, "x"):
            digest.add(row)
    except Damaged:
        digest.add(Row(b"", "", ()))
    name = digest.finish()
    record = DatasetRecord(name, 1, 1, (Shard(pack, len(data), hashlib.sha256(data).hexdigest()),), {})
    store.put(layout.dataset(name), encode(record), if_generation=0)
    return name


def files(*rows: Any) -> dict[str, Any]:
    return {"packs": [PACK], "files": list(rows)}


SUM = hashlib.sha256(b"x").hexdigest()
FORGED: dict[str, Any] = {
    "up": files(["../x", "644", []]),
    "up in the middle": files(["a/../../x", "644", []]),
    "absolute": files(["/tmp/x", "644", []]),
    "empty": files(["", "644", []]),
    "dot": files(["./x", "644", []]),
    "double slash": files(["a//x", "644", []]),
    "nul": files(["a\0b", "644", []]),
    "long": files(["x" * 300, "644", []]),
    "no text": files([1, "644", []]),
    "lone surrogate": files(["\ud800", "644", []]),
    "set user id": files(["x", "4755", []]),
    "link": files(["x", "120777", []]),
    "a directory with contents": files(["x", "dir", [[SUM, 1, 0, 0]]]),
    "twice": files(["x", "644", []], ["x", "644", []]),
    "not in order": files(["b", "644", []], ["a", "644", []]),
    "a file as a directory": files(["a", "644", []], ["a/b", "644", []]),
    "an endless piece": files(["x", "644", [[SUM, 10**15, 0, 0]]]),
    "a piece of nothing": files(["x", "644", [[SUM, 0, 0, 0]]]),
    "a negative offset": files(["x", "644", [[SUM, 1, 0, -1]]]),
    "a pack that is not listed": files(["x", "644", [[SUM, 1, 7, 0]]]),
    "a pack that is not there": files(["x", "644", [[SUM, 1, 0, 0]]]),
    "a pack elsewhere": {"packs": ["../../spec.json"], "files": []},
    "no sum": files(["x", "644", [["x", 1, 0, 0]]]),
    "no JSON": b"\x80",
    "deep": b"[" * 100_000,
    "a list": [],
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_listing_is_refused(store: DirectoryStore, tmp_path: Path, name: str) -> None:
    digest = forge(store, FORGED[name])
    to = tmp_path / "place" / "inside"
    to.parent.mkdir()
    with pytest.raises(Damaged):
        unpack(store, read_record(store, digest), to)
    assert [path for path in tmp_path.rglob("x") if to not in path.parents] == []


def cut(store: DirectoryStore, pack: str) -> None:
    store.upload(pack, [store.get(pack).data[:-1]])


def flip(store: DirectoryStore, pack: str) -> None:
    store.upload(pack, [bytes([store.get(pack).data[0] ^ 1]) + store.get(pack).data[1:]])


def lose(store: DirectoryStore, pack: str) -> None:
    store.purge([pack])


@pytest.mark.parametrize("damage", [cut, flip, lose], ids=lambda one: one.__name__)
@pytest.mark.parametrize("which", [0, 1])
def test_a_damaged_pack_is_named_and_a_new_push_mends_it(
    store: DirectoryStore, tmp_path: Path, damage: Callable[[DirectoryStore, str], None], which: int
) -> None:
    root = make(tmp_path / "data", {"x": b"contents", "y": b"others"})
    digest = push(store, root, cache=tmp_path / "cache").digest
    record = read_record(store, digest)
    pack = layout.pack((next(iter(record.packs)), record.listing[0].pack)[which])
    damage(store, pack)
    with pytest.raises(Damaged, match=pack):
        unpack(store, record, tmp_path / "back")
    if damage is flip:
        store.purge([pack])  # as the hint says: only its reader sees it
    assert push(store, root, cache=tmp_path / "cache").digest == digest
    unpack(store, read_record(store, digest), tmp_path / "back2")


def test_a_record_of_another_dataset_is_refused(store: DirectoryStore, tmp_path: Path) -> None:
    one = push(store, make(tmp_path / "one", {"x": b"1"}), cache=tmp_path / "cache").digest
    two = push(store, make(tmp_path / "two", {"x": b"2"}), cache=tmp_path / "cache").digest
    store.put(
        layout.dataset(two),
        store.get(layout.dataset(one)).data,
        if_generation=store.get(layout.dataset(two)).generation,
    )
    with pytest.raises(Damaged, match="not the record of this dataset"):
        read_record(store, two)
