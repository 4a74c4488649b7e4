"""A sweep whose supervisor, workers, trainers and laptop are killed at random moments: every cell is done exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.user import SECONDS_MAX, User, stop_everything

TRAINS = """
import os, outlast

@outlast.main
def train(lr: float, depth: int, where: str):
    state = outlast.State(x=0.0)
    for step in outlast.steps(6, state, save_steps=2):
        state.x = state.x * lr + depth
        outlast.log(step=step, loss=abs(state.x - 3))
    with open(where, "a") as finished:  # outside of everything that is put back: a cell done twice is seen here
        finished.write(f"{os.environ['OUTLAST_JOB']} {lr} {depth} {state.x!r}\\n")

if __name__ == "__main__":
    train()
"""

KILLS_SECONDS = (0.02, 0.5)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    one = User(tmp_path, env={"OUTLAST_LOCAL_CPUS": "4"})
    one.work.mkdir()
    yield one
    stop_everything(one)


def expected(lr: float, depth: int) -> float:
    x = 0.0
    for _ in range(6):
        x = x * lr + depth
    return x


@pytest.mark.parametrize("cells", [200, pytest.param(1000, marks=pytest.mark.soak)])
def test_every_cell_is_done_once_whoever_is_killed(user: User, cells: int) -> None:
    rates = [round(0.01 * number, 2) for number in range(1, cells // 10 + 1)]
    finished = user.root / "finished"
    user.write("train.py", TRAINS)
    user.write("grid.json", json.dumps({"lr": rates, "depth": list(range(1, 11)), "where": str(finished)}))
    words = ["run", "--sweep", "grid.json", "--name", "lr", "--parallel", "4", "--yes", "--retries", "3", "train.py"]
    deaths = kill_until_it_ends(user, words, random.Random(cells))
    assert deaths["supervisor"] and deaths["machine"] and deaths["agent"] and deaths["laptop"], deaths
    shown = user.outlast("jobs", "--json").json[0]
    assert shown["state"] == "succeeded", shown
    rows = sweep_rows(user, "lr")
    assert sorted(row["cell"] for row in rows) == list(range(1, cells + 1)), "each cell has its row"
    assert all(row.get("state") == "succeeded" for row in rows), Counter(row["state"] for row in rows)
    done = Counter(line.split()[0] for line in finished.read_text().splitlines())
    assert set(done) == {f"lr.{cell}" for cell in range(1, cells + 1)}
    for line in finished.read_text().splitlines():
        _, lr, depth, x = line.split()
        assert float(x) == expected(float(lr), int(depth)), line
    heads = [head(user, "lr", cell) for cell in range(1, cells + 1)]
    for one in heads:
        ends = Counter(attempt["cause"] for attempt in one["attempts"].values())
        assert one["state"] == "succeeded" and ends["succeeded"] == 1, "no cell succeeded twice"


def kill_until_it_ends(user: User, words: list[str], chance: random.Random) -> Counter[str]:
    """Whoever is killed is not helped: only the laptop's command is typed again now and then."""
    deaths: Counter[str] = Counter()
    laptop = start(user, words)
    give_up_at = time.monotonic() + 20 * SECONDS_MAX
    while True:
        assert time.monotonic() < give_up_at, f"it does not end: {user.outlast('show', 'lr').out}"
        time.sleep(chance.uniform(*KILLS_SECONDS))
        if laptop.poll() is not None:
            if laptop.returncode == 0:
                return deaths
            if laptop.returncode != -signal.SIGKILL:
                raise AssertionError(laptop.returncode)
            laptop = start(user, words)
        victim = chance.choice(["machine", "agent", "trainer", "supervisor", "laptop", "nobody", "nobody"])
        deaths[victim] += kill(user, victim, laptop, chance)


def start(user: User, words: list[str]) -> subprocess.Popen[bytes]:
    with open(user.root / "laptop.log", "ab") as log:
        return user.start(*words, stdout=log, stderr=log)


def kill(user: User, victim: str, laptop: subprocess.Popen[bytes], chance: random.Random) -> int:
    """How many died."""
    local = user.outlast_dir / "local"
    if victim == "laptop":
        laptop.kill()
        laptop.wait()
        return 1
    if victim == "supervisor":
        pids = pids_in([local / "supervisor.json"])
    elif victim == "trainer":
        pids = pids_in(sorted(local.glob("machines/*/*/trainer-*.pid.json")))
    else:
        name = {"machine": "init.json", "agent": "agent.json"}.get(victim, "nobody")
        pids = pids_in(sorted(local.glob(f"machines/*/*/{name}")))
    if not pids:
        return 0
    try:
        os.kill(chance.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def pids_in(paths: list[Path]) -> list[int]:
    """Of processes that still are who the files say."""
    found = []
    for path in paths:
        try:
            pid = int(json.loads(path.read_text())["pid"])
            if (
                b"outlast" in Path(f"/proc/{pid}/cmdline").read_bytes()
                or b"train.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ):
                found.append(pid)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def sweep_rows(user: User, sweep: str) -> list[dict[str, Any]]:
    newest: dict[int, dict[str, Any]] = {}
    for path in sorted((user.home / "jobs" / sweep / "rows").iterdir()):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            newest[row["cell"]] = row
    return list(newest.values())


def head(user: User, sweep: str, cell: int) -> dict[str, Any]:
    folder = user.home / "jobs" / sweep / "cells" / f"{cell:06d}"
    newest = max(folder.glob("head.json~*"), key=lambda path: int(path.name.rpartition("~")[2]))
    found: dict[str, Any] = json.loads(newest.read_text())
    return found
