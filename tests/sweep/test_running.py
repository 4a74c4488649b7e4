"""A sweep that runs: what is seen of it, and how it is stopped and resumed."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.user import SECONDS_MAX, User
from tests.sweep.conftest import done
from tests.waiting import until

HELD = ("--", "--gate")


def begin(user: User, *options: str, grid: str = '{"lr": [0.5, 0.2, 0.4]}') -> str:
    """A sweep whose cells wait in their second step until the file is there whose path is answered."""
    user.write("grid.json", grid)
    gate = str(user.root / "gate")
    said = user.outlast(
        "run", "--sweep", "grid.json", "--name", "lr", "--detach", "--parallel", "2", *options, "train.py", *HELD, gate
    )
    assert said.code == 0, said.err
    return gate


def cells(user: User) -> list[dict[str, Any]]:
    found = user.outlast("show", "lr", "--json").json["cell_list"]
    assert isinstance(found, list)
    return found


def held(user: User) -> list[dict[str, Any]]:
    """Two cells are in their second step, and the home has heard of it."""

    def both() -> list[dict[str, Any]] | None:
        running = [cell for cell in cells(user) if cell["state"] == "running" and cell["step"] == 1]
        return running if len(running) == 2 else None

    return until(both, lambda: cells(user))


def test_cells_that_run_are_shown_with_what_they_logged_last(user: User) -> None:
    gate = begin(user)
    running = held(user)
    for cell in running:
        assert cell["metrics"]["rate"] == cell["params"]["lr"]
        assert cell["attempts"] == 1
        assert cell["ended_at"] is None
    waiting = [cell for cell in cells(user) if cell["state"] == "waiting"]
    assert len(waiting) == 1
    assert waiting[0]["metrics"] == {}
    row = user.outlast("jobs", "--json").json[0]
    assert row["state"] == "running"
    assert row["cells"] == {"total": 3, "done": 0, "failed": 0, "stopped": 0, "running": 2, "waiting": 1}
    assert "0 of 3 cells, 2 running" in user.outlast("jobs").out
    assert "3 cells of 3 have not ended" in user.outlast("results", "lr").err
    number = waiting[0]["cell"]
    told = user.outlast("show", f"lr.{number}").err
    assert "has not begun" in told and f"--lr {waiting[0]['params']['lr']}" in told

    one = user.outlast("show", f"lr.{running[0]['cell']}", "--json").json
    assert (one["state"], one["step"]) == ("running", 1)
    following = user.start("logs", "-f", "lr")
    alone = user.start("logs", "-f", "lr", str(running[0]["cell"]))
    (user.root / "gate").touch()
    assert gate
    out, _ = following.communicate(timeout=SECONDS_MAX)
    assert following.returncode == 0
    assert sorted(line for line in out.decode().splitlines() if " step " in line) == sorted(
        f"[{cell}] lr {lr} depth 1 step {step}" for cell, lr in ((1, 0.5), (2, 0.2), (3, 0.4)) for step in range(3)
    )
    mine, _ = alone.communicate(timeout=SECONDS_MAX)
    assert alone.returncode == 0
    lr = running[0]["params"]["lr"]
    assert mine.decode().splitlines() == [f"lr {lr} depth 1 step {step}" for step in range(3)]


def test_stop_ends_all_cells_and_resume_does_what_is_missing_from_where_it_was(user: User) -> None:
    begin(user)
    held(user)
    said = user.outlast("stop", "lr", "--json")
    assert said.code == 0, said.err
    assert said.json[0]["state"] == "stopped"
    assert said.json[0]["cells"] == {"total": 3, "done": 0, "failed": 0, "stopped": 2, "running": 0, "waiting": 1}
    assert sorted(cell["state"] for cell in cells(user)) == ["missing", "stopped", "stopped"]
    assert done(user) == []

    (user.root / "gate").touch()
    said = user.outlast("resume", "lr", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["cells"]["done"] == 3
    assert sorted(done(user)) == ["0.2 1", "0.4 1", "0.5 1"]
    resumed = [cell for cell in cells(user) if cell["attempts"] == 2]
    assert len(resumed) == 2
    log = user.outlast("logs", f"lr.{resumed[0]['cell']}")
    assert "attempt 2, resumed from step" in log.err
    said = user.outlast("resume", "lr")
    assert "has succeeded" in said.err
    assert "--rerun all" in said.err


def test_resume_of_a_sweep_does_again_what_failed(user: User) -> None:
    user.write("grid.json", '{"depth": [1, 2]}')
    words = ("run", "--sweep", "grid.json", "--name", "lr", "train.py", "--", "--fails", "2")
    assert user.outlast(*words).code == 1
    assert done(user) == ["0.1 1"]
    (user.root / "mended").touch()
    said = user.outlast("resume", "lr")
    assert said.code == 0, said.err
    assert "goes on with 1 of 2 cells, those that failed or are missing: 2" in said.err
    assert done(user) == ["0.1 1", "0.1 2"]


def test_the_end_of_a_sweep_is_told_once_with_its_counts(user: User) -> None:
    user.write("tell.sh", f"#!/bin/sh\ncat >> {user.root}/told\n").chmod(0o755)
    user.write("grid.json", '{"depth": [1, 2, 3]}')
    told = user.root / "told"
    user.outlast(
        "run", "--sweep", "grid.json", "--name", "lr", "--notify", "./tell.sh", "train.py", "--", "--fails", "2"
    )
    until(lambda: "told" in user.outlast("show", "lr").out, "whoever is told")
    facts = [json.loads(line) for line in told.read_text().replace("}{", "}\n{").splitlines()]
    assert len(facts) == 1, "its cells tell nobody"
    assert facts[0]["state"] == "failed"
    assert facts[0]["why"] == "1 of 3 cells failed: 2"
    assert (facts[0]["cells"], facts[0]["cells_done"], facts[0]["cells_failed"]) == (3, 2, 1)


def test_a_running_sweep_is_not_deleted_and_an_ended_one_leaves_nothing(user: User) -> None:
    begin(user, grid='{"lr": [0.5]}')
    assert "has not ended" in user.outlast("delete", "--yes", "lr").err
    assert user.outlast("stop", "lr").code == 0
    said = user.outlast("delete", "--yes", "lr")
    assert said.code == 0, said.err
    left = {path.name.partition("~")[0] for path in (user.home / "jobs").rglob("*") if path.is_file()}
    assert left == {"head.json"}, "only the names of heads are never used twice"
    assert user.outlast("jobs", "--json").json == []
