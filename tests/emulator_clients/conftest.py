"""Foreign clients against the emulator: where nothing else can be reached, with a home of their own, and every call noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running
from tests.alone import leave_the_network
from tests.emulator_clients import used

leave_the_network()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One emulator, a process of its own, for all tests of this worker."""
    with running(tmp_path_factory.mktemp("emulator"), process=True) as found:
        yield found


@pytest.fixture
def emulator(shared: Running, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """The shared emulator; afterwards, what the client has called is compared with what is written in used.json."""
    for name, value in shared.variables.items():
        monkeypatch.setenv(name, value)
    before = used.seen_so_far(shared)
    yield shared
    client = getattr(request.module, "CLIENT", "")
    if client:
        pinned = getattr(request.module, "PINNED", True)
        used.compare(shared, before, client, request.node.name, pinned)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a client may write what it likes."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def bucket(emulator: Running, request: pytest.FixtureRequest) -> str:
    """A bucket of the test's own, made without the client. One write a second per name is Google's rule, and kept."""
    name = "b-" + request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:50].strip("-")
    emulator.make_bucket(name)
    return name
