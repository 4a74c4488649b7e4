"""Prune in a bucket: the same steps against Cloud Storage's own rules, on an emulator that shares no code with what is tested."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest

from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.folder.prunes import Prunes
from outlast.google.buckets import ensure
from outlast.google.connect import connect
from outlast.google.storage import StorageClient
from outlast.jobs.delete import delete
from outlast.jobs.prune import find_unneeded, prune
from outlast.jobs.settle import lacks
from outlast.jobs.submit import submit
from outlast.jobs.world import World
from outlast.store.registry import open_store
from outlast.store.store import Store
from outlast_emulator.testing import running
from tests.housekeeping.interleaving import Stepping, Turns
from tests.housekeeping.user import DAY, User, make_user


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with running(data=tmp_path_factory.mktemp("emulator"), process=True) as emulator:
        emulator.switch(write_limit=False, require_login=False, authorize=True)
        yield dict(emulator.variables)


@dataclass
class CloudUser(User):
    bucket: str = ""

    def world(self, wrap: Callable[[Store], Store] = lambda store: store, user: str = "user") -> World:
        user_dir = self.directory / user
        user_dir.mkdir(mode=0o700, exist_ok=True)
        return World(
            clock=SYSTEM,
            random=Random(os.urandom(8)),
            user_dir=user_dir,
            open_store=lambda url: wrap(open_store(url)),
            make_engine=lambda name: self.engine,
            environ={**os.environ, "OUTLAST_HOME": f"gs://{self.bucket}"},
        )


@pytest.fixture
def cloud_user(variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CloudUser:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    bucket = f"prune-{os.getpid()}-{os.urandom(4).hex()}"
    ensure(StorageClient(connect(), bucket), "emulated", "us-central1")
    user = CloudUser(make_user(tmp_path).directory, bucket=bucket)
    user.store = open_store(f"gs://{bucket}")  # type: ignore[assignment]
    return user


def pruning(world: World) -> None:
    prune(world, find_unneeded(world.home(), older_than_seconds=30 * DAY))


def test_what_nothing_needs_goes_and_what_is_needed_stays(cloud_user: CloudUser, tmp_path: Path) -> None:
    cloud_user.finished("old")
    pruning(cloud_user.world())
    assert [
        entry.key for prefix in ("jobs/", "index/", "packs/", "bundles/") for entry in cloud_user.store.list(prefix)
    ] == []
    job = submit(cloud_user.world(), cloud_user.asked("new")).job
    pruning(cloud_user.world())
    unpack(cloud_user.store, job.folder.read_spec().bundle, tmp_path / "unpacked")


@pytest.mark.parametrize("seed", range(8))
def test_a_submit_at_the_same_moment_is_whole(cloud_user: CloudUser, tmp_path: Path, seed: int) -> None:
    delete(cloud_user.world(), cloud_user.finished("old"))
    random = Random(seed)
    turns = Turns([random.randrange(1, 12) for _ in range(8)])
    worlds = [cloud_user.world(partial(Stepping, turns=turns, who=who)) for who in (0, 1)]
    turns.run((lambda: submit(worlds[0], cloud_user.asked("new")), lambda: pruning(worlds[1])))
    assert turns.errors == [None, None]
    spec = cloud_user.job("new").folder.read_spec()
    assert not lacks(cloud_user.store, spec, Prunes())
    unpack(cloud_user.store, spec.bundle, tmp_path / "unpacked")
