"""A prune and a submit at the same moment, in every order of their steps with so many changes of turn: neither harms the other."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from outlast.bundle.contents import Contents
from outlast.bundle.unpack import unpack
from outlast.errors import OutlastError
from outlast.folder.prunes import Prunes
from outlast.folder.records import State
from outlast.jobs import launch as launch_module
from outlast.jobs import prune as prune_module
from outlast.jobs import submit as submit_module
from outlast.jobs.delete import delete
from outlast.jobs.job import Job
from outlast.jobs.prune import find_unneeded, prune
from outlast.jobs.resume import resume
from outlast.jobs.settle import lacks
from outlast.jobs.submit import submit
from outlast.jobs.survey import reach_of
from outlast.jobs.world import World
from tests.housekeeping.interleaving import Stepping, Turns
from tests.housekeeping.user import DAY, User

Program = Callable[[World], object]
Schedule = tuple[int, ...]

SUBMIT_STEPS_MAX = 14
PRUNE_STEPS_MAX = 26


def pruning(world: World) -> None:
    prune(world, find_unneeded(world.home(), older_than_seconds=30 * DAY))


def submitting(user: User) -> Program:
    return lambda world: submit(world, user.asked("new"))


class Scene:
    """A home as it was, made again for every schedule."""

    def __init__(self, user: User, first: Program, second: Program, check: Callable[[Turns], None]) -> None:
        self._user = user
        self._programs = (first, second)
        self._check = check
        self._objects = user.store.snapshot()
        self._user_dir = user.directory / "user"
        self._kept = user.directory / "kept"
        shutil.copytree(self._user_dir, self._kept)

    def failure(self, schedules: Iterable[Schedule]) -> Schedule | None:
        """The first after which something is broken."""
        return next((schedule for schedule in schedules if not self._holds(schedule)), None)

    def _holds(self, schedule: Schedule) -> bool:
        self._user.store.restore(self._objects)
        shutil.rmtree(self._user_dir)
        shutil.copytree(self._kept, self._user_dir)
        turns = Turns(schedule[1:])
        who = (0, 1) if schedule[0] == 0 else (1, 0)
        worlds = [self._user.world(partial(Stepping, turns=turns, who=who[one])) for one in (0, 1)]
        programs = [partial(self._programs[one], worlds[one]) for one in (0, 1)]
        turns.run((programs[who[0]], programs[who[1]]))
        if who == (1, 0):
            turns.errors.reverse()
        try:
            self._check(turns)
        except (AssertionError, OutlastError):
            return False
        return True


def two_switches(first_max: int = SUBMIT_STEPS_MAX, second_max: int = PRUNE_STEPS_MAX) -> Iterator[Schedule]:
    """(who begins, its steps, the other's steps, then the rest of each)."""
    for first, second in itertools.product(range(first_max), range(second_max)):
        yield 0, first, second
        yield 1, second, first


def submit_first(first_max: int, second_max: int) -> Iterator[Schedule]:
    return (schedule for schedule in two_switches(first_max, second_max) if schedule[0] == 0)


def three_switches(first_max: int = SUBMIT_STEPS_MAX, second_max: int = PRUNE_STEPS_MAX) -> Iterator[Schedule]:
    for schedule in two_switches(first_max, second_max):
        for more in range(1, (first_max, second_max)[schedule[0]] - schedule[1]):
            yield (*schedule, more)


def some(seed: int, count: int) -> Iterator[Schedule]:
    """With many changes of turn."""
    random = Random(seed)
    for _ in range(count):
        yield (random.randrange(2), *(random.randrange(1, 5) for _ in range(12)))


def whole(user: User) -> Callable[[Turns], None]:
    """The new job has all that it needs, and what is shipped is what lies in the directory."""

    def check(turns: Turns) -> None:
        assert turns.errors == [None, None], turns.errors
        job = user.job("new")
        spec = job.folder.read_spec()
        assert not lacks(user.store, spec, Prunes())
        to = user.directory / "unpacked"
        shutil.rmtree(to, ignore_errors=True)
        unpack(user.store, job.folder.read_head().head.bundle, to)
        assert (to / "train.py").read_text() == (user.work / "train.py").read_text()
        assert job.folder.read_launch(1).id in user.engine.started

    return check


def relying_on_what_goes(user: User, how: str) -> Scene:
    """An old job has shipped the same directory; nothing but it needs its packs, and it goes."""
    if how == "dataset":
        (user.directory / "data").mkdir()
        (user.directory / "data" / "rows.csv").write_text("1,2,3\n" * 100)
        user.datasets = (str(user.directory / "data"),)
    old = user.finished("old")
    if how == "changed":
        (user.work / "other.py").write_text("# changed\n")
    if how == "stranger":
        shutil.rmtree(user.directory / "user" / "cache" / "bundles")
    if how != "old job":
        delete(user.world(), old)
    return Scene(user, submitting(user), pruning, whole(user))


@pytest.mark.parametrize("how", ["same", "changed", "stranger", "old job", "dataset"])
def test_what_a_submit_relies_on_is_there_whenever_a_prune_comes(user: User, how: str) -> None:
    scene = relying_on_what_goes(user, how)
    every = [*two_switches()] if how == "same" else []
    assert scene.failure([*every, *some(1, 120)]) is None


@pytest.mark.soak
@pytest.mark.parametrize("how", ["same", "changed", "stranger", "old job", "dataset"])
def test_what_a_submit_relies_on_is_there_also_with_three_changes_of_turn(user: User, how: str) -> None:
    scene = relying_on_what_goes(user, how)
    assert scene.failure([*three_switches(), *some(2, 2000)]) is None


def no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit_module, "settle", lambda world, job, spec, planned, *, there: planned.prune)


