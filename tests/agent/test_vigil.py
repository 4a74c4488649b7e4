"""When a trainer must leave."""

from __future__ import annotations

from typing import Any, cast

from outlast.agent.child import Child, Notice, Reason
from outlast.agent.vigil import Vigil

FAR = 1e9


class Trainer:
    def __init__(self) -> None:
        self.told: list[Notice] = []
        self.ended = False
        self.taken_in: float | None = None
        self.at_step: int | None = None
        self.log_bytes = 0

    def tell(self, notice: Notice) -> None:
        self.told.append(notice)

    def end(self) -> None:
        self.ended = True

    def notice(self) -> float | None:
        return self.taken_in

    def step(self) -> int | None:
        return self.at_step

    def stream_bytes(self, stream: str) -> int:
        return self.log_bytes


def vigil(trainer: Trainer, **options: Any) -> Vigil:
    return Vigil(cast(Child, trainer), now=0.0, **{"stall_seconds": None, **options})


def test_a_notice_is_passed_on_once_less_the_time_for_the_last_upload() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    trainer.taken_in = 30.0
    watch.look(100.0, FAR)
    trainer.taken_in = 29.0
    watch.look(101.0, FAR)
    assert trainer.told == [Notice(Reason.PREEMPTED, 22.0)]
    watch.look(121.0, FAR)
    assert not trainer.ended
    watch.look(122.0, FAR)
    assert trainer.ended


def test_of_a_short_notice_most_is_the_trainers() -> None:
    trainer = Trainer()
    trainer.taken_in = 5.0
    vigil(trainer).look(0.0, FAR)
    assert trainer.told == [Notice(Reason.PREEMPTED, 3.0)]


def test_a_preemption_during_a_stop_shortens_its_grace_and_it_stays_a_stop() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    watch.tell(Reason.STOP, 0.0, 60.0)
    trainer.taken_in = 10.0
    watch.look(1.0, FAR)
    assert [notice.reason for notice in trainer.told] == [Reason.STOP, Reason.STOP]
    assert watch.leave_by == 7.0


def test_at_the_deadline_the_trainer_is_told_and_then_ended() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    watch.look(50.0, 50.0)
    assert trainer.told[0].reason is Reason.DEADLINE
    watch.look(50.0 + trainer.told[0].seconds, 50.0)
    assert trainer.ended


def test_silence_is_measured_against_the_longest_gap_and_never_under_half_an_hour() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    for now in (0.0, 400.0):
        trainer.log_bytes += 1
        watch.look(now, FAR)
    watch.look(400.0 + 1801.0, FAR)
    assert not watch.stalled, "ten gaps of 400 s are longer than half an hour"
    watch.look(400.0 + 4001.0, FAR)
    assert watch.stalled and trainer.ended


def test_a_script_that_never_says_anything_is_not_called_stalled() -> None:
    trainer = Trainer()
    watch = vigil(trainer)
    for now in (0.0, 1e6):
        watch.look(now, FAR)
    assert not watch.stalled


def test_steps_count_as_signs_of_life_and_zero_turns_the_watch_off() -> None:
    trainer = Trainer()
    watch = vigil(trainer, stall_seconds=10.0)
    for now in range(0, 100, 5):
        trainer.at_step = now
        watch.look(float(now), FAR)
    assert not watch.stalled
    watch.look(106.0, FAR)
    assert watch.stalled
    off = vigil(trainer, stall_seconds=0.0)
    off.look(0.0, FAR)
    off.look(1e6, FAR)
    assert not off.stalled
