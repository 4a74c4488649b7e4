"""What may not be read or written: exit code 4, the path, and what to do; what may be read is read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bad_input.damage import newest
from tests.bad_input.surroundings import SmallDisk, assert_nothing_runs, obey_modes
from tests.bad_input.template import FAILED, SUCCEEDED
from tests.cli.user import OUTLAST, Said, User

DENIED = 4
READING = (["jobs"], ["show"], ["logs", "-f"], ["checkpoints", "--verify"], ["pull", "--to", "pulled"], ["stop"])


@pytest.fixture
def guest(user: User) -> User:
    """Somebody for whom modes count, also where the tests are run by root."""
    user.become = obey_modes
    user.write("train.py", "print('trained')")
    return user


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode & 0o777
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """All of it."""
    every = [home, *home.rglob("*")]
    before = {path: path.lstat().st_mode & 0o777 for path in every if not path.is_symlink()}
    for path in reversed(every):
        path.chmod(before[path] & 0o555)
    try:
        yield
    finally:
        for path in every:
            path.chmod(before[path])


def assert_denied(said: Said, path: Path | str) -> None:
    assert said.code == DENIED, (said.code, said.err)
    assert said.err.startswith("error: ") and str(path) in said.err and "Traceback" not in said.err


def job_of(command: list[str], exit_code: int) -> tuple[list[str], int]:
    """Which of the owner's two jobs it is asked about, and the exit code that this has."""
    if command[0] == "jobs":
        return [], 0
    return [SUCCEEDED if command[0] in ("stop", "pull") else FAILED], exit_code if command[0] == "logs" else 0


def assert_read_only_home_serves(guest: User, owner: User) -> None:
    home = ["--home", str(owner.home)]
    for command in READING:
        job, code = job_of(command, exit_code=1)
        said = guest.outlast(*command, *job, *home)
        assert said.code == code, (command, said.err)
    (guest.work / "other.py").write_text("print('more')")
    for command in (["run", *home, "train.py"], ["resume", *home, FAILED]):
        said = guest.outlast(*command)
        assert said.code == DENIED and str(owner.home) in said.err and "Traceback" not in said.err, said.err
    assert guest.outlast("run", "--from", str(owner.home / "jobs" / SUCCEEDED), "train.py").out == "trained\n"
    assert_nothing_runs(guest)


def test_a_read_only_home_can_be_read_and_is_not_written(guest: User, owner: User) -> None:
    with read_only(owner.home):
        before = sorted(owner.home.rglob("*"))
        assert_read_only_home_serves(guest, owner)
        assert sorted(owner.home.rglob("*")) == before


def test_a_home_on_a_read_only_file_system_can_be_read(guest: User, owner: User) -> None:
    """Bound read-only in a namespace that only this guest sees."""
    place = SmallDisk(guest.root / "disk", "64k")
    bind = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
    bound = subprocess.run(["sh", "-c", bind, "sh", str(owner.home)], preexec_fn=place.enter, check=False)
    assert bound.returncode == 0
    guest.become = place.enter
    try:
        assert_read_only_home_serves(guest, owner)
    finally:
        place.close()


def test_a_home_that_may_not_be_read_is_said_to_be_so(guest: User, owner: User) -> None:
    home = ["--home", str(owner.home)]
    with mode(owner.home, 0):
        for command in (["jobs"], ["show"], ["pull", SUCCEEDED], ["run", "train.py"]):
            target = command.pop() if command[0] == "run" else ""
            assert_denied(guest.outlast(*command, *home, *([target] if target else [])), owner.home)
    assert_nothing_runs(guest)


