"""What every engine promises, as checks: call each with a `Place`, which makes the engine over a program of this package.

    for check in PROMISES:
        check(Place(scratch_directory, lambda user_dir, program: MyEngine(user_dir, SYSTEM, boot=program)))

The machines run `outlast.testing.engine_program`, which does what the launch's label says; real processes, real deaths.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import partial
from random import Random

from outlast.clock import SYSTEM
from outlast.engines.engine import Condition, Launch
from outlast.errors import NoCapacity
from outlast.testing.engine_place import PATIENCE_SECONDS, Place, ended, running, until

CPUS_TOO_MANY = 100_000


# Start.


def check_a_finished_command_ends_as_absent(place: Place) -> None:
    engine, launch = place.engine(), place.launch("finish")
    assert engine.state(launch).condition is Condition.ABSENT
    engine.start(launch)
    assert engine.state(launch).condition in (
        Condition.WAITING,
        Condition.STARTING,
        Condition.RUNNING,
        Condition.ABSENT,
    )
    until(lambda: ended(engine, launch), "a command that finishes has finished")
    assert engine.state(launch).condition is Condition.ABSENT
    assert len(place.events(launch, "boot")) == 1


def check_starting_twice_is_one_start(place: Place) -> None:
    engine, launch = place.engine(), place.launch("wait")
    engine.start(launch)
    place.engine().start(launch)
    until(lambda: running(engine, launch), "it runs")
    engine.start(launch)
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")
    if place.remembers_ends:
        engine.start(launch)
        assert ended(engine, launch)
    other = place.launch("finish")  # whatever the last start did has been done before this one
    engine.start(other)
    until(lambda: ended(engine, other), "the next one ended")
    assert len(place.events(launch, "boot")) == 1


def check_many_starts_at_once_are_one_start(place: Place) -> None:
    launch = place.launch("wait")
    context = multiprocessing.get_context("fork")
    callers = [context.Process(target=_start_in_another_process, args=(place, launch)) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(PATIENCE_SECONDS)
        assert caller.exitcode == 0
    engine = place.engine()
    until(lambda: running(engine, launch), "it runs")
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")
    assert len(place.events(launch, "boot")) == 1


def check_a_killed_caller_leaves_at_most_one_start(place: Place) -> None:
    """Whoever finds the launch again starts it again: it is still one."""
    engine = place.engine()
    random = Random(7)
    context = multiprocessing.get_context("fork")
    for _ in range(place.rounds):
        launch = place.launch("finish")
        caller = context.Process(target=_start_in_another_process, args=(place, launch))
        caller.start()
        SYSTEM.sleep(random.uniform(0.0, 0.02))  # a random moment, not a synchronisation
        assert caller.pid is not None
        os.kill(caller.pid, signal.SIGKILL)
        caller.join()
        engine.start(launch)
        until(partial(ended, engine, launch), "it ended")
        assert len(place.events(launch, "boot")) == 1


def _start_in_another_process(place: Place, launch: Launch) -> None:
    place.engine().start(launch)


def check_what_this_engine_does_not_have_is_refused_at_once(place: Place) -> None:
    engine, launch = place.engine(), place.launch("finish", cpus=CPUS_TOO_MANY)
    for refuses in (lambda it: engine.check(it.machine, it.workers), engine.start):
        try:
            refuses(launch)
        except NoCapacity as error:
            assert str(CPUS_TOO_MANY) in error.message
        else:
            raise AssertionError("it was accepted")
    assert engine.state(launch).condition is Condition.ABSENT


def check_all_that_is_queued_runs(place: Place) -> None:
    engine = place.engine()
    launches = [place.launch("finish") for _ in range(place.queued)]
    for launch in launches:
        engine.start(launch)
    until(lambda: all(ended(engine, launch) for launch in launches), "all of them ended")
    assert [len(place.events(launch, "boot")) for launch in launches] == [1] * place.queued


def check_every_worker_has_a_machine(place: Place) -> None:
    engine = place.engine()
    launch = place.launch("wait", workers=2)
    engine.start(launch)
    until(lambda: running(engine, launch), "both run")
    assert len(engine.state(launch).machines) == 2
    assert len({machine for machine, _ in place.events(launch, "boot")}) == 2
    place.let_go(launch)
    until(lambda: ended(engine, launch), "both ended")


# Machines that end before their launch does.


def check_a_dead_machine_is_replaced(place: Place) -> None:
    engine, launch = place.engine(), place.launch("die:4")
    engine.start(launch)
    until(lambda: ended(engine, launch), "the fourth machine finished")
    boots = [machine for machine, _ in place.events(launch, "boot")]
    assert len(boots) == len(set(boots)) == 4


def check_a_machine_that_leaves_is_replaced(place: Place) -> None:
    engine, launch = place.engine(), place.launch("again:4")
    engine.start(launch)
    until(lambda: ended(engine, launch), "the fourth machine finished")
    assert len({machine for machine, _ in place.events(launch, "boot")}) == 4


def check_a_dead_machine_is_never_reported_as_running(place: Place) -> None:
    engine, launch = place.engine(), place.launch("wait")
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    for _ in range(min(5, place.rounds)):
        (before,) = engine.state(launch).machines
        assert engine.preempt(launch, notice_seconds=0)
        state = engine.state(launch)
        assert before not in state.machines, "the machine that was taken away"
        assert state.alive, "the launch lives on"
        until(lambda: running(engine, launch), "the next machine runs")
    engine.stop(launch)


def check_three_failed_boots_in_a_row_end_the_launch(place: Place) -> None:
    engine, launch = place.engine(), place.launch("fail")
    engine.start(launch)
    until(lambda: ended(engine, launch), "it was given up")
    state = engine.state(launch)
    assert state.condition is Condition.BOOT_FAILED
    assert "this program cannot start" in state.why, state.why
    assert len(place.events(launch, "boot")) == 3


def check_preemption_without_notice_kills_and_the_launch_lives_on(place: Place) -> None:
    engine, launch = place.engine(), place.launch("wait")
    assert not engine.preempt(launch, notice_seconds=0), "there was nothing to take"
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    ((first, process),) = place.events(launch, "boot")
    assert engine.preempt(launch, notice_seconds=0)
    assert not place.alive(first, process), "it is dead when the call returns"
    until(lambda: len(place.events(launch, "boot")) == 2, "another machine came")
    assert place.events(launch, "notice") == []
    assert place.events(launch, "boot")[1][0] != first
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")


def check_preemption_with_notice_tells_first(place: Place) -> None:
    """One machine leaves when it is told, the other stays until it is killed."""
    engine = place.engine()
    for do, seconds in (("leave", 60.0), ("wait", 0.3)):
        launch = place.launch(do)
        engine.start(launch)
        until(partial(running, engine, launch), "it runs")
        ((machine, process),) = place.events(launch, "boot")
        assert engine.preempt(launch, notice_seconds=seconds)
        assert not place.alive(machine, process)
        assert place.events(launch, "notice") == [(machine, process)]
        until(lambda launch=launch: len(place.events(launch, "boot")) == 2, "another machine came")  # type: ignore[misc]
        place.let_go(launch)
        until(partial(ended, engine, launch), "it ended")


def check_a_machine_takes_all_its_processes_with_it(place: Place) -> None:
    """Those too that have left its session, as daemons do."""
    engine = place.engine()
    for end in (engine.stop, lambda launch: engine.preempt(launch, notice_seconds=0)):
        launch = place.launch("stray")
        engine.start(launch)
        until(partial(place.events, launch, "stray"), "it started another process")
        ((machine, stray),) = place.events(launch, "stray")
        assert place.alive(machine, stray)
        end(launch)
        assert not place.alive(machine, stray)
        engine.stop(launch)
    launch = place.launch("stray")
    engine.start(launch)
    until(lambda: place.events(launch, "stray"), "it started another process")
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it finished")
    assert not place.alive(*place.events(launch, "stray")[0])


# Workers that do not need each other.


def check_a_spare_machine_leaves_and_is_not_replaced(place: Place) -> None:
    """The others go on, and the launch is running as long as one of them is."""
    engine, launch = place.engine(), place.launch("spare", workers=2, independent=True)
    engine.start(launch)
    until(lambda: place.events(launch, "spare"), "one is not needed")
    ((spare, process),) = place.events(launch, "spare")
    until(lambda: not place.alive(spare, process), "it is gone")
    until(lambda: len(place.events(launch, "boot")) == 2, "the other one has come up, too")
    until(lambda: running(engine, launch) and spare not in engine.state(launch).machines, "the launch goes on")
    assert len(engine.state(launch).machines) == 1
    engine.start(launch)  # whoever looks after it calls for nobody either
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")
    assert engine.state(launch).condition is Condition.ABSENT
    assert len(place.events(launch, "boot")) == 2
    engine.stop(launch)


def check_a_dead_machine_is_replaced_without_its_neighbours(place: Place) -> None:
    engine, launch = place.engine(), place.launch("alone:2", workers=2, independent=True)
    engine.start(launch)
    until(lambda: len(place.events(launch, "boot")) == 3, "the one that died has a successor")
    until(lambda: len(engine.state(launch).machines) == 2, "both run")
    boots = [machine for machine, _ in place.events(launch, "boot")]
    assert len(set(boots)) == 3
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")
    assert len(place.events(launch, "boot")) == 3


def check_what_is_independent_can_be_stopped_with_all_its_machines(place: Place) -> None:
    engine, launch = place.engine(), place.launch("wait", workers=2, independent=True)
    engine.start(launch)
    until(lambda: len(place.events(launch, "boot")) == 2, "both run")
    until(lambda: running(engine, launch), "it runs")
    engine.stop(launch)
    assert not any(place.alive(*one) for one in place.events(launch, "boot"))
    assert engine.state(launch).condition is Condition.ABSENT


def check_there_is_room_for_what_it_can_start(place: Place) -> None:
    engine = place.engine()
    room = engine.room(place.machine(1))
    assert room.workers >= 1 and room.why
    assert engine.room(place.machine(1)) == room


# Stop.


def check_stopping_ends_every_process(place: Place) -> None:
    engine, launch = place.engine(), place.launch("wait")
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    ((machine, process),) = place.events(launch, "boot")
    engine.stop(launch)
    assert not place.alive(machine, process)
    state = engine.state(launch)
    assert state.condition is Condition.ABSENT
    assert (state.over and state.stopped) or not engine.capabilities.keeps_ends


def check_stopping_what_is_gone_is_no_error(place: Place) -> None:
    engine = place.engine()
    finished, never = place.launch("finish"), place.launch("finish")
    engine.start(finished)
    until(lambda: ended(engine, finished), "it finished")
    assert not engine.state(finished).stopped
    for launch in (finished, never):
        engine.stop(launch)
        engine.stop(launch)
        assert engine.state(launch).condition is Condition.ABSENT


def check_what_was_stopped_cannot_be_started_again(place: Place) -> None:
    """Also when the start has not been noticed yet; often, because the two race with whoever carries them out."""
    engine = place.engine()
    for _ in range(place.rounds):
        started, never = place.launch("wait"), place.launch("wait")
        engine.start(started)
        for launch in (started, never):
            engine.stop(launch)
            engine.start(launch)
            assert engine.state(launch).condition is Condition.ABSENT
        other = place.launch("finish")  # whatever was to come of these has come before this one
        engine.start(other)
        until(partial(ended, engine, other), "the next one ended")
        assert place.events(never, "boot") == []
        assert not any(place.alive(*one) for one in place.events(started, "boot"))


def check_what_waits_can_be_stopped(place: Place) -> None:
    engine = place.engine()
    launches = [place.launch("wait") for _ in range(min(20, place.queued))]
    for launch in launches:
        engine.start(launch)
    for launch in reversed(launches):
        engine.stop(launch)
    assert all(engine.state(launch).condition is Condition.ABSENT for launch in launches)


def check_start_and_stop_at_once_end_stopped(place: Place) -> None:
    engine = place.engine()
    context = multiprocessing.get_context("fork")
    for _ in range(place.rounds):
        launch = place.launch("wait")
        caller = context.Process(target=_start_in_another_process, args=(place, launch))
        caller.start()
        engine.stop(launch)
        caller.join(PATIENCE_SECONDS)
        engine.stop(launch)
        assert engine.state(launch).condition is Condition.ABSENT
        assert not any(place.alive(*one) for one in place.events(launch, "boot"))


# Two users.


def check_two_places_do_not_see_each_other(place: Place) -> None:
    other = place.other()
    engine, stranger = place.engine(), other.engine()
    launch = place.launch("wait")
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    theirs = other.named(launch)
    assert stranger.state(theirs).condition is Condition.ABSENT
    stranger.stop(theirs)
    assert not stranger.preempt(theirs, notice_seconds=0)
    assert running(engine, launch)
    engine.stop(launch)


PROMISES: tuple[Callable[[Place], None], ...] = tuple(
    check for name, check in list(globals().items()) if name.startswith("check_")
)
