"""One machine of a job, from its claim to its leave, on a clock turned by hand: what real processes would take half an hour to show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from outlast.agent.child import Reason
from outlast.agent.standing import OFFLINE_SECONDS_MAX
from outlast.errors import StoreUnavailable
from outlast.folder import life
from outlast.folder.fence import Claim, Fence, Memory, Place
from outlast.folder.layout import JobKeys
from outlast.folder.records import Cause, Request, State, Worker, WorkerExit
from outlast.spec.spec import Machine, Rented
from outlast.store.memory import MemoryStore
from outlast.store.store import Stored
from tests.agent.by_hand import BUNDLE, LAUNCH, Job, Trainer
from tests.sweep_search.parts import STEPS, HandClock

OTHER = "c" * 64


def test_a_training_that_saves_is_committed_and_succeeds() -> None:
    job = Job()
    assert job.serve(Trainer(job, save_steps=16)), "the launch is over with it"
    assert job.head.state is State.SUCCEEDED
    assert [one.step for one in job.head.checkpoints] == [96, 112, 128]


# What is not named any more.


def test_of_older_checkpoints_neither_parts_nor_manifest_stay() -> None:
    job = Job()
    job.serve(Trainer(job, save_steps=16))
    names = [one.name for one in job.head.checkpoints]
    assert job.keys(job.folder.keys.checkpoints) == {job.folder.keys.manifest(name) for name in names}
    parts = {part.key for name in names for file in job.folder.read_manifest(name).files for part in file.parts}
    assert job.keys(job.folder.keys.parts(1)) == parts


def test_what_a_dead_machine_sent_and_never_committed_goes_with_the_next_commit() -> None:
    job = Job()
    dead = Trainer(job)
    dead.at_step[40] = lambda: _die(job)
    with pytest.raises(_Died):
        job.serve(dead)
    stray = job.folder.keys.part(1, "0" * 16, 1)
    job.store.put(stray, b"half of a checkpoint")
    job.serve(Trainer(job, save_steps=16))
    assert job.head.attempt == 2
    assert job.keys(job.folder.keys.parts(1)) == set()


def test_a_damaged_manifest_among_those_that_are_kept_ends_no_training_and_takes_no_parts_with_it() -> None:
    job = Job()
    dead = Trainer(job, save_steps=16)
    dead.at_step[60] = lambda: _die(job)
    with pytest.raises(_Died):
        job.serve(dead)
    oldest = job.head.checkpoints[0].name
    job.store.delete(job.folder.keys.manifest(oldest))
    job.store.put(job.folder.keys.manifest(oldest), b"{}", if_generation=0)
    job.serve(Trainer(job, save_steps=16))
    assert job.head.state is State.SUCCEEDED
    for checkpoint in job.head.checkpoints:
        assert all(
            part.key in job.keys("") for file in job.folder.read_manifest(checkpoint.name).files for part in file.parts
        )


@pytest.mark.parametrize(
    ("adopted", "continued", "told"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_a_script_is_told_to_resume_where_it_goes_on_and_not_where_it_begins_with_the_weights_of_another_job(
    adopted: bool, continued: bool, told: bool
) -> None:
    job = Job()
    dead = Trainer(job, save_steps=16)
    dead.at_step[20] = lambda: _die(job)
    with pytest.raises(_Died):
        job.serve(dead)
    spec = replace(job.folder.read_spec(), args=("--lr", "1"), resume_args=("--resume", "last"))
    job.store.delete(job.folder.keys.spec)
    job.folder.create(job.folder.keys.spec, spec)
    at = job.folder.read_head()
    checkpoints = tuple(replace(one, adopted=adopted, continued=continued) for one in at.head.checkpoints)
    job.folder.swap(at, replace(at.head, checkpoints=checkpoints), "adopted")
    trainer = Trainer(job)
    job.serve(trainer)
    assert trainer.args == ({"lr": "1", "resume": "last"} if told else {"lr": "1"})


class _Died(BaseException):
    pass


def _die(job: Job) -> None:
    raise _Died


# The store is away.


class Away(MemoryStore):
    """Answers nobody between two moments."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock=clock)
        self.clock = clock
        self.since = self.until = 0.0

    def get(self, key: str) -> Stored:
        self._answer()
        return super().get(key)

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        self._answer()
        return super().put(key, data, if_generation=if_generation)

    def _answer(self) -> None:
        if self.since <= self.clock.at < self.until:
            raise StoreUnavailable("away")

    def go(self, seconds: float) -> None:
        self.since, self.until = self.clock.at, self.clock.at + seconds


