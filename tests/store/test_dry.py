"""A dry run writes nothing, records what it would write, and reads as if it had."""

from __future__ import annotations

import pytest

from outlast.errors import KeyMissing, PreconditionFailed
from outlast.store.dry import Dry, Write
from outlast.store.memory import MemoryStore
from outlast.store.store import CHUNK_BYTES


def test_nothing_is_written_and_everything_is_recorded_and_seen() -> None:
    memory = MemoryStore()
    first = memory.put("jobs/x/head", b"real", if_generation=0)
    memory.put("jobs/x/spec", b"real", if_generation=0)
    memory.put("part", b"real")
    before = memory.snapshot()
    dry = Dry(memory)
    second = dry.put("jobs/x/head", b"dry!!", if_generation=first)
    dry.upload("packs/1", [b"x" * CHUNK_BYTES] * 3)
    dry.delete("jobs/x/spec")
    dry.delete("jobs/x/never")
    dry.purge(["part", "never"])
    assert memory.snapshot() == before
    assert dry.writes == [
        Write("put", "jobs/x/head", 5),
        Write("upload", "packs/1", 3 * CHUNK_BYTES),
        Write("delete", "jobs/x/spec", 0),
        Write("purge", "part", 0),
    ]
    assert (dry.get("jobs/x/head").data, dry.get("jobs/x/head").generation) == (b"dry!!", second)
    assert [(entry.key, entry.bytes) for entry in dry.list("")] == [("jobs/x/head", 5), ("packs/1", 3 * CHUNK_BYTES)]
    assert sum(len(chunk) for chunk in dry.download("packs/1")) == 3 * CHUNK_BYTES
    for key in ("jobs/x/spec", "part"):
        with pytest.raises(KeyMissing):
            dry.get(key)


def test_a_condition_that_would_fail_fails_and_is_not_recorded() -> None:
    memory = MemoryStore()
    memory.put("k", b"real", if_generation=0)
    dry = Dry(memory)
    with pytest.raises(PreconditionFailed):
        dry.put("k", b"dry", if_generation=0)
    assert dry.writes == []
