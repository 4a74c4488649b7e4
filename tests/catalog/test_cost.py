"""A real job whose machine has a price: it ends when that is spent, says what it cost, and goes on when it may cost more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.plan import plan
from outlast.jobs.resume import resume
from outlast.jobs.submit import carry_out
from outlast.jobs.watch import watch
from outlast.jobs.world import World, system_world
from outlast.results.status import Status
from outlast.spec.spec import Machine, Rented
from tests.cli.user import User

USD_PER_HOUR = 36.0
"""A cent a second; the boot alone is counted with 45 of them."""

RENTED = Rented(
    "project", ("us-central1",), "n2-standard-8", usd_per_hour=USD_PER_HOUR, usd_per_hour_on_demand=4 * USD_PER_HOUR
)
SLOW = """
import time, outlast
for step in outlast.steps(100_000, save_steps=1):
    time.sleep(0.02)
"""


@pytest.fixture
def world(user: User, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in user.environ().items():
        monkeypatch.setenv(name, value)
    user.work.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(user.work)
    return system_world()


def submitted(world: World, script: str, *, max_cost_usd: float | None, rented: Rented = RENTED) -> Job:
    """On this machine, as if it were one that is rented."""
    Path("train.py").write_text(script)
    planned = plan(world, Asked(target="train.py", directory=str(Path.cwd()), max_cost_usd=max_cost_usd))
    spec = replace(planned.spec, machine=Machine(1, 0, rented))
    return carry_out(world, replace(planned, spec=spec)).job


def ended(world: World, job: Job) -> Status:
    for _ in watch(world, job):
        pass
    return look(world, job)


def as_rented(monkeypatch: pytest.MonkeyPatch) -> None:
    """The price is not in the catalog: it is kept as it was given."""
    monkeypatch.setattr("outlast.jobs.rent.in_region", lambda machine, region, **_: machine)


def test_a_job_ends_when_it_has_cost_what_it_may_and_goes_on_from_its_checkpoint_when_it_may_cost_more(
    world: World, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_rented(monkeypatch)
    job = submitted(world, SLOW, max_cost_usd=0.55)
    status = ended(world, job)
    assert (status.state, status.outcome_code) == ("expired", 8)
    assert status.why == "its limit of $0.55 is reached"
    assert 0.45 < status.cost_usd <= 0.60
    assert status.checkpoints, "it was told in time to save"
    shown = user.outlast("show", job.id, "--json").json
    assert shown["max_cost_usd"] == 0.55 and shown["cost_usd"] == status.cost_usd
    assert shown["usd_per_hour"] == USD_PER_HOUR
    next_words = f"`outlast resume {job.id} --max-cost 37` goes on from step"
    assert next_words in user.outlast("show", job.id).out, "what is said to be typed is not refused"

    for changes in ({}, {"max_cost_usd": 0.45}):
        with pytest.raises(UsageError, match=r"that it may cost") as raised:
            resume(world, job, changes=changes)
    assert "--max-cost" in raised.value.hint
    assert look(world, job).head.launch == 1, "a refused resume leaves the job as it was"

    resume(world, job, changes={"max_cost_usd": 1.15})
    again = ended(world, job)
    assert again.state == "expired" and again.head.attempts["2"].resumed_from_step == status.checkpoints[-1].step
    assert 0.95 < again.cost_usd <= 1.20, "what was spent before counts"


def test_the_last_line_says_what_it_cost_and_how_much_less_than_on_demand(
    world: World, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_rented(monkeypatch)
    job = submitted(world, "print('done')", max_cost_usd=None)
    status = ended(world, job)
    assert status.state == "succeeded" and 0.45 <= status.cost_usd < 0.60
    assert status.cost_usd_on_demand == pytest.approx(4 * status.cost_usd, rel=0.05)
    from outlast.cli.outcome import end_line

    assert f"${status.cost_usd:.2f}, 75% under on demand, 0 preemptions" in end_line(status)
    listed = user.outlast("jobs")
    assert "COST" in listed.out and f"${status.cost_usd:.2f}" in listed.out
    told = user.outlast("show", job.id)
    assert f"$36.00 per hour (75% under on demand), it cost ${status.cost_usd:.2f}" in told.out


def test_what_lingers_is_counted_before_it_is_spent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    as_rented(monkeypatch)
    job = submitted(world, "print('done')", max_cost_usd=None, rented=replace(RENTED, linger_seconds=100.0))
    assert 1.45 <= ended(world, job).cost_usd < 1.60


def test_a_job_on_this_machine_costs_nothing_and_nobody_is_told_otherwise(world: World, user: User) -> None:
    Path("train.py").write_text("print('done')")
    said = user.outlast("run", "--max-cost", "0.01", "train.py")
    assert said.code == 0 and "$0, 0 preemptions" in said.err
    assert "COST" not in user.outlast("jobs").out
