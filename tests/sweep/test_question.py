"""A large sweep is summed up and asked about before anything of it is begun; `--yes` answers before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import running
from tests.cli.user import Terminal, User

MANY = json.dumps({"lr": [number / 1000 for number in range(1, 68)], "depth": [1, 2, 3]})
RENTED = ("run", "--on", "compute", "--machine-type", "n2-standard-32", "--on-demand")


@pytest.fixture
def renter(user: User, tmp_path: Path) -> Iterator[User]:
    """Whose cloud is an emulator."""
    with running(data=tmp_path / "emulator", process=True) as emulator:
        user.env.update(emulator.variables)
        made = user.outlast("init", "--yes", "--no-check")
        assert made.code == 0, made.err
        yield user


def nothing_of(user: User, name: str) -> bool:
    return not (user.home / "jobs" / name).exists()


def test_more_than_200_cells_are_asked_about(user: User) -> None:
    user.write("grid.json", MANY)
    words = ("run", "--sweep", "grid.json", "--name", "many", "--parallel", "1", "train.py")
    said = user.outlast(*words)
    assert said.code == 2 and "Begin 201 cells: nobody is here to say yes" in said.err and "`--yes`" in said.err
    assert "201 cells, 1 worker (as asked for); $0 per hour" in said.err and "lr (67) x depth (3)" in said.err
    asked = Terminal(user, *words, columns=200)
    asked.read_until(b"Begin 201 cells? [y/N] ")
    asked.press(b"n\n")
    assert asked.wait() == 0 and b"nothing was started" in asked.seen
    assert nothing_of(user, "many")
    begun = user.outlast(*words[:-1], "--yes", "--detach", "train.py")
    assert begun.code == 0, begun.err
    assert not nothing_of(user, "many")
    assert user.outlast("stop", "many").code == 0


def test_200_cells_are_begun_without_a_question(user: User) -> None:
    user.write("grid.json", json.dumps({"lr": [number / 1000 for number in range(1, 201)]}))
    said = user.outlast("run", "--sweep", "grid.json", "--name", "few", "--parallel", "1", "--detach", "train.py")
    assert said.code == 0, said.err
    assert user.outlast("stop", "few").code == 0


def test_more_than_ten_dollars_an_hour_are_asked_about(renter: User) -> None:
    renter.write("grid.json", '{"lr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}')
    dear = renter.outlast(*RENTED, "--sweep", "grid.json", "--name", "dear", "--parallel", "8", "train.py")
    assert dear.code == 2 and "Begin 8 cells: nobody is here to say yes" in dear.err, dear.err
    assert "8 cells, 8 machines (as asked for); $" in dear.err
    assert renter.outlast("show", "dear").code == 3, "nothing was submitted"


def test_more_cells_side_by_side_than_this_computer_has_room_for_are_as_many_as_it_has(user: User) -> None:
    user.write("grid.json", MANY)
    user.env["OUTLAST_LOCAL_CPUS"] = "2"
    said = user.outlast("run", "--sweep", "grid.json", "--name", "many", "--parallel", "3", "--dry-run", "train.py")
    assert said.code == 0, said.err
    assert "201 cells, 2 workers (this machine's 2 CPUs, although 3 are asked for)" in said.err, said.err
    user.write("one.json", '{"lr": 0.5, "depth": [1]}')
    few = user.outlast("run", "--sweep", "one.json", "--name", "many", "--parallel", "3", "--dry-run", "train.py")
    assert "1 cell, 1 worker (one for each cell)" in few.err, few.err
    assert nothing_of(user, "many")
