"""Users whose homes are kept tidy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.housekeeping.user import User, make_user


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OUTLAST_HOME", raising=False)
    return make_user(tmp_path)
