"""Two directories to compare."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    left, right = tmp_path / "left", tmp_path / "right"
    left.mkdir()
    right.mkdir()
    return left, right
