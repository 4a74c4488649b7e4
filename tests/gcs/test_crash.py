"""Killed before and after every write, with a home in a bucket: the spine's crash suite once more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.jobs.submit import submit
from outlast.jobs.watch import wait
from outlast.testing import crash
from tests.crash.conftest import Laptop
from tests.crash.conftest import laptop as directory_laptop
from tests.crash.test_commands import KILL_POINTS, check, prepare, repeat, verb_of

SHORT = """
import outlast, time
state = outlast.State(total=0)
for step in outlast.steps(24, state, save_steps=8):
    state.total += step
    outlast.log(step, total=state.total)
    time.sleep(0.02)
print("total", state.total, flush=True)
(outlast.output_dir() / "total.txt").write_text(str(state.total))
"""

SECONDS_MAX = 60.0

_laptop = directory_laptop


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> Iterator[Laptop]:
    monkeypatch.setenv("OUTLAST_HOME", home)
    yield from _laptop.__wrapped__(tmp_path, monkeypatch)  # type: ignore[attr-defined]


def killed_and_repeated(laptop: Laptop, name: str, point: int) -> None:
    prepare(laptop, name)
    came_past = crash.killed_at(laptop.world(), verb_of(laptop, name), point)
    assert came_past == -1 or came_past <= point  # a bucket may hold an object less than a directory
    repeat(laptop, name)
    check(laptop, name)


@pytest.mark.parametrize("point", range(KILL_POINTS["submit"]))
def test_a_laptop_killed_at_any_step_of_submit_submits_again(laptop: Laptop, point: int) -> None:
    (laptop.work / "train.py").write_text(SHORT)
    killed_and_repeated(laptop, "submit", point)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "point"),
    [(name, point) for name, count in KILL_POINTS.items() if name != "submit" for point in range(count)],
)
def test_a_command_killed_at_any_write_can_be_given_again(laptop: Laptop, name: str, point: int) -> None:
    killed_and_repeated(laptop, name, point)


SOME_POINTS = [
    point
    for point in crash.agent_points()
    if (point.operation, point.kind, point.occurrence) in (("put", "head", 2), ("put", "manifest", 1))
    and point.when == "after"
]


def killed_agent(laptop: Laptop, point: crash.Point) -> None:
    crash.plan(laptop.user_dir, point)
    world = laptop.world(crash.BOOT)
    job = submit(world, laptop.asked("job")).job
    until = world.clock.monotonic() + SECONDS_MAX
    # Nobody looks before somebody has died: whoever looks at a job that has ended publishes its outputs before its agent does.
    while not (laptop.user_dir / crash.DONE).exists():
        assert world.clock.monotonic() < until, "nobody died"
        world.clock.sleep(0.1)
    assert wait(world, job).state == "succeeded"
    check(laptop, "submit")


@pytest.mark.parametrize("point", SOME_POINTS, ids=str)
def test_an_agent_killed_at_its_commit_goes_on(laptop: Laptop, point: crash.Point) -> None:
    (laptop.work / "train.py").write_text(SHORT)
    killed_agent(laptop, point)


OTHER_POINTS = [
    # A short job in a bucket commits too seldom to drop a checkpoint: there is nothing to purge.
    point
    for point in crash.agent_points()
    if point not in SOME_POINTS and point.operation != "purge"
]


@pytest.mark.soak
@pytest.mark.parametrize("point", OTHER_POINTS, ids=str)
def test_an_agent_killed_at_any_write_goes_on(laptop: Laptop, point: crash.Point) -> None:
    killed_agent(laptop, point)
