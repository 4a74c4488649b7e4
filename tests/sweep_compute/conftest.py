"""An emulator with machines, and somebody who sweeps on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.cli.user import User
from tests.compute.conftest import emulator, user
from tests.sweep_compute.sweeper import Sweeper

__all__ = ["emulator", "user"]


@pytest.fixture
def sweeper(emulator: Running, user: User, tmp_path: Path) -> Sweeper:
    flags = tmp_path / "flags"
    flags.mkdir()
    one = Sweeper(user, emulator, flags)
    one.init()
    one.post("world", shown={"/srv/flags": str(flags)})
    return one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest first, so that nobody waits for one that began last."""
    items.sort(key=lambda item: "sweeper" not in getattr(item, "fixturenames", ()))
