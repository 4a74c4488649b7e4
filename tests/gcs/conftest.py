"""An emulator for these tests: it shares no code with what is tested."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast.google.buckets import ensure
from outlast.google.connect import connect
from outlast.google.storage import StorageClient

pytest.register_assert_rewrite("outlast.testing.store_checks_alone", "outlast.testing.store_checks_shared")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from outlast_emulator.testing import running

    with running(data=tmp_path_factory.mktemp("emulator"), process=True) as emulator:
        yield emulator


@pytest.fixture
def emulator(shared_emulator: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Pointed to by the environment; without faults, latency or a limit of writes per second, unless a test asks."""
    for name, value in shared_emulator.variables.items():
        monkeypatch.setenv(name, value)
    shared_emulator.reset()
    yield shared_emulator
    shared_emulator.reset()


@pytest.fixture
def bucket(emulator: Any) -> str:
    """A new one, empty."""
    name = f"home-{next(_numbers)}-{id(emulator):x}"
    ensure(StorageClient(connect(), name), "emulated", "us-central1")
    return name


@pytest.fixture
def home(bucket: str) -> str:
    return f"gs://{bucket}"


Scratch = Callable[[str], Path]