def no_new_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs are called the same after a prune as before it."""
    real = Contents._upload

    def upload(self: Contents, *args: Any) -> None:
        prunes, self.prunes = self.prunes, replace(self.prunes, number=0)
        real(self, *args)
        self.prunes = prunes

    monkeypatch.setattr(Contents, "_upload", upload)


def no_second_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune removes by what it found before it condemned."""
    walked: list[object] = []

    def first_reach_of(*args: Any) -> object:
        walked.append(reach_of(*args))
        return walked[-2] if len(walked) % 2 == 0 else walked[-1]

    monkeypatch.setattr(prune_module, "reach_of", first_reach_of)


@pytest.mark.parametrize("plant", [no_second_look, no_new_names, no_second_walk], ids=lambda plant: plant.__name__)
def test_each_rule_of_the_protocol_is_needed(
    user: User, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    scene = relying_on_what_goes(user, "same")
    plant(monkeypatch)
    assert scene.failure([*two_switches(), *some(3, 400)]) is not None


def test_a_job_that_is_resumed_while_it_is_pruned_lives_whole_or_is_gone(user: User) -> None:
    user.finished("old", state=State.STOPPED)

    def resuming(world: World) -> None:
        resume(world, Job.of(world.home(), "old"))

    def check(turns: Turns) -> None:
        job = user.job("old")
        there = [entry.key for entry in user.store.list(job.folder.keys.root)]
        assert turns.errors[1] is None, turns.errors
        if turns.errors[0] is None:
            assert not lacks(user.store, job.folder.read_spec(), Prunes())
            head = job.folder.read_head().head
            assert head.launch == 2 and job.folder.read_launch(2).id in user.engine.started
        else:
            assert isinstance(turns.errors[0], OutlastError)
            assert job.folder.keys.head not in there

    scene = Scene(user, resuming, pruning, check)
    assert scene.failure([*submit_first(12, 32), *some(4, 100)]) is None


def test_a_half_submit_that_is_submitted_again_while_it_is_pruned_lives_whole_or_not_at_all(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune_module, "HALF_SECONDS_MIN", -1.0)
    monkeypatch.setattr(launch_module, "PAST_SECONDS_MIN", 0.0)
    job = submit(user.world(), user.asked("new")).job
    user.store.delete(job.folder.keys.head, if_generation=job.folder.read_head().generation)

    def pruning_now(world: World) -> None:
        prune(world, find_unneeded(world.home(), older_than_seconds=-10.0))

    def check(turns: Turns) -> None:
        assert turns.errors[1] is None, turns.errors
        if turns.errors[0] is None:
            whole(user)(turns)
        else:
            assert isinstance(turns.errors[0], OutlastError)
            assert not any(entry.key == job.folder.keys.head for entry in user.store.list(job.folder.keys.root))

    scene = Scene(user, submitting(user), pruning_now, check)
    assert scene.failure([*submit_first(18, 24), *some(5, 100)]) is None


def test_two_prunes_and_a_submit_leave_the_submit_whole(user: User, tmp_path: Path) -> None:
    """The second prune runs when the first one has condemned and not removed yet; the first one goes on at the end."""
    old = user.finished("old")
    delete(user.world(), old)

    def both(world: World) -> None:
        pruning(user.world())
        submit(world, user.asked("new"))

    scene = Scene(user, both, pruning, whole(user))
    assert scene.failure(some(6, 150)) is None
