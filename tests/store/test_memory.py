"""What the store in memory promises beyond the contract."""

from __future__ import annotations

import pytest

from outlast.store.memory import MemoryStore, named
from outlast.store.registry import open_store


def test_a_name_is_one_store_for_the_whole_process() -> None:
    open_store("memory:test-one").put("k", b"v")
    assert named("test-one").get("k").data == b"v"
    assert list(open_store("memory:test-two").list("")) == []
    assert open_store("memory:test-one").url == "memory:test-one"


def test_a_snapshot_can_be_restored_and_no_generation_comes_back() -> None:
    store = MemoryStore()
    first = store.put("a", b"1", if_generation=0)
    before = store.snapshot()
    second = store.put("a", b"2", if_generation=first)
    store.put("b", b"1", if_generation=0)
    store.restore(before)
    assert [(entry.key, entry.generation) for entry in store.list("")] == [("a", first)]
    assert store.put("a", b"3", if_generation=first) > second


def test_a_key_is_written_with_conditions_or_without_never_both() -> None:
    store = MemoryStore()
    generation = store.put("if", b"", if_generation=0)
    plain = store.put("plain", b"")
    for write in (
        lambda: store.put("if", b""),
        lambda: store.upload("if", [b""]),
        lambda: store.put("plain", b"", if_generation=plain),
        lambda: store.delete("plain", if_generation=plain),
    ):
        with pytest.raises(ValueError, match="both with and without a condition"):
            write()
    store.delete("if", if_generation=generation)
    store.delete("plain")
