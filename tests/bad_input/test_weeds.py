"""Weeds in every directory, of homes, of the user and of machines: every command answers, ends, and runs none of them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_input.surroundings import processes
from tests.bad_input.template import FAILED, make_template
from tests.bad_input.test_foreign_files import Trap
from tests.cli.user import Said, User
from tests.waiting import until

SPARSE_BYTES = 40 << 30
"""More than any machine reads by mistake and lives."""

NAMES = ("weed", "weed.json", "weed~1", "weed.json~1", "000009.json~1", "000009", "~", "0", "0-1", "9-9", "7")
"""Some like the names that are looked for at that place."""


def weeds(directory: Path, canary: Path) -> None:
    """Pipes, links in circles and out of here, sockets' cousins, huge files, names that are no text."""
    for number, name in enumerate(NAMES):
        path = directory / name
        if path.exists() or path.is_symlink():
            continue
        kind = number % 5
        if kind == 0:
            os.mkfifo(path)
        elif kind == 1:
            path.symlink_to(path.name)
        elif kind == 2:
            path.symlink_to("/dev/zero")
        elif kind == 3:
            path.write_bytes(pickle.dumps(Trap(canary)))
        else:
            path.mkdir()
    huge = directory / "huge.json"
    huge.touch()
    os.truncate(huge, SPARSE_BYTES)
    (directory / "upward").symlink_to("..")
    open(os.fsencode(directory) + b"/\xff\xfe\x80.json", "wb").close()
    (directory / "\x1b[2J\n.json").write_bytes(b"\x80\x04")


def directories(root: Path) -> list[Path]:
    found = [root]
    for place, names, _ in os.walk(root):
        found += [Path(place) / name for name in names if not (Path(place) / name).is_symlink()]
    return found


def answers(said: Said, line: list[str]) -> None:
    assert said.code in (0, 1, 3, 6, 7), (line, said.code, said.err)
    assert "Traceback" not in said.err and "bug in outlast" not in said.err, (line, said.err)
    assert "\x1b[2J" not in said.out + said.err, line


def every_command(user: User, job: str) -> list[list[str]]:
    work = [str(user.home / "jobs" / job), "0"]
    return [
        *(["jobs"], ["jobs", "--json", "--running"], ["show", job], ["show", "--json", job], ["logs", job]),
        *(["checkpoints", "--verify", job], ["pull", job, "--to", str(user.root / "to")], ["config"], ["stop", job]),
        *(["resume", job], ["run", "--job-id", "another", "train.py", "--", *work]),
        *(["drill", "--like", job, "--kills", "1"], ["jobs"]),
    ]


def test_every_command_answers_among_weeds_in_every_directory(user: User) -> None:
    user.env.update(OUTLAST_SUPERVISOR_IDLE_SECONDS="0.1")
    make_template(user, FAILED, exit_code=3)
    for name in ("pins", "requests", "outputs", "bundles", "packs"):
        (user.home / "jobs" / FAILED / name).mkdir(exist_ok=True)
    until(lambda: not processes(user), "the end of the supervisor: the next one meets all of this as well")
    canary = user.root / "canary"
    for place in directories(user.outlast_dir):
        weeds(place, canary)
    for line in every_command(user, FAILED):
        answers(user.outlast(*line), line)
    assert user.outlast("show", "--json", FAILED).json["attempt_list"][-1]["resumed_from_step"] == 30
    assert not canary.exists()


def test_a_machine_with_weeds_in_its_own_directory_trains_to_its_end(user: User) -> None:
    go = user.root / "go"
    user.write(
        "train.py", f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\nprint('trained')"
    )
    assert user.outlast("run", "--detach", "--job-id", "living", "train.py").code == 0
    local = user.outlast_dir / "local"
    until(lambda: bool(list(local.glob("machines/*/*/trainer-*.pid.json"))), "the trainer")
    canary = user.root / "canary"
    (machine,) = (path.parent for path in local.glob("machines/*/*/trainer-*.pid.json"))
    for place in (machine, machine.parent, machine / "spool", machine / "run", local / "ended", local / "launches"):
        weeds(place, canary)
    for line in (["jobs"], ["show", "living"], ["logs", "living"]):
        answers(user.outlast(*line), line)
    go.touch()
    until(lambda: user.outlast("show", "--json", "living").json["state"] == "succeeded", "the end")
    assert "trained" in user.outlast("logs", "living").out and not canary.exists()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, SPARSE_BYTES)


PUT = (pipe, directory, circle, device, huge)


def replace(path: Path, put: Callable[[Path], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    put(path)


@pytest.mark.parametrize("put", [pipe, directory, *(pytest.param(one, marks=pytest.mark.soak) for one in PUT[2:])])
def test_files_of_the_user_that_are_no_files_are_not_waited_for(user: User, put: Callable[[Path], None]) -> None:
    user.write("train.py", "print('trained')")
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    assert user.outlast("jobs").code == 0
    kept = [path for path in (user.outlast_dir / "cache").rglob("*") if path.is_file() and "trainer" not in str(path)]
    for path in [*kept, user.outlast_dir / "homes.json", user.outlast_dir / "trusted.json"]:
        replace(path, put)
    for line in (["jobs"], ["show"], ["logs"], ["config"], ["run", "--job-id", "second", "train.py"], ["jobs"]):
        said = user.outlast(*line)
        assert said.code == 0 and "Traceback" not in said.err, (line, said.code, said.err)
    assert {row["job"] for row in user.outlast("jobs", "--json").json} == {"first", "second"}


@pytest.mark.parametrize("put", [pipe, *(pytest.param(one, marks=pytest.mark.soak) for one in PUT[1:])])
@pytest.mark.parametrize("name", ["supervisor.json", "supervisor.lock", "spawn.lock", "bell", "supervisor.log"])
def test_files_of_the_engine_that_are_no_files_end_in_an_error_or_a_job(
    user: User, name: str, put: Callable[[Path], None]
) -> None:
    """Never in a wait without end."""
    user.env.update(OUTLAST_SUPERVISOR_IDLE_SECONDS="0.1")
    user.write("train.py", "print('trained')")
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    until(lambda: not processes(user), "the end of the supervisor")
    replace(user.outlast_dir / "local" / name, put)
    said = user.outlast("run", "--job-id", "second", "train.py")
    assert said.code == 0 or "local" in said.err, (said.code, said.out, said.err)
    assert "Traceback" not in said.err and "bug in outlast" not in said.err
    assert user.outlast("jobs").code == 0 and user.outlast("show", "first").code == 0


@pytest.mark.parametrize(
    "put", [device, *(pytest.param(one, marks=pytest.mark.soak) for one in PUT if one is not device)]
)
@pytest.mark.parametrize("name", ["outlast.toml", "pyproject.toml", ".outlastignore", ".gitignore", "config.toml"])
def test_settings_that_are_no_files_are_an_error_or_ignored(user: User, name: str, put: Callable[[Path], None]) -> None:
    """A cloned repository may well hold a link to a device."""
    user.write("train.py", "print('trained')")
    replace((user.outlast_dir if name == "config.toml" else user.work) / name, put)
    said = user.outlast("run", "train.py")
    assert said.code == 0 or (name in said.err and said.code in (2, 4)), (said.code, said.err)
    assert "Traceback" not in said.err and "bug in outlast" not in said.err
