"""Hooks around every write, and faults by name."""

from __future__ import annotations

import pytest

from outlast.errors import KeyMissing, PreconditionFailed, StoreUnavailable
from outlast.store.memory import MemoryStore
from outlast.store.mortal import Fault, Faults, Mortal


class Killed(BaseException):
    pass


def write_everything(store: Mortal) -> None:
    generation = store.put("a", b"1", if_generation=0)
    store.put("a", b"2", if_generation=generation)
    store.put("beat", b"1")
    store.upload("part", iter([b"1", b"2"]))
    store.delete("a")
    store.purge(iter(["part", "beat"]))
    assert list(store.list("")) == []


EXPECTED = [
    "before put a", "after put a", "before put a", "after put a", "before put beat", "after put beat",
    "before upload part", "before chunk part", "before chunk part", "after upload part",
    "before delete a", "after delete a",
    "before purge part", "after purge part", "before purge beat", "after purge beat",
]  # fmt: skip


def test_the_hooks_see_every_write_and_no_read() -> None:
    seen: list[str] = []
    write_everything(
        Mortal(
            MemoryStore(),
            lambda operation, key: seen.append(f"before {operation} {key}"),
            lambda operation, key: seen.append(f"after {operation} {key}"),
        )
    )
    assert seen == EXPECTED


def test_who_is_killed_before_a_write_has_not_done_it_and_who_is_killed_after_has() -> None:
    states = []
    for kill_at in range(len(EXPECTED)):
        memory = MemoryStore()
        count = iter(range(len(EXPECTED)))

        def hook(operation: str, key: str, count: object = count, kill_at: int = kill_at) -> None:
            if next(count) == kill_at:  # type: ignore[call-overload]
                raise Killed

        with pytest.raises(Killed):
            write_everything(Mortal(memory, hook, hook))
        states.append({entry.key: memory.get(entry.key).data for entry in memory.list("")})
    one, two = {"a": b"1"}, {"a": b"2"}
    beat, part = {"beat": b"1"}, {"part": b"12"}
    assert states == [
        {}, one, one, two, two, {**two, **beat},
        *[{**two, **beat}] * 3, {**two, **beat, **part},
        {**two, **beat, **part}, {**beat, **part},
        {**beat, **part}, beat, beat, {},
    ]  # fmt: skip


def test_a_write_that_was_refused_has_no_after() -> None:
    seen: list[str] = []
    store = Mortal(MemoryStore(), after=lambda operation, key: seen.append(operation))
    with pytest.raises(PreconditionFailed):
        store.put("a", b"", if_generation=7)
    assert seen == []


def test_a_fault_strikes_its_operation_and_its_keys_and_is_used_up() -> None:
    memory = MemoryStore()
    faults = Faults()
    store = Mortal(memory, faults=faults)
    faults.plan("put", Fault.BEFORE, key_prefix="jobs/")
    faults.plan("put", Fault.LOST, key_prefix="jobs/", times=2)
    faults.plan("get", Fault.BEFORE)
    store.put("other", b"1")
    with pytest.raises(StoreUnavailable, match="error before"):
        store.put("jobs/x", b"1")
    with pytest.raises(KeyMissing):
        memory.get("jobs/x")
    with pytest.raises(StoreUnavailable, match="answer lost"):
        store.put("jobs/x", b"1")
    assert memory.get("jobs/x").data == b"1"
    assert faults.unused == ["put jobs/* answer lost: 1 times", "get * error before: 1 times"]
    with pytest.raises(StoreUnavailable):
        store.get("other")
    assert store.get("other").data == b"1"
    with pytest.raises(ValueError, match="there is no operation 'write'"):
        faults.plan("write", Fault.BEFORE)