def away(seconds: float) -> Job:
    job, store = reachable()
    store.go(seconds)
    return job


def reachable() -> tuple[Job, Away]:
    clock = HandClock()
    store = Away(clock)
    job = Job(store)
    job.clock = clock
    return job, store


def test_a_machine_that_never_reaches_its_home_leaves_alone_and_its_launch_stays() -> None:
    job = away(1e9)
    began_at = job.clock.at
    assert not job.serve(Trainer(job))
    assert OFFLINE_SECONDS_MAX < job.clock.at - began_at < OFFLINE_SECONDS_MAX + 60


def test_a_machine_whose_home_comes_back_in_time_goes_on() -> None:
    job = away(OFFLINE_SECONDS_MAX - 60)
    assert job.serve(Trainer(job))
    assert job.head.state is State.SUCCEEDED


def test_a_rented_machine_whose_home_stays_away_ends_its_trainer_and_leaves() -> None:
    job, store = reachable()
    trainer = Trainer(job, save_steps=16)
    trainer.at_step[40] = lambda: store.go(5 * 3600.0)
    assert not job.serve(trainer), "only this machine is over"
    assert trainer.ended


def test_a_computer_of_ones_own_trains_on_without_its_home_and_commits_when_that_is_back() -> None:
    job, store = reachable()
    trainer = Trainer(job, save_steps=16)
    trainer.at_step[40] = lambda: store.go(5 * 3600.0)
    assert job.serve(trainer, offline_seconds_max=math.inf)
    assert (job.head.state, job.head.attempt, job.head.checkpoints[-1].step) == (State.SUCCEEDED, 1, STEPS)


class HeadAway(Away):
    """Takes everything but a new head."""

    def get(self, key: str) -> Stored:
        return MemoryStore.get(self, key)

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        put = super().put if key.endswith("head.json") else partial(MemoryStore.put, self)
        return put(key, data, if_generation=if_generation)


def test_a_checkpoint_that_head_could_not_name_in_time_is_named_when_the_trainer_has_ended() -> None:
    clock = HandClock()
    store = HeadAway(clock)
    job = Job(store)
    job.clock = clock
    trainer = Trainer(job, save_steps=100)
    trainer.at_step[99] = lambda: store.go(60.0)
    assert job.serve(trainer)
    assert (job.head.state, [one.step for one in job.head.checkpoints]) == (State.SUCCEEDED, [100])


@pytest.mark.parametrize("noticed", [False, True])
def test_silence_and_a_notice_after_the_end_of_a_script_that_failed_are_not_why_it_ended(noticed: bool) -> None:
    job, store = reachable()
    trainer = Trainer(job)
    trainer.exit_code = 1

    def end() -> None:
        store.go(2 * 3600.0)
        trainer.notice_seconds = 4 * 3600.0 if noticed else None

    trainer.at_step[STEPS] = end
    assert job.serve(trainer, offline_seconds_max=math.inf)
    assert (job.head.state, job.head.attempts["1"].cause) == (State.FAILED, Cause.FAILED)


def test_a_machine_that_is_taken_away_begins_no_other_attempt() -> None:
    job = Job()
    trainer = Trainer(job, save_steps=16)
    trainer.at_step[40] = lambda: setattr(trainer, "notice_seconds", 30.0)
    assert not job.serve(trainer), "only this machine is over"
    assert (job.head.state, job.head.attempt) == (State.RUNNING, 1)
    assert job.head.attempts["1"].cause is Cause.PREEMPTED


# Other ranks.


class Owned(MemoryStore):
    """The home of a job whose rank 0 runs the attempt as soon as all have joined, and ends it when rank 1 has."""

    job: Job
    claim: Claim

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        generation = super().put(key, data, if_generation=if_generation)
        keys = JobKeys("job")
        changes = {
            keys.worker(1, 1): lambda head: life.running(head, self.job.clock.at),
            keys.exit(1, 1): lambda head: life.final(head, State.SUCCEEDED, self.job.clock.at),
        }
        if key in changes:
            folder = self.job.folder
            folder.amend(folder.read_head(), self.claim.nonce, changes[key], key)
        return generation


