"""A project of their own for every test, as Google gives it to a newcomer, and an admin of it who dies on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.conftest import user
from tests.cloud.admin import Admin

__all__ = ["user"]

NEW_PROJECT = ["storage.googleapis.com", "logging.googleapis.com"]
"""The APIs that are on in it."""


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with running(tmp_path / "google", time_scale=0.02) as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        found.switch(enable_seconds=0.0, write_limit=False)
        found.call("POST", "/_emulator/apis", {"enabled": NEW_PROJECT})
        yield found


@pytest.fixture
def admin(emulator: Running, tmp_path: Path) -> Admin:
    work = tmp_path / "admin"
    work.mkdir(exist_ok=True)
    return Admin(emulator, work, tmp_path / "admin-outlast")