def test_a_job_that_may_not_be_read_hides_no_other(guest: User, owner: User) -> None:
    home = ["--home", str(owner.home)]
    for path in (owner.home / "jobs" / FAILED, newest(owner.home / "jobs" / FAILED / "head.json")):
        with mode(path, 0):
            states = {row["job"]: row["state"] for row in guest.outlast("jobs", *home, "--json").json}
            assert (states[FAILED], states[SUCCEEDED]) == ("damaged", "succeeded")
            for command in ("show", "logs", "resume"):
                assert_denied(guest.outlast(command, FAILED, *home), owner.home / "jobs" / FAILED)


def test_a_user_directory_that_cannot_be_used_is_said_to_be_so(guest: User) -> None:
    inside = guest.root / "closed"
    inside.mkdir()
    with mode(inside, 0o500):
        assert_denied(guest.outlast("jobs", OUTLAST_DIR=str(inside / "outlast")), inside / "outlast")
        assert_denied(guest.outlast("run", "train.py", OUTLAST_DIR=str(inside)), inside)
        assert guest.outlast("jobs", OUTLAST_DIR=str(inside)).code == 0
    with mode(inside, 0):
        for command in (["jobs"], ["show"], ["run", "train.py"]):
            assert_denied(guest.outlast(*command, OUTLAST_DIR=str(inside)), inside)
    (guest.root / "file").write_text("")
    assert guest.outlast("run", "train.py", OUTLAST_DIR=str(guest.root / "file")).code == DENIED
    said = guest.outlast("run", "--home", str(guest.root / "file"), "train.py")
    assert said.code == 2 and "is not a directory" in said.err
    assert_nothing_runs(guest)


def test_what_may_not_be_read_is_not_shipped_without_a_word(guest: User) -> None:
    data = guest.write("data/numbers.csv", "1,2,3")
    for path, bits in ((data, 0), (data.parent, 0), (guest.work / "train.py", 0), (guest.work, 0o111)):
        with mode(path, bits):
            said = guest.outlast("run", "train.py")
            assert_denied(said, path.name)
            assert "hint: `chmod" in said.err
    assert not (guest.home / "jobs").exists()
    assert guest.outlast("run", "train.py").code == 0


def test_a_directory_that_may_not_be_written_is_no_place_to_pull_to(guest: User, owner: User) -> None:
    closed = guest.root / "closed"
    closed.mkdir()
    (guest.root / "file").write_text("")
    home = ["--home", str(owner.home)]
    with mode(closed, 0o500):
        assert_denied(guest.outlast("pull", SUCCEEDED, *home, "--to", str(closed)), closed)
        assert_denied(guest.outlast("pull", SUCCEEDED, *home, "--to", str(closed / "deep")), closed)
    assert_denied(guest.outlast("pull", SUCCEEDED, *home, "--to", str(guest.root / "file")), guest.root / "file")
    assert list(closed.iterdir()) == []


def test_a_missing_script_and_an_empty_directory_are_answered_in_plain_words(guest: User) -> None:
    for target in ("nothing.py", "sub/nothing.py", "nothing", "nothing.sh"):
        said = guest.outlast("run", target)
        assert said.code == 3 and f"no `{target}` in `{guest.work}`" in said.err and "hint: " in said.err
    (guest.work / "gone.py").symlink_to("nowhere.py")
    said = guest.outlast("run", "gone.py")
    assert said.code == 3 and "link to nothing" in said.err
    os.mkfifo(guest.work / "pipe.py")
    said = guest.outlast("run", "pipe.py")
    assert said.code in (2, 3) and "Traceback" not in said.err, said.err
    assert not (guest.home / "jobs").exists()


def test_a_directory_that_is_gone_is_no_place_to_run_from(guest: User) -> None:
    gone = guest.root / "gone"
    gone.mkdir()
    program = ["sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone)]
    for words in (["run", "train.py"], ["jobs"], ["pull"]):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(
            [*program, *OUTLAST, *words], env=guest.environ(), capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr and "bug in outlast" not in done.stderr, done.stderr
        assert done.returncode in ((0, 3) if words == ["jobs"] else (2, 3, 4)), done.stderr
