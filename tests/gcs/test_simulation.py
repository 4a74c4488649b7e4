"""The spine's simulation over a home in a bucket: each actor has the real store, transport and retries, on virtual time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from outlast.agent import commits
from outlast.store.gcs import GcsStore
from outlast.testing.simulation import run
from outlast.testing.simulation.checks import trainers
from outlast.testing.simulation.run import run_one
from tests.gcs import simulated


@pytest.fixture(autouse=True)
def in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "World", simulated.CloudWorld)
    # Where writes are billed, commits wait; on a notice, at a stop and at the end nothing waits.
    longest = trainers.COMMIT_SECONDS_MAX + commits.COMMIT_SECONDS_MAX
    monkeypatch.setattr(trainers, "COMMIT_SECONDS_MAX", longest)


def check(seeds: range) -> Counter[str]:
    results = [run_one(seed) for seed in seeds]
    assert [f"{one.seed}: {text}" for one in results for text in one.violations] == []
    return Counter(fault for one in results for fault in one.faults)


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_no_schedule_breaks_a_promise(first: int) -> None:
    faults = check(range(first, first + 100))
    assert {"answer lost", "late write", "error before", "412 after own lost answer"} <= set(faults), faults


@pytest.mark.soak
@pytest.mark.parametrize("first", range(500, 8500, 500))
def test_no_schedule_of_many_breaks_a_promise(first: int) -> None:
    check(range(first, first + 500))


def test_a_store_that_takes_anybodys_write_for_its_own_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """412 after a lost answer is told apart from somebody else's write by the nonce in the object's metadata."""

    def believing(self: GcsStore, key: str, name: str, op: str) -> int:
        return int(self._client.describe(name)["generation"])

    monkeypatch.setattr(GcsStore, "_told", believing)
    assert any(run_one(seed).violations for seed in range(60))


def test_the_simulation_really_asks_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    send = simulated.SimulatedWire.send

    def counted(self: simulated.SimulatedWire, request: Any, **limits: float) -> object:
        asked[request.method] += 1
        return send(self, request, **limits)

    monkeypatch.setattr(simulated.SimulatedWire, "send", counted)
    result = run_one(1)
    assert result.violations == [] and result.writes > 10
    assert min(asked["GET"], asked["POST"], asked["DELETE"]) > 0, asked
