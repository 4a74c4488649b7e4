"""A prune killed before or after any of its writes: the next one does the rest, and a submit in between is whole."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.folder.prunes import Prunes
from outlast.jobs.prune import find_unneeded, prune
from outlast.jobs.settle import lacks
from outlast.jobs.submit import submit
from outlast.jobs.world import World
from outlast.store.directory import DirectoryStore
from outlast.testing.crash import killed_at
from tests.housekeeping.user import DAY, NoMachines, User

KILL_POINTS = 18
"""How many there are: more or fewer means that prune writes something else than before, and its order must be argued anew."""


@dataclass
class DiskUser(User):
    """With a home that other processes see."""

    def world(self, *_: object, **__: object) -> World:
        user_dir = self.directory / "user"
        user_dir.mkdir(mode=0o700, exist_ok=True)
        return World(
            clock=SYSTEM,
            random=Random(os.urandom(8)),
            user_dir=user_dir,
            open_store=lambda url: DirectoryStore(self.directory / "home"),
            make_engine=lambda name: NoMachines(),
            environ=os.environ,
        )


@pytest.fixture
def disk_user(user: User) -> DiskUser:
    """One old job with code of its own, one half submit, and one job that stays."""
    disk_user = DiskUser(user.directory, store=DirectoryStore(user.directory / "home"))  # type: ignore[arg-type]
    disk_user.finished("old")
    half = submit(disk_user.world(), disk_user.asked("half")).job
    disk_user.store.delete(half.folder.keys.head, if_generation=half.folder.read_head().generation)
    work, other = disk_user.work, disk_user.directory / "elsewhere"
    work.rename(other)
    work.mkdir()
    (work / "train.py").write_text("# this one stays\n")
    disk_user.finished("stays", days_ago=1)
    return disk_user


@pytest.fixture(autouse=True)
def halves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.jobs.prune._is_old_half", lambda home, job, before: True)


def pruning(world: World) -> None:
    prune(world, find_unneeded(world.home(), older_than_seconds=30 * DAY))


def check(user: DiskUser, tmp_path: Path) -> None:
    store = user.world().home().store
    jobs = {entry.key.split("/")[1] for entry in store.list("jobs/")}
    assert jobs == {"stays", "new"}
    assert {row.job for row in user.world().home().index()} == jobs
    for job in jobs:
        spec = user.job(job).folder.read_spec()
        assert not lacks(store, spec, Prunes())
        unpack(store, spec.bundle, tmp_path / f"unpacked-{job}")
    assert find_unneeded(user.world().home(), older_than_seconds=30 * DAY).items == []


def submit_what_went(user: DiskUser) -> None:
    """The same directory that the old job had shipped."""
    user.work.rename(user.directory / "away")
    (user.directory / "elsewhere").rename(user.work)
    submit(user.world(), user.asked("new"))


def test_the_kill_points_are_counted(disk_user: DiskUser, tmp_path: Path) -> None:
    assert killed_at(disk_user.world(), pruning, None) == KILL_POINTS
    submit_what_went(disk_user)
    check(disk_user, tmp_path)


@pytest.mark.parametrize("point", range(KILL_POINTS))
def test_a_prune_killed_at_any_write_is_finished_by_the_next(disk_user: DiskUser, tmp_path: Path, point: int) -> None:
    assert killed_at(disk_user.world(), pruning, point) == -1
    submit_what_went(disk_user)
    pruning(disk_user.world())
    check(disk_user, tmp_path)
