"""A user of their own for every test, and a directory store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.store.directory import DirectoryStore
from tests.cli.user import User, stop_everything


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    one = User(tmp_path)
    one.work.mkdir()
    yield one
    stop_everything(one)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """Whoever leaves modes to chance makes everything for everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "home")
