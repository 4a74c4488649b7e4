"""An emulator for these tests: it shares no code with what is tested."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from outlast.google.buckets import ensure
from outlast.google.connect import connect
from outlast.google.storage import StorageClient
from outlast_emulator.testing import Running, running

pytest.register_assert_rewrite(*(f"outlast.testing.store_checks_{part}" for part in ("alone", "keys", "shared")))

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(data=tmp_path_factory.mktemp("emulator"), process=True) as emulator:
        yield emulator


@pytest.fixture
def emulator(shared_emulator: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """Pointed to by the environment; without faults, and without a limit of writes per second, unless a test asks."""
    for name, value in shared_emulator.variables.items():
        monkeypatch.setenv(name, value)
    calm(shared_emulator)
    yield shared_emulator
    calm(shared_emulator)


def calm(emulator: Running) -> None:
    emulator.cut_network("")
    emulator.clear_faults()
    emulator.switch(write_limit=False, require_login=False, authorize=True)


@pytest.fixture
def bucket(emulator: Running) -> str:
    """A new one, empty."""
    name = f"home-{next(_numbers)}-{os.getpid()}"
    ensure(StorageClient(connect(), name), "emulated", "us-central1")
    return name


@pytest.fixture
def home(bucket: str) -> str:
    return f"gs://{bucket}"
