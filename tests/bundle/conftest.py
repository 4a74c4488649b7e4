"""Working directories for all tests of bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle.working import Working


@pytest.fixture
def working(tmp_path: Path) -> Working:
    return Working(tmp_path)


@pytest.fixture
def plain(tmp_path: Path) -> Working:
    """Outside of git."""
    return Working(tmp_path, git=False)
