"""A cloud whose machines are records: where what they do is no matter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.cli.conftest import user
from tests.cli.user import User

__all__ = ["emulator", "user"]

RUNNER = {"email": "outlast-runner@emulated.iam.gserviceaccount.com", "roles": ["roles/owner"]}


@pytest.fixture
def emulator(tmp_path: Path, user: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with running(tmp_path / "google", time_scale=0.01) as found:
        found.switch(machines=False)
        found.call("POST", "/_emulator/iam/service-accounts", RUNNER)
        for name, value in {**found.variables, "OUTLAST_DIR": str(user.outlast_dir)}.items():
            monkeypatch.setenv(name, value)
            user.env[name] = value
        user.write("train.py", "pass")
        yield found