def test_what_another_rank_than_the_first_has_saved_is_not_committed() -> None:
    clock = HandClock()
    store = Owned(clock=clock)
    store.job = job = Job(store, workers=2)
    job.clock = clock
    place = Place(LAUNCH, 0, 2, "m0", math.inf)
    claim = Fence(job.folder, place, Memory("m0"), lambda memory: None).pass_(survivor=False)
    assert isinstance(claim, Claim)
    store.claim = claim
    trainer = Trainer(job, save_steps=16)
    assert job.serve(trainer, rank=1)
    assert (trainer.step(), trainer.told) == (STEPS, [])
    assert (job.head.state, job.head.checkpoints) == (State.SUCCEEDED, ())
    assert job.keys(job.folder.keys.checkpoints) == job.keys(job.folder.keys.parts(1)) == set()


@pytest.mark.parametrize(("code", "state"), [(0, State.SUCCEEDED), (1, State.FAILED), (3, State.FAILED)])
def test_a_rank_that_fails_ends_the_attempt_for_its_own_reason_and_one_that_is_done_does_not(
    code: int, state: State
) -> None:
    job = Job(workers=2)
    job.folder.create(job.folder.keys.worker(1, 1), Worker("other", 1, 1, "m1"))
    trainer = Trainer(job)
    trainer.at_step[40] = lambda: job.folder.create(job.folder.keys.exit(1, 1), WorkerExit(1, code, job.clock.at))
    job.serve(trainer)
    head = job.head
    assert (head.state, head.exit_code) == (state, code)
    assert (head.attempts["1"].step == STEPS) == (code == 0)


# Its code is changed.


@pytest.mark.parametrize("restart", [False, True])
def test_an_edit_is_put_under_the_trainer_and_a_restart_begins_the_next_attempt_with_it(restart: bool) -> None:
    job = Job()
    trainer = Trainer(job)
    trainer.at_step[40] = wish(job, restart=restart)
    assert job.serve(trainer)
    assert job.head.state is State.SUCCEEDED
    assert job.head.bundle == OTHER
    if restart:
        assert trainer.edits == []
        assert [notice.reason for notice in trainer.told] == [Reason.EDIT]
        assert trainer.bundles == [BUNDLE, OTHER]
        assert job.head.attempts["1"].cause is Cause.EDITED
    else:
        assert trainer.edits == [(BUNDLE, OTHER)]
        assert trainer.told == []
        assert trainer.bundles == [BUNDLE]


def wish(job: Job, *, restart: bool) -> Callable[[], object]:
    name = job.folder.keys.edit(1, job.clock.at, "0" * 16)
    request = Request("sync", 1, job.clock.at, bundle=OTHER, restart=restart)
    return lambda: job.folder.create(name, request)


# Time and money.


def test_what_is_not_uploaded_when_the_time_is_over_stays_behind_and_that_is_said() -> None:
    job = Job(max_run_seconds=30.0)
    trainer = Trainer(job, save_steps=100, upload_seconds=60.0)
    assert job.serve(trainer)
    assert job.head.state is State.EXPIRED
    assert job.head.checkpoints == ()
    assert "before all that it saved was in the home" in job.head.reason


RENTED = Machine(1, 0, Rented("p", ("r",), "t", usd_per_hour=3600.0))
"""A dollar a second, of which the boot takes 45."""


def test_a_trainer_works_until_its_money_is_nearly_spent_and_not_longer() -> None:
    job = Job(machine=RENTED, usd_per_hour=3600.0, max_cost_usd=45.0 + 20.0)
    trainer = Trainer(job)
    began_at = job.clock.at
    assert job.serve(trainer)
    assert job.head.state is State.EXPIRED and "$65.00" in job.head.reason
    assert [notice.reason for notice in trainer.told] == [Reason.COST]
    assert trainer.told_at is not None
    assert 20.0 - 6.5 - 1 < trainer.told_at - began_at < 20.0


def test_money_that_lasts_longer_than_the_time_prolongs_nothing() -> None:
    job = Job(machine=RENTED, usd_per_hour=3600.0, max_cost_usd=1000.0, max_run_seconds=20.0)
    trainer = Trainer(job)
    began_at = job.clock.at
    assert job.serve(trainer)
    assert job.head.state is State.EXPIRED and "time" in job.head.reason
    assert [notice.reason for notice in trainer.told] == [Reason.DEADLINE]
    assert trainer.told_at is not None
    assert 20.0 - 2.0 - 1 < trainer.told_at - began_at < 20.0
