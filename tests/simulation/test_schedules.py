"""Whole jobs under seeded faults: every promise holds, and every kind of fault has really happened."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import outlast
from outlast.testing.simulation.draw import draw
from outlast.testing.simulation.options import FAULT_KINDS
from outlast.testing.simulation.run import Summary, run_one, summarize
from outlast.testing.simulation.themes import THEMES

FIXED = range(1500)
FRESH_COUNT = 500
FRESH_FROM = 2000
SHARE_MIN = 0.05


def fresh() -> range:
    """Seeds that change with the code they try: nobody can have tuned it to them, and a failure can still be repeated."""
    root = Path(outlast.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for name in ("agent", "folder", "jobs") for path in (root / name).glob("*.py")):
        digest.update(path.read_bytes())
    first = int.from_bytes(digest.digest()[:4], "big") + FRESH_FROM
    return range(first, first + FRESH_COUNT)


def run(seeds: range) -> Summary:
    # Under xdist each test process has one core of its own; alone, this test takes them all.
    processes = 1 if os.environ.get("PYTEST_XDIST_WORKER") else os.cpu_count() or 1
    summary = summarize(seeds, processes=processes)
    print(f"{summary.schedules} schedules, {summary.seconds / 3600:.0f} h of virtual time, {summary.attempts} attempts")
    return summary


def check(summary: Summary) -> None:
    if summary.failures:
        told = "\n\n".join(result.text() for result in summary.failures[:5])
        pytest.fail(
            f"{len(summary.failures)} of {summary.schedules} schedules broke a promise\n\n{told}", pytrace=False
        )


def test_fifteen_hundred_known_schedules_break_no_promise_and_meet_every_kind_of_fault() -> None:
    summary = run(FIXED)
    check(summary)
    shares = {kind: summary.faults[kind] / summary.schedules for kind in FAULT_KINDS}
    for kind, share in shares.items():
        print(f"{share:6.1%}  {kind}")
    assert {kind: share for kind, share in shares.items() if share < SHARE_MIN} == {}
    assert {"succeeded", "failed", "stopped", "expired"} <= summary.states.keys()


@pytest.mark.soak
def test_five_hundred_more_break_no_promise() -> None:
    check(run(range(1500, FRESH_FROM)))


def test_five_hundred_schedules_that_come_with_the_code_break_no_promise() -> None:
    check(run(fresh()))


@pytest.mark.soak
def test_fifty_thousand_schedules_break_no_promise() -> None:
    check(run(range(1 << 40, (1 << 40) + 50_000)))


def test_a_seed_replays_to_the_last_byte() -> None:
    for seed in (3, 20, 77):
        first, second = run_one(seed, tracing=True), run_one(seed, tracing=True)
        assert first.trace == second.trace
        assert first.events == second.events


def test_a_seed_is_the_same_schedule_in_every_process() -> None:
    """Nothing may depend on the order of a set of strings, or on anything else that a process brings along."""
    seeds = ("0x2", "0x14", "0x21")
    traces = {hash_seed: [replay(seed, hash_seed) for seed in seeds] for hash_seed in ("1", "2")}
    assert traces["1"] == traces["2"]
    assert all("head.json" in trace for trace in traces["1"])


def replay(seed: str, hash_seed: str) -> str:
    command = [sys.executable, "-m", "outlast.testing.simulation", "--seed", seed]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_every_theme_is_drawn() -> None:
    assert {draw(seed).theme for seed in range(500)} == {"", *THEMES}
