"""A store that is asked again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from outlast.errors import Damaged, Denied, KeyMissing, PreconditionFailed, StoreFull, StoreUnavailable
from outlast.store.memory import MemoryStore
from outlast.store.mortal import Fault, Faults, Mortal
from outlast.store.retry import DELAY_SECONDS_MAX, FIRST_SECONDS, SECONDS_MAX, Retrying


class VirtualClock:
    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.seconds += seconds


class World:
    def __init__(self, seed: int = 0, seconds_max: float = SECONDS_MAX) -> None:
        self.clock = VirtualClock()
        self.memory = MemoryStore()
        self.faults = Faults()
        mortal = Mortal(self.memory, faults=self.faults)
        self.store = Retrying(mortal, self.clock, Random(seed), seconds_max=seconds_max)


CALLS: dict[str, Callable[[Retrying], Any]] = {
    "get": lambda store: store.get("k"),
    "put": lambda store: store.put("k", b"again"),
    "delete": lambda store: store.delete("k"),
    "purge": lambda store: store.purge(iter(["k"])),
    "upload": lambda store: store.upload("k", [b"ag", b"ain"]),
    "download": lambda store: list(store.download("k")),
    "list": lambda store: list(store.list("")),
    "now": lambda store: store.now(),
}


@pytest.mark.parametrize("operation", CALLS)
def test_every_call_is_made_again_until_it_succeeds(operation: str) -> None:
    world = World()
    world.memory.put("k", b"v")
    world.faults.plan(operation, Fault.BEFORE, times=5)
    CALLS[operation](world.store)
    assert world.faults.unused == []
    assert len(world.clock.slept) == 5


@pytest.mark.parametrize("operation", CALLS)
def test_no_call_is_made_for_longer_than_the_limit(operation: str) -> None:
    world = World(seconds_max=40.0)
    world.memory.put("k", b"v")
    world.faults.plan(operation, Fault.BEFORE, times=10_000)
    with pytest.raises(StoreUnavailable):
        CALLS[operation](world.store)
    assert world.clock.seconds == pytest.approx(40.0)


def test_the_waits_are_random_below_a_bound_that_doubles() -> None:
    longest = [0.0] * 12
    for seed in range(200):
        world = World(seed, seconds_max=10_000.0)
        world.memory.put("k", b"v")
        world.faults.plan("get", Fault.BEFORE, times=12)
        world.store.get("k")
        longest = [max(pair) for pair in zip(longest, world.clock.slept, strict=True)]
    bounds = [min(DELAY_SECONDS_MAX, FIRST_SECONDS * 2**number) for number in range(12)]
    assert all(0.9 * bound < seconds <= bound for seconds, bound in zip(longest, bounds, strict=True))


@pytest.mark.parametrize("error", [StoreFull("x"), Denied("x"), Damaged("x"), KeyMissing("k"), PreconditionFailed("k")])
def test_what_trying_again_does_not_help_is_raised_at_once(error: Exception) -> None:
    class Refusing(MemoryStore):
        def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
            raise error

    clock = VirtualClock()
    with pytest.raises(type(error)):
        Retrying(Refusing(), clock, Random(0)).put("k", b"")
    assert clock.slept == []


def test_a_conditional_write_whose_answer_was_lost_says_precondition_failed() -> None:
    """Whether it was our own is for the writer to find out, who knows what it wrote."""
    world = World()
    world.faults.plan("put", Fault.LOST)
    with pytest.raises(PreconditionFailed):
        world.store.put("k", b"ours", if_generation=0)
    assert world.memory.get("k").data == b"ours"


def test_a_list_goes_on_where_it_was_interrupted() -> None:
    world = World()
    for number in range(10):
        world.memory.put(f"k/{number}", b"")
    world.faults.plan("list", Fault.LOST, times=4)
    assert [entry.key for entry in world.store.list("k/", limit=7)] == [f"k/{number}" for number in range(7)]
    assert world.faults.unused == []


def test_an_upload_from_an_iterator_is_not_made_again_with_what_is_left_of_it() -> None:
    world = World()
    world.faults.plan("chunk", Fault.BEFORE)
    with pytest.raises(StoreUnavailable):
        world.store.upload("k", iter([b"first", b"second"]))
    with pytest.raises(KeyMissing):
        world.memory.get("k")
    world.faults.plan("upload", Fault.BEFORE)
    assert world.store.upload("k", [b"first", b"second"]) == 11
    assert world.memory.get("k").data == b"firstsecond"


def test_a_download_that_broke_off_is_not_begun_again_behind_the_readers_back() -> None:
    world = World()
    world.memory.put("k", b"v")
    world.faults.plan("download", Fault.LOST)
    chunks = world.store.download("k")
    assert next(chunks) == b"v"
    with pytest.raises(StoreUnavailable):
        next(chunks)
