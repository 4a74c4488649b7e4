"""Working directories for all tests of bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle import tree
from tests.bundle.working import Working


@pytest.fixture(autouse=True)
def short_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a file's time is in doubt: enough for the kernels that tests run on, and not so long to wait for."""
    monkeypatch.setattr(tree, "RACY_NANOSECONDS", 100_000_000)


@pytest.fixture
def working(tmp_path: Path) -> Working:
    return Working(tmp_path)


@pytest.fixture
def plain(tmp_path: Path) -> Working:
    """Outside of git."""
    return Working(tmp_path, git=False)
