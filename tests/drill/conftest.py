"""A world for drills: real processes, and nothing of the user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.jobs.world import World, system_world


@pytest.fixture(scope="session")
def drill_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("user")


@pytest.fixture
def world(drill_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """One supervisor for all tests of a process: it ends by itself when it is idle."""
    monkeypatch.setenv("HOME", str(drill_dir))
    monkeypatch.setenv("OUTLAST_DIR", str(drill_dir / "outlast"))
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.delenv("OUTLAST_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    yield system_world()
