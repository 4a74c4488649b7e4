"""Vertex AI, Cloud Logging and the registry: an emulator with its time scaled a hundredfold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from outlast_emulator.testing import Running, running
from tests.emulator_clients import used

TIME_SCALE = 0.01
WAIT_SECONDS_MAX = 90.0

Found = TypeVar("Found")


def until(find: Callable[[], Found], what: Callable[[], object] | str = "") -> Found:
    """What `find` returns, as soon as it is true."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        found = find()
        if found:
            return found
        assert time.monotonic() < deadline, (what() if callable(what) else what) or "it never came true"
        time.sleep(0.02)


@pytest.fixture
def emulator(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(tmp_path / "emulator", time_scale=TIME_SCALE) as found:
        yield found
        client: Any = getattr(request.module, "CLIENT", "")
        if client:
            used.compare(found, 0, client, request.node.name, getattr(request.module, "PINNED", True))
