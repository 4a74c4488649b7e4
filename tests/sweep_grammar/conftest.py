"""A user, and an emulator that has images to boot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.conftest import user
from tests.cli.user import User

__all__ = ["user"]


@pytest.fixture(scope="session")
def shared_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(data=tmp_path_factory.mktemp("emulator"), process=True) as emulator:
        yield emulator


@pytest.fixture
def emulator(shared_emulator: Running, user: User, monkeypatch: pytest.MonkeyPatch) -> Running:
    for name, value in shared_emulator.variables.items():
        monkeypatch.setenv(name, value)
        user.env[name] = value
    return shared_emulator
