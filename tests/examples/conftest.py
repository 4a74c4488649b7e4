"""The examples as their READMEs describe them: real data, a user of their own, an emulator for buckets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.jobs.world import World
from outlast_emulator.testing import Running
from tests.cli.user import User, stop_everything
from tests.drill.conftest import drill_dir, world
from tests.examples.places import CENSUS
from tests.gcs.conftest import bucket, emulator, home, shared_emulator

__all__ = ["bucket", "drill_dir", "emulator", "home", "shared_emulator", "world"]


@pytest.fixture(scope="session")
def census() -> Path:
    """The directory with the real data."""
    assert (CENSUS / "adult.test").is_file(), "the census data are missing: `make everything` brings them"
    return CENSUS


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    one = User(tmp_path / "ada")
    one.work.mkdir(parents=True)
    yield one
    stop_everything(one)


@pytest.fixture
def cloud_world(emulator: Running, world: World) -> World:
    """A world whose homes may be buckets: the emulator's variables are set."""
    return world
