"""A user for every test, and one with jobs that many tests may damage copies of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bad_input.surroundings import assert_nothing_runs
from tests.bad_input.template import FAILED, SUCCEEDED, Copy, copy_of, forget, make_template
from tests.cli.user import User, stop_everything


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Whatever a test does to this user: at its end nothing is left running."""
    one = User(tmp_path)
    one.work.mkdir()
    try:
        yield one
        stop_everything(one)
        assert_nothing_runs(one)
    finally:
        stop_everything(one)


@pytest.fixture
def copy(owner: User) -> Iterator[Copy]:
    made: list[Path] = []

    def copied(job: str) -> Path:
        made.append(copy_of(owner, job))
        return made[-1]

    yield copied
    for folder in made:
        forget(folder)


@pytest.fixture(scope="session")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """One user per process, with a job that succeeded and one that failed; both are to be cloned, never touched."""
    one = User(tmp_path_factory.mktemp("owner"))
    one.work.mkdir()
    try:
        make_template(one, SUCCEEDED, exit_code=0)
        make_template(one, FAILED, exit_code=3)
        yield one
    finally:
        stop_everything(one)
