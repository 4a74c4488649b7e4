"""The laptop dies before or after any write of submit, stop, resume, delete: the same command again ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outlast.errors import NotFound, UsageError
from outlast.jobs.delete import delete
from outlast.jobs.find import find
from outlast.jobs.look import look
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop, wish
from outlast.jobs.submit import submit, submit_many
from outlast.jobs.watch import wait
from outlast.jobs.world import World
from outlast.testing.crash import killed_at
from tests.crash.conftest import TOTAL, Laptop

KILL_POINTS = {"submit": 14, "submit many": 24, "stop": 6, "resume": 10, "delete": 12}
"""How many there are: more or fewer means that a command writes something else than before, and its order must be argued anew."""


def verb_of(laptop: Laptop, name: str) -> Callable[[World], object]:
    if name == "submit":
        return lambda world: submit(world, laptop.asked("job"))
    if name == "submit many":
        return lambda world: submit_many(world, [laptop.asked(one, "idle.py") for one in ("job", "second")])
    if name == "stop":
        return lambda world: stop(world, find(world, "job"))
    if name == "resume":
        return lambda world: resume(world, find(world, "job"))
    return lambda world: delete(world, find(world, "job"))


def prepare(laptop: Laptop, name: str) -> None:
    """The state in which the verb is called."""
    world = laptop.world()
    if name.startswith("submit"):
        return
    job = submit(world, laptop.asked("job", "idle.py" if name == "delete" else "train.py")).job
    if name == "delete":
        wait(world, job)
        return
    while not job.folder.read_head().head.checkpoints:
        world.clock.sleep(0.02)
    if name == "resume":
        stop(world, job)


def repeat(laptop: Laptop, name: str) -> None:
    """What the user types again when the laptop is back."""
    try:
        verb_of(laptop, name)(laptop.world())
    except NotFound:
        assert name == "delete", "only a deleted job is gone"
    except UsageError:
        # A resume whose laptop died at the very end: the job has gone on, and may have succeeded since.
        assert name in ("resume", "submit many")
        assert "succeeded" in {look(laptop.world(), laptop.job(job)).state for job in ("job", "second")}


def check(laptop: Laptop, name: str) -> None:
    world = laptop.world()
    job = laptop.job("job")
    if name == "delete":
        assert [row.job for row in world.home().index()] == []
        assert [entry.key for entry in job.folder.store.list(job.folder.keys.root)] == []
        return
    if name == "stop":
        assert look(world, job).state in ("stopped", "succeeded")
        return
    status = wait(world, job)
    assert status.state == "succeeded"
    if name != "submit many":
        assert job.folder.store.get(f"{job.folder.keys.outputs}total.txt").data == TOTAL.encode()
    rows = {row.job for row in world.home().index()}
    assert rows == ({"job", "second"} if name == "submit many" else {"job"})
    assert all(wait(world, laptop.job(row)).state == "succeeded" for row in rows)
    assert status.head.ends[str(status.head.launch)] == "succeeded"


@pytest.mark.parametrize("name", KILL_POINTS)
def test_the_kill_points_are_counted(laptop: Laptop, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(laptop, name)
    counted = killed_at(laptop.world(), verb_of(laptop, name), None)
    check(laptop, name)
    with capsys.disabled():
        print(f"\n{name}: {counted} kill points")
    assert counted == KILL_POINTS[name]


@pytest.mark.parametrize(
    ("name", "point"), [(name, point) for name, count in KILL_POINTS.items() for point in range(count)]
)
def test_a_command_killed_at_any_write_can_be_given_again(laptop: Laptop, name: str, point: int) -> None:
    prepare(laptop, name)
    assert killed_at(laptop.world(), verb_of(laptop, name), point) == -1
    repeat(laptop, name)
    check(laptop, name)


def test_a_stop_whose_laptop_never_comes_back_is_still_obeyed(laptop: Laptop) -> None:
    submit(laptop.world(), laptop.asked("job"))
    job = laptop.job("job")
    wish(job, 1)
    assert wait(laptop.world(), job).state in ("stopped", "succeeded")
