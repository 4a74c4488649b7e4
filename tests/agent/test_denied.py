"""A home that refuses a machine: one that cannot even begin gives up, one that has begun waits as long as for a home that is away."""

from __future__ import annotations

import pytest

from outlast.errors import Denied
from outlast.store.memory import MemoryStore
from tests.agent.by_hand import Job, Trainer
from tests.sweep_search.parts import HandClock


class Refusing(MemoryStore):
    """After so many writes nothing is overwritten any more, as in a bucket without the right to delete."""

    lets = 0

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if if_generation != 0:
            self.lets -= 1
            if self.lets < 0:
                raise Denied(f"cannot write `{key}`: storage.objects.delete")
        return super().put(key, data, if_generation=if_generation)


def refused(lets: int) -> Job:
    clock = HandClock()
    store = Refusing(clock=clock)
    store.lets = lets
    job = Job(store)
    job.clock = clock
    return job


def test_a_machine_that_may_not_begin_gives_up_and_says_what_was_refused() -> None:
    job = refused(lets=0)
    began_at = job.clock.monotonic()
    with pytest.raises(Denied, match=r"storage\.objects\.delete"):
        job.serve(Trainer(job), denied_seconds_max=600.0)
    assert 600 < job.clock.monotonic() - began_at < 700
    assert job.head.attempt == 0


def test_a_machine_that_has_begun_waits_and_leaves_for_another_one() -> None:
    job = refused(lets=1)
    assert not job.serve(Trainer(job), denied_seconds_max=600.0), "only this machine is over"
    assert job.head.attempt == 1
