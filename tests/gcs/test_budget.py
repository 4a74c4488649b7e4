"""What an hour costs in requests: the real agent in the simulation, over an hour of virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from outlast.agent import commits
from outlast.store.gcs import GcsStore
from outlast.testing.simulation import world as simulated_world
from outlast.testing.simulation.checks import trainers
from outlast.testing.simulation.draw import draw
from outlast.testing.simulation.options import Options, People
from outlast.testing.simulation.run import run_one
from outlast.testing.simulation.store import SimulatedStore

T = TypeVar("T")

CLASS_A_MAX = 600
"""Of an hour's job with defaults, everything that is written and listed for it included."""

HOUR = 3600.0


class BilledStore(SimulatedStore):
    """As Cloud Storage bills: writes and lists are class A, deletes are free, reads are cheap."""

    counted: Counter[str] = Counter()
    write_seconds = GcsStore.write_seconds

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "poll_seconds": GcsStore.poll_seconds})
        self._billed = 0

    @property
    def billed_writes(self) -> int:
        return self._billed

    def _call(self, op: str, effect: Callable[[], T], conditional: tuple[str, bytes] | None = None) -> T:
        # Somebody looks at the job every 20 s in all simulations, and lists to do so: who looks pays for looking.
        looks = op == "list" and self._name.startswith("laptop")
        BilledStore.counted["look" if looks else op] += 1
        self._billed += op in ("put", "list")
        return super()._call(op, effect, conditional)


@pytest.fixture(autouse=True)
def billed(monkeypatch: pytest.MonkeyPatch) -> None:
    BilledStore.counted = Counter()
    monkeypatch.setattr(simulated_world, "SimulatedStore", BilledStore)
    # Where writes are billed, commits wait; on a notice, at a stop and at the end nothing waits.
    monkeypatch.setattr(trainers, "COMMIT_SECONDS_MAX", trainers.COMMIT_SECONDS_MAX + commits.COMMIT_SECONDS_MAX)


def an_hour(save_seconds_apart: float) -> Options:
    """A job with nothing but defaults, and nobody watching: one worker, steps of a second, no faults."""
    return replace(
        draw(1),
        theme="",
        workers=1,
        steps=int(HOUR),
        step_seconds=1.0,
        save_every=int(save_seconds_apart),
        save_seconds=0.05,
        library=True,
        ignores_notices=False,
        retries=0,
        bugs=(),
        bug_for_ever_at=None,
        out_of_memory=(),
        kills=(),
        hangs=(),
        stall_seconds=7200.0,
        max_run_seconds=24 * HOUR,
        skew_seconds=0.0,
        retrying=False,
        forgetful_engine=False,
        engine_seconds=2.0,
        starved_rank=None,
        aim=0.0,
        replaced=0.0,
        fault_seconds=0.0,
        chances={},
        people=People(repeats_submit=False),
    )


@pytest.mark.parametrize("save_seconds_apart", [8, 60, 600])
def test_an_hours_job_makes_at_most_six_hundred_class_a_operations(
    save_seconds_apart: int, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_one(1, options=an_hour(save_seconds_apart))
    assert result.violations == []
    assert (result.state, result.attempts) == ("succeeded", 1)
    assert result.seconds >= HOUR
    class_a = BilledStore.counted["put"] + BilledStore.counted["list"]
    with capsys.disabled():
        print(f"\nsaves every {save_seconds_apart} s: {class_a} class A operations, {dict(BilledStore.counted)}")
    assert class_a <= CLASS_A_MAX


@pytest.mark.parametrize("seeds", [range(60)])
def test_fewer_writes_break_no_promise(seeds: range) -> None:
    """The schedules of the simulation, over a store whose writes are billed."""
    broken = [text for seed in seeds for text in run_one(seed).violations]
    assert broken == []
