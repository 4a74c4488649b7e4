"""An emulator whose Vertex AI really runs containers, and whoever uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.conftest import user
from tests.cli.user import User
from tests.vertex.place import TIME_SCALE, VertexPlace
from tests.vertex.trainer import Trainer

__all__ = ["user"]


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """In a process of its own: it makes namespaces, and is killed in tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with running(tmp_path / "google", time_scale=TIME_SCALE, process=True) as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def place(emulator: Running, tmp_path: Path) -> VertexPlace:
    return VertexPlace(tmp_path, emulator)


@pytest.fixture
def trainer(emulator: Running, user: User) -> Trainer:
    return Trainer(user, emulator)
