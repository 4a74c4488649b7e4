"""The agent, or its whole machine, dies before or after every kind of write of an attempt: the job ends like one that nobody killed."""

from __future__ import annotations

import pytest

from outlast.clock import SYSTEM
from outlast.jobs.job import Job, as_launch
from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.jobs.world import World
from outlast.testing import crash
from outlast.testing.crash import AGENT_POINTS, BOOT, Point, agent_points
from tests.crash.conftest import TOTAL, Laptop

KILL_POINTS = 60
"""Compared with the list: who adds a kind of write adds its points."""

UNKILLED = {("chunk", "part"), ("put", "tail")}


def run(laptop: Laptop, point: Point | None) -> str:
    crash.plan(laptop.user_dir, point)
    world = laptop.world(BOOT)
    job = submit(world, laptop.asked("job")).job
    # A command that looks publishes what a dead machine has not: here the machine is to do it all by itself.
    while not (job.folder.read_head().head.state.final and _nobody_works(world, job)):
        SYSTEM.sleep(0.02)
    status = wait(laptop.world(BOOT), job)
    assert status.state == "succeeded"
    assert status.head.checkpoints[-1].complete
    assert job.folder.store.get(f"{job.folder.keys.outputs}total.txt").data == TOTAL.encode()
    keys = [entry.key for entry in job.folder.store.list(job.folder.keys.root)]
    kept = {job.folder.keys.manifest(one.name) for one in status.head.checkpoints}
    assert kept <= set(keys)
    return status.state


def _nobody_works(world: World, job: Job) -> bool:
    record = job.folder.read_launch(1)
    return not world.engine(record.engine).state(as_launch(job, record, job.spec())).alive


def test_the_list_of_points_knows_every_kind_of_write(laptop: Laptop, capsys: pytest.CaptureFixture[str]) -> None:
    run(laptop, None)
    known = {(operation, kind) for operation, kind, _ in AGENT_POINTS}
    with capsys.disabled():
        print(f"\nattempt: {len(agent_points())} kill points")
    assert crash.seen(laptop.user_dir) - UNKILLED == known - UNKILLED
    assert len(agent_points()) == KILL_POINTS


@pytest.mark.parametrize(
    "point", agent_points(), ids=lambda point: "-".join(str(part) for part in vars(point).values())
)
def test_a_death_at_any_write_is_survived(laptop: Laptop, point: Point) -> None:
    run(laptop, point)
    assert (laptop.user_dir / crash.DONE).exists(), "nobody died: the point was never reached"
