"""`run --from JOB`: a new job with another one's weights, its own arguments, data and steps."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from outlast.errors import NotFound, UsageError
from outlast.jobs.adopt import split_source
from outlast.jobs.asked import Asked
from outlast.jobs.delete import delete
from outlast.jobs.job import Job
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.testing.crash import killed_at
from tests.cli.user import User
from tests.crash.conftest import Laptop

TRAIN = """
import json, os, time, outlast
from pathlib import Path

@outlast.main
def train(rate: int = 1, total: int = 6, gate: str = ""):
    state = outlast.State(weight=0)
    steps = outlast.steps(total, state, save_steps=2)
    for step in steps:
        state.weight += rate
        outlast.log(step, loss=100 - state.weight)
        time.sleep(0.05)
        while step >= 4 and gate and os.path.exists(gate):
            time.sleep(0.02)
    found = {"start": steps.start, "weight": state.weight, "step": step if steps.start < total else -1}
    (outlast.output_dir() / "end.json").write_text(json.dumps(found))

train()
"""


KILL_POINTS = 22
"""Of the command: more or fewer means that it writes something else than before, and its order must be argued anew."""


def ask(laptop: Laptop, job: str, *args: str, **more: Any) -> Asked:
    (laptop.work / "train.py").write_text(TRAIN)
    return replace(laptop.asked(job), args=args, **more)


def run(laptop: Laptop, asked: Asked) -> Job:
    job = submit(laptop.world(), asked).job
    status = wait(laptop.world(), job)
    assert status.state == "succeeded", status.why
    return job


def wait_for_step(laptop: Laptop, job: Job, step: int) -> None:
    while not any(one.step >= step for one in job.folder.read_head().head.checkpoints):
        laptop.world().clock.sleep(0.02)


def end_of(job: Job) -> dict[str, int]:
    found: dict[str, int] = json.loads(job.folder.store.get(f"{job.folder.keys.outputs}end.json").data)
    return found


def test_a_new_job_begins_with_the_weights_and_with_other_arguments_at_step_0(laptop: Laptop) -> None:
    run(laptop, ask(laptop, "first"))
    second = run(laptop, ask(laptop, "second", "--rate", "10", from_job="first"))
    assert end_of(second) == {"start": 0, "weight": 66, "step": 5}
    head = second.folder.read_head().head
    assert head.attempts["1"].resumed_from_step is None


def test_steps_go_on_where_they_stood_if_that_is_asked_for(laptop: Laptop) -> None:
    run(laptop, ask(laptop, "first"))
    asked = ask(laptop, "second", "--rate", "10", "--total", "9", from_job="first", continue_steps=True)
    second = run(laptop, asked)
    assert end_of(second) == {"start": 6, "weight": 36, "step": 8}
    head = second.folder.read_head().head
    assert head.attempts["1"].resumed_from_step == 6
    assert [one.step for one in head.checkpoints if not one.adopted][-1] == 9
    assert head.best_step == 9


def test_any_job_of_a_chain_may_be_named(laptop: Laptop) -> None:
    run(laptop, ask(laptop, "one"))
    run(laptop, ask(laptop, "two", "--rate", "10", from_job="one"))
    assert end_of(run(laptop, ask(laptop, "three", "--rate", "100", from_job="two")))["weight"] == 666
    assert end_of(run(laptop, ask(laptop, "again", "--rate", "100", from_job="one")))["weight"] == 606
    delete(laptop.world(), laptop.job("one"))
    assert end_of(run(laptop, ask(laptop, "four", "--rate", "100", from_job="two")))["weight"] == 666


def test_an_earlier_checkpoint_and_the_best_one_may_be_named(laptop: Laptop) -> None:
    gate = laptop.work.parent / "gate"
    gate.touch()
    first = submit(laptop.world(), ask(laptop, "first", "--gate", str(gate))).job
    wait_for_step(laptop, first, 4)
    gate.unlink()
    wait(laptop.world(), first)
    assert end_of(run(laptop, ask(laptop, "early", "--rate", "10", from_job="first@4")))["weight"] == 64
    best = submit(laptop.world(), ask(laptop, "best", "--rate", "10", from_job="first@best"))
    wait(laptop.world(), best.job)
    named = best.spec.from_checkpoint
    assert named in [one.name for one in laptop.job("first").folder.read_head().head.checkpoints]
    with pytest.raises(NotFound, match="no checkpoint `5`"):
        submit(laptop.world(), ask(laptop, "none", from_job="first@5"))


def test_a_job_that_still_runs_gives_its_newest_checkpoint_and_goes_on(laptop: Laptop) -> None:
    gate = laptop.work.parent / "gate"
    gate.touch()
    first = submit(laptop.world(), ask(laptop, "first", "--gate", str(gate))).job
    wait_for_step(laptop, first, 4)
    second = run(laptop, ask(laptop, "second", "--rate", "10", from_job="first"))
    assert end_of(second)["weight"] == 64
    gate.unlink()
    assert wait(laptop.world(), first).state == "succeeded"
    assert end_of(first)["weight"] == 6


def test_a_job_without_a_checkpoint_is_refused_before_anything_is_written(laptop: Laptop) -> None:
    first = submit(laptop.world(), laptop.asked("first", "idle.py")).job
    wait(laptop.world(), first)
    before = [entry.key for entry in first.home.store.list("jobs/")]
    with pytest.raises(NotFound, match="kept no checkpoint") as refused:
        submit(laptop.world(), ask(laptop, "second", from_job="first"))
    assert "nothing was started" in refused.value.state and refused.value.hint
    assert [entry.key for entry in first.home.store.list("jobs/")] == before
    with pytest.raises(NotFound):
        submit(laptop.world(), ask(laptop, "second", from_job="nobody"))
    with pytest.raises(UsageError, match="says nothing without `--from"):
        submit(laptop.world(), ask(laptop, "second", continue_steps=True))


def test_the_form_of_a_source() -> None:
    assert split_source("job@best") == ("job", "best")
    assert split_source("/me@here/jobs/j") == ("/me@here/jobs/j", "")
    assert split_source("/me@here/jobs/j@12") == ("/me@here/jobs/j", "12")
    for bad in ("job@newest", "@5", "job@-1"):
        with pytest.raises(UsageError):
            split_source(bad)


def test_a_resumed_fine_tuning_goes_on_with_its_own_checkpoint(laptop: Laptop) -> None:
    run(laptop, ask(laptop, "first"))
    gate = laptop.work.parent / "gate"
    gate.touch()
    asked = ask(
        laptop, "second", "--rate", "10", "--total", "12", "--gate", str(gate), from_job="first", continue_steps=True
    )
    second = submit(laptop.world(), asked).job
    while second.folder.read_head().head.state.value != "running":
        laptop.world().clock.sleep(0.02)
    stop(laptop.world(), second, grace_seconds=2)
    gate.unlink()
    from outlast.jobs.resume import resume

    resume(laptop.world(), second)
    assert wait(laptop.world(), second).state == "succeeded"
    assert end_of(second)["weight"] == 66


def test_a_submit_killed_at_any_write_can_be_given_again(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "2")  # one for all of these jobs
    run(laptop, ask(laptop, "first"))
    asked = ask(laptop, "second", "--rate", "10", "--total", "1", from_job="first")
    points = killed_at(laptop.world(), lambda world: submit(world, asked), None)
    assert wait(laptop.world(), laptop.job("second")).state == "succeeded"
    assert points == KILL_POINTS
    for point in range(points):
        again = replace(asked, job_id=f"second-{point}")
        assert killed_at(laptop.world(), partial(submit, asked=again), point) == -1
        job = submit(laptop.world(), again).job
        assert wait(laptop.world(), job).state == "succeeded"
        assert end_of(job)["weight"] == 16


def test_the_command_says_what_it_began_with(user: User) -> None:
    user.write("train.py", TRAIN)
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    rehearsed = user.outlast("run", "--from", "first@6", "--dry-run", "--json", "train.py")
    assert rehearsed.json["spec"]["from_checkpoint"]
    ran = user.outlast(
        "run", "--job-id", "second", "--from", "fir", "--continue-steps", "train.py", "--", "--total", "8"
    )
    assert ran.code == 0, ran.err
    shown = user.outlast("show", "second").out
    assert "the last checkpoint of first, its steps going on" in shown
    assert user.outlast("show", "--json", "second").json["spec"]["continue_steps"] is True
