"""The laptop dies before or after any write of a sweep's run, stop, resume: the same command works again, and nothing leaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from outlast.folder.sweep import SweepFolder
from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.plan import plan
from outlast.jobs.sweep import SweepAsked, look_again, submit_again, submit_sweep
from outlast.jobs.sweep_check import with_workers
from outlast.jobs.world import World, system_world
from outlast.spec.spec import Sweep
from outlast.testing.crash import killed_at
from tests.compute.laptop import each
from tests.compute.test_killed_laptops import Laptop, emulator, laptop

__all__ = ["emulator", "laptop"]

KILL_POINTS = {"run": 18, "stop": 10, "resume": 11}
"""As many as a job has, and the record of its cells: one more write, however many there are."""

CELLS = SweepAsked({"seed": list(range(1000))}, "cells.json", Sweep(), parallel=3)


@dataclass
class SweepLaptop(Laptop):
    def verb(self, name: str) -> Callable[[World], object]:
        return self._run if name == "run" else super().verb(name)

    def _run(self, world: World) -> None:
        """As the command does it."""
        request = Asked("train.py", directory=str(self.directory), on="compute", job_id=self.bucket, cells=CELLS.cells)
        planned, _ = with_workers(world, plan(world, request), CELLS, 1000)
        again = look_again(planned, CELLS)
        if again is None:
            submit_sweep(world, planned, CELLS)
        else:
            submit_again(world, planned, CELLS, again, "failed")

    def check(self, name: str) -> None:
        folder = SweepFolder(find(system_world(), self.bucket).folder)
        assert [grid.cells for grid in folder.grids()] == [1000]
        assert folder.folder.read_launch(folder.folder.read_head().head.launch).workers == 3
        super().check(name)


@pytest.fixture
def sweeping(laptop: Laptop) -> SweepLaptop:
    return SweepLaptop(laptop.emulator, laptop.bucket, laptop.directory)


@pytest.mark.parametrize("name", KILL_POINTS)
def test_the_kill_points_are_counted(name: str, sweeping: SweepLaptop) -> None:
    sweeping.prepare(name)
    assert killed_at(system_world(), sweeping.verb(name), None) == KILL_POINTS[name]
    sweeping.check(name)


OTHERS = [pytest.param(*one, marks=pytest.mark.soak) for one in each(KILL_POINTS) if one[0] != "run"]
"""They write what they write for a job: see tests/compute."""


@pytest.mark.parametrize(("name", "point"), [*each({"run": KILL_POINTS["run"]}), *OTHERS])
def test_a_command_killed_at_any_write_can_be_given_again(name: str, point: int, sweeping: SweepLaptop) -> None:
    sweeping.prepare(name)
    assert killed_at(system_world(), sweeping.verb(name), point) == -1
    sweeping.verb(name)(system_world())
    sweeping.check(name)
