"""The scheduler itself: what the rest of the simulation stands on."""

from __future__ import annotations

from random import Random

from outlast.testing.simulation.schedule import Schedule


def test_one_actor_runs_at_a_time_and_time_passes_only_in_sleeps() -> None:
    schedule = Schedule(Random(1))
    seen: list[tuple[str, float]] = []

    def body(name: str, seconds: float) -> None:
        for _ in range(2):
            schedule.sleep(seconds)
            seen.append((name, schedule.now))

    schedule.spawn("slow", lambda: body("slow", 3.0))
    schedule.spawn("quick", lambda: body("quick", 1.0))
    schedule.run(100.0, lambda: False)
    assert seen == [("quick", 1.0), ("quick", 2.0), ("slow", 3.0), ("slow", 6.0)]


def test_a_killed_actor_runs_none_of_its_finally_blocks_while_the_world_lives() -> None:
    schedule = Schedule(Random(1))
    tidied: list[float] = []

    def body() -> None:
        try:
            schedule.sleep(10.0)
        finally:
            tidied.append(schedule.now)

    actor = schedule.spawn("killed", body)
    schedule.after(5.0, lambda: schedule.kill(actor))
    schedule.run(100.0, lambda: False)
    assert tidied == []
    assert not actor.alive


def test_a_stopped_actor_goes_on_where_it_was_when_it_is_continued() -> None:
    schedule = Schedule(Random(1))
    woke: list[float] = []

    def body() -> None:
        schedule.sleep(10.0)
        woke.append(schedule.now)

    actor = schedule.spawn("stopped", body)
    schedule.after(5.0, lambda: schedule.pause(actor))
    schedule.after(500.0, lambda: schedule.unpause(actor))
    schedule.run(1000.0, lambda: False)
    assert woke == [500.0]


def test_a_wake_up_for_an_earlier_sleep_does_not_end_a_later_one() -> None:
    schedule = Schedule(Random(1))
    woke: list[float] = []

    def body() -> None:
        for _ in range(2):
            schedule.sleep(10.0)
            woke.append(schedule.now)

    actor = schedule.spawn("sleeper", body)
    schedule.after(4.0, lambda: schedule.wake(actor))
    schedule.run(100.0, lambda: False)
    assert woke == [4.0, 14.0]


def test_what_an_actor_raises_is_kept_for_whoever_started_it() -> None:
    schedule = Schedule(Random(1))
    ended: list[BaseException | None] = []

    def body() -> None:
        raise ValueError("wrong")

    schedule.spawn("broken", body, lambda actor: ended.append(actor.error))
    schedule.run(100.0, lambda: False)
    assert [type(error) for error in ended] == [ValueError]
