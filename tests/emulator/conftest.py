"""One emulator per module of tests, and a fresh bucket per test: a start is cheap, but not free."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from outlast_emulator.testing import Running, running

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture
def emulator(_shared: Running) -> Iterator[Running]:
    """As it was started: no faults, no latency, the network whole; one object may be written as often as a test likes."""
    _shared.switch(write_limit=False)
    yield _shared
    _shared.clear_faults()
    _shared.cut_network("")
    _shared.call("POST", "/_emulator/latency", {})
    _shared.call("POST", "/_emulator/clock", {"skew_seconds": 0})


@pytest.fixture
def bucket(emulator: Running) -> str:
    name = f"bucket-{next(_numbers)}"
    emulator.make_bucket(name)
    return name
