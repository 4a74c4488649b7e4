"""Whole searches as a user starts them: real workers, real trainings, a real Optuna, killed in the middle."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlast.spec.sweep.space import space
from tests.cli.user import SECONDS_MAX, User, stop_everything
from tests.waiting import until

TRAINS = """
import os, time, outlast

@outlast.main
def train(x: float, kind: str = "b", steps: int = 4, pause: float = 0.0, gate: str = ""):
    while gate and os.path.exists(gate):
        time.sleep(0.02)
    state = outlast.State(seen=0)
    for step in outlast.steps(steps, state, save_steps=1 if pause else None):
        outlast.log(loss=(x - 0.3) ** 2 + (kind != "b") + 1 / (step + 1))
        time.sleep(pause)

if __name__ == "__main__":
    train()
"""
RANGES = {"x": {"float": [0, 1]}, "kind": ["a", "b"]}
PARALLEL = ("--parallel", "2")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    one = User(tmp_path, env={"OUTLAST_LOCAL_CPUS": "2"})
    one.work.mkdir()
    one.write("train.py", TRAINS)
    one.write("ranges.json", json.dumps(RANGES))
    yield one
    stop_everything(one)


def run(user: User, *words: str, code: int = 0) -> str:
    said = user.outlast("run", "--sweep", "ranges.json", "--name", "s", *PARALLEL, *words)
    assert said.code == code, said.err
    return said.err


def rows(user: User) -> dict[int, dict[str, Any]]:
    found = {}
    for path in sorted((user.home / "jobs" / "s" / "rows").iterdir()):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found[row["cell"]] = row
    return found


def trials(user: User) -> dict[int, dict[str, Any]]:
    folder = user.home / "jobs" / "s" / "trials"
    found = [json.loads(path.read_text()) for path in folder.iterdir()] if folder.is_dir() else []
    return {trial["cell"]: trial["params"] for trial in found}


@pytest.mark.parametrize("search", ["random", "sobol"])
def test_the_cells_of_a_search_are_those_that_seed_and_number_say(user: User, search: str) -> None:
    run(user, "--search", search, "--trials", "4", "--seed", "7", "train.py")
    ranges = space(RANGES, "test")
    for cell, row in rows(user).items():
        params = getattr(ranges, search)(7, cell - 1)
        assert row["metrics"]["loss"] == pytest.approx((params["x"] - 0.3) ** 2 + (params["kind"] != "b") + 0.25)
    assert len(rows(user)) == 4
    said = run(user, "--search", search, "--trials", "6", "--seed", "7", "train.py")
    assert "2 of 6 cells" in said
    assert sorted(rows(user)) == [1, 2, 3, 4, 5, 6]


def test_a_search_that_learns_goes_on_whoever_is_killed_and_keeps_what_it_has_chosen(user: User) -> None:
    words = (
        "--search",
        "tpe",
        "--trials",
        "18",
        "--metric",
        "loss",
        "--retries",
        "3",
        "train.py",
        "--",
        "--pause",
        "0.02",
    )
    laptop = user.start("run", "--sweep", "ranges.json", "--name", "s", *PARALLEL, *words)
    local = user.outlast_dir / "local"
    seen: dict[int, dict[str, Any]] = {}
    for number, victim in (
        (3, "agent.json"),
        (6, "init.json"),
        (11, "adviser"),
        (13, "supervisor"),
        (15, "agent.json"),
    ):
        until(partial(lambda least: len(trials(user)) >= least, number), f"it never came to trial {number}")
        for cell, params in trials(user).items():
            assert seen.setdefault(cell, params) == params
        kill(user, local, victim)
        if victim == "supervisor":
            user.outlast("jobs")  # whatever is typed next starts another one
    assert laptop.wait(SECONDS_MAX * 2) == 0, (laptop.stderr.read() if laptop.stderr else b"").decode()
    for stream in (laptop.stdout, laptop.stderr):
        assert stream is not None
        stream.close()
    chosen = trials(user)
    assert sorted(chosen) == sorted(rows(user)) == list(range(1, 19))
    assert {cell: chosen[cell] for cell in seen} == seen, "a trial that was claimed again has kept its parameters"
    for cell, row in rows(user).items():
        assert row["state"] == "succeeded"
        params = chosen[cell]
        assert row["metrics"]["loss"] == pytest.approx((params["x"] - 0.3) ** 2 + (params["kind"] != "b") + 0.25)
    ranges = space(RANGES, "test")
    assert any(chosen[cell] not in (ranges.sobol(0, cell - 1), ranges.random(0, cell - 1)) for cell in range(12, 19)), (
        "the last ones were chosen by what the first ones found"
    )


def kill(user: User, local: Path, victim: str) -> None:
    """One of that kind, if there is one right now."""
    if victim == "adviser":
        pids = [pid for pid in own_processes(user) if b"The program that advises" in cmdline(pid)]
    else:
        paths = [local / "supervisor.json"] if victim == "supervisor" else sorted(local.glob(f"machines/*/*/{victim}"))
        pids = [pid for path in paths if (pid := pid_in(path)) is not None and pid in own_processes(user)]
    for pid in pids[:1]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def pid_in(path: Path) -> int | None:
    try:
        return int(json.loads(path.read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def own_processes(user: User) -> list[int]:
    from tests.cli.user import _left_over

    return _left_over(user)


def test_bad_cells_are_ended_early_and_the_sweep_has_succeeded(user: User) -> None:
    """Good ones first, so that there is something to be worse than; bad ones would take an hour."""
    good = [{"x": x, "steps": 64} for x in (0.3, 0.31, 0.32, 0.33, 0.34)]
    bad = [{"x": x, "steps": 100_000, "pause": 0.05} for x in (5.0, 6.0)]
    user.write("ranges.json", json.dumps([*good, *bad]))
    run(user, "--early", "asha", "--metric", "loss", "train.py")
    found = rows(user)
    assert sorted(found) == list(range(1, 8))
    for cell in (6, 7):
        assert found[cell]["state"] == "early", found[cell]
        assert "not among the best of" in found[cell]["reason"]
    shown = user.outlast("jobs", "--json").json[0]
    assert shown["state"] == "succeeded"
    head = user.outlast("show", "s.6", "--json").json
    assert head["state"] == "stopped"
    assert "stopped early" in user.outlast("show", "s.6").out
    assert "told to leave (early)" in user.outlast("logs", "s.6").out
    run(user, "--early", "asha", "--metric", "loss", "train.py")
    assert len(rows(user)) == 7, "what was ended early is done: nothing is begun again"


def test_a_search_that_was_stopped_goes_on_with_what_it_knows(user: User) -> None:
    gate = user.root / "gate"
    words = ("--search", "tpe", "--trials", "12", "--metric", "loss")
    said = user.outlast(
        "run",
        "--sweep",
        "ranges.json",
        "--name",
        "s",
        "--detach",
        *PARALLEL,
        *words,
        "train.py",
        "--",
        "--gate",
        str(gate),
    )
    assert said.code == 0, said.err
    until(lambda: len(rows(user)) >= 2 if (user.home / "jobs" / "s" / "rows").is_dir() else False, "no cell ended")
    gate.touch()
    assert user.outlast("stop", "s").code == 0
    before = trials(user)
    gate.unlink()
    said = user.outlast("resume", "s")
    assert said.code == 0, said.err
    until(lambda: user.outlast("jobs", "--json").json[0]["state"] == "succeeded", "it does not end")
    after = trials(user)
    assert sorted(rows(user)) == sorted(after) == list(range(1, 13))
    assert {cell: after[cell] for cell in before} == before


def test_damaged_records_of_a_search_fail_their_cell_alone(user: User) -> None:
    gate = user.root / "gate"
    gate.touch()
    words = ("--search", "tpe", "--trials", "6", "--metric", "loss", "--early", "median")
    said = user.outlast(
        "run",
        "--sweep",
        "ranges.json",
        "--name",
        "s",
        "--detach",
        *PARALLEL,
        *words,
        "train.py",
        "--",
        "--gate",
        str(gate),
    )
    assert said.code == 0, said.err
    until(lambda: len(trials(user)) == 2, "no cell began")
    folder = user.home / "jobs" / "s"
    missing = next(cell for cell in range(1, 7) if cell not in trials(user))
    (folder / "trials" / f"{missing:06d}.json~1").write_text("{")
    (folder / "rungs" / "000001").mkdir(parents=True, exist_ok=True)
    (folder / "rungs" / "000001" / "notes.txt").write_text("mine")
    gate.unlink()
    until(lambda: user.outlast("jobs", "--json").json[0]["state"] == "failed", "it does not end")
    states = {cell: row["state"] for cell, row in rows(user).items()}
    assert states == {cell: "failed" if cell == missing else "succeeded" for cell in range(1, 7)}
    assert f"trials/{missing:06d}.json" in rows(user)[missing]["reason"]
