"""Foreign files in a home: never run, never unpickled, never followed out of it, and nobody waits for them."""

from __future__ import annotations

import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_input.damage import change, newest, read
from tests.bad_input.surroundings import assert_nothing_runs, processes
from tests.bad_input.template import FAILED, SUCCEEDED, Copy, make_template, manifest_of, part_of
from tests.cli.user import User
from tests.waiting import until

STAMP = "8205223177612"
"""An index name's beginning, of about the time of these tests."""


class Trap:
    """Whoever unpickles it makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.canary),)


def sow(directory: Path, canary: Path) -> None:
    """Files that run when they are imported, loaded or unpickled."""
    code = f"import os; os.path.isdir({str(canary)!r}) or os.mkdir({str(canary)!r})\n"
    for name in (
        *("sitecustomize.py", "usercustomize.py", "json.py", "os.py", "click.py", "outlast.py", "__main__.py"),
        *("__init__.py", "conftest.py", "trap.pth", "python", "git", "sh"),
    ):
        (directory / name).write_text(f"#!/usr/bin/env python3\n{code}" if "." not in name else code)
        (directory / name).chmod(0o755)
    for name in ("model.pkl", "model.pt", "state.pickle", "data.npy", "cache.db"):
        (directory / name).write_bytes(pickle.dumps(Trap(canary)))
    with zipfile.ZipFile(directory / "weights.pt", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps(Trap(canary)))
        archive.writestr("../../../canary", "out of the archive")


def test_files_that_want_to_be_run_are_not(user: User) -> None:
    user.env.update(OUTLAST_SUPERVISOR_IDLE_SECONDS="0.1")
    make_template(user, FAILED, exit_code=3)
    until(lambda: not processes(user), "the end of the supervisor: the next one must not load any of this either")
    canary = user.root / "canary"
    places = [user.outlast_dir, user.outlast_dir / "local", user.outlast_dir / "cache", user.home]
    places += [path for path in user.home.rglob("*") if path.is_dir()]
    for place in places:
        sow(place, canary)
    job = str(user.home / "jobs" / FAILED)
    for line in (
        *(["jobs"], ["show"], ["logs"], ["checkpoints", "--verify"], ["pull", "--to", str(user.root / "to")]),
        *(["resume", FAILED], ["run", "--job-id", "other", "train.py", "--", job, "0"], ["stop", "other"]),
    ):
        said = user.outlast(*line)
        assert said.code in (0, 1) and "Traceback" not in said.err, (line, said.err)
    assert user.outlast("show", "--json", FAILED).json["attempt_list"][-1]["resumed_from_step"] == 30
    assert not canary.exists() and not list(user.root.rglob("canary"))


def test_checkpoints_and_outputs_that_are_pickles_are_carried_and_not_opened(user: User) -> None:
    """With every format that is looked into for being whole or torn, and that a drill compares by content."""
    canary = user.root / "canary"
    sow(user.work, canary)
    names = sorted(path.name for path in user.work.iterdir())
    for name in names:
        (user.work / name).rename(user.work / f"{name}.shipped")
    user.write(
        "train.py",
        "import os, pathlib, shutil\n"
        "for variable in ('OUTLAST_CHECKPOINT_DIR', 'OUTLAST_OUTPUT_DIR'):\n"
        f"    for name in {names!r}:\n"
        "        shutil.copyfile(f'{name}.shipped', pathlib.Path(os.environ[variable]) / name)\n",
    )
    assert user.outlast("run", "--job-id", "carry", "train.py").code == 0
    said = user.outlast("pull", "carry", "--to", "to", "--json")
    assert said.code == 0 and len(said.json["files"]) == 2 * len(names)
    assert user.outlast("checkpoints", "--verify", "carry").code == 0
    assert (user.work / "to/checkpoint/model.pkl").read_bytes() == pickle.dumps(Trap(canary))
    assert not canary.exists() and not list(user.root.rglob("canary"))


def test_names_in_the_index_that_are_no_jobs_are_passed_over(user: User) -> None:
    make_template(user, SUCCEEDED, exit_code=0)
    index = user.home / "index"
    for name in (
        *("..", "a b", "$(touch canary)", "\x1b[2J", "UPPER", "x" * 200, ".", "a\nb", "é", "-"),
        *("", "a/b"),
    ):
        path = index / f"{STAMP}-{name}-000001~1"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n")
    for name in ("", "no-number", "x-y-1", "1", "99999999999999999999-huge-000001", f"{STAMP}-{SUCCEEDED}-000077"):
        (index / f"{name}~1").write_bytes(b"garbage")
    open(os.fsencode(index) + b"/\xff\xfe-x-1~1", "wb").close()
    os.mkfifo(index / f"{STAMP}-pipe-000001~1")
    (index / f"{STAMP}-directory-000001~1").mkdir()
    (index / f"{STAMP}-link-000001~1").symlink_to("/etc/passwd")
    (index / "circle").symlink_to(index)
    said = user.outlast("jobs", "--json")
    assert said.code == 0 and said.err == ""
    assert {row["job"]: row["state"] for row in said.json} == {SUCCEEDED: "succeeded", "huge": "submitted"}
    assert user.outlast("show", SUCCEEDED).code == 0
    assert user.outlast("show", f"{user.home}/jobs/..").code == 3


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def following(path: Path) -> Path:
    """The name that the next generation will have."""
    name, _, generation = newest(path).name.rpartition("~")
    return path.with_name(f"{name}~{int(generation) + 1}")


AT: dict[str, Callable[[Path], Path]] = {
    "head": lambda folder: newest(folder / "head.json"),
    "the next head": lambda folder: following(folder / "head.json"),
    "spec": lambda folder: newest(folder / "spec.json"),
    "launch": lambda folder: newest(folder / "launches" / "000001.json"),
    "manifest": lambda folder: newest(manifest_of(folder)),
    "part": part_of,
    "segment": lambda folder: newest(folder / "attempts" / "000001" / "log" / "0" / f"{0:015d}"),
    "tail": lambda folder: folder / "attempts" / "000001" / "log" / "0.tail",
    "beat": lambda folder: folder / "attempts" / "000001" / "beat.json",
    "bell": lambda folder: folder / "requests" / "bell",
    "plain head": lambda folder: folder / "head.json",
}
DECIDES = {"head", "the next head", "spec", "launch"}


@pytest.mark.parametrize("what", AT)
@pytest.mark.parametrize("put", [pipe, directory, link, endless])
def test_nobody_waits_for_what_is_no_file(owner: User, copy: Copy, what: str, put: Callable[[Path], None]) -> None:
    folder = copy(FAILED)
    path = AT[what](folder)
    path.unlink(missing_ok=True)
    put(path)
    shown = owner.outlast("show", folder.name)
    assert shown.code == (6 if what in DECIDES else 0), (shown.code, shown.err)
    others = (
        [["checkpoints", "--verify"]]
        if what in ("manifest", "part")
        else [["logs"]]
        if what in ("segment", "tail")
        else []
    )
    for command in others:
        said = owner.outlast(*command, folder.name)
        assert said.code == (6 if command[0] == "checkpoints" else 0) and "Traceback" not in said.err
    for said in (shown,):
        assert "Traceback" not in said.err and "root:" not in said.out


@pytest.mark.parametrize("place", ["", "other:00000000"])
def test_a_job_that_somebody_else_left_unfinished_is_not_run_by_who_only_looks(
    owner: User, copy: Copy, place: str
) -> None:
    """Whoever can write to a home could leave one there, with any bundle."""
    folder = copy(FAILED)
    launch_id = "f" * 16
    change(folder / "launches" / "000001.json", id=launch_id, place=place)
    change(folder / "head.json", state="running", nonce="a" * 16, launch_id=launch_id, ends={}, ended_at=None)
    for line in (["jobs"], ["show", folder.name], ["logs", folder.name], ["checkpoints", folder.name], ["pull"]):
        owner.outlast(*line)
        assert_nothing_runs(owner)
    shown = owner.outlast("show", "--json", folder.name)
    assert shown.code == 0 and len(shown.json["attempt_list"]) == 1
    assert shown.json["state"] not in ("succeeded", "starting"), shown.json["state"]
    assert not (owner.outlast_dir / "local" / "ended" / launch_id).exists()


def test_directories_of_a_home_that_lead_elsewhere_are_not_followed(owner: User, copy: Copy, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for name in ("outputs", "requests", "checkpoints", "attempts", "pins"):
        folder = copy(FAILED)
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        if (folder / name).exists():
            shutil.copytree(folder / name, outside, dirs_exist_ok=True)
            shutil.rmtree(folder / name)
        (outside / "keep").write_text("keep")
        (folder / "published.json").unlink(missing_ok=True)
        (folder / name).symlink_to(outside)
        before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
        for command in ("show", "pull", "stop", "resume"):
            said = owner.outlast(command, folder.name, *(["--detach"] if command == "resume" else []))
            assert "Traceback" not in said.err and "bug in outlast" not in said.err, (name, command, said.err)
        assert_nothing_runs(owner)
        assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before, name


def test_a_home_whose_own_directories_lead_elsewhere_is_refused(user: User) -> None:
    make_template(user, SUCCEEDED, exit_code=0)
    for name in ("index", "jobs", "packs", "bundles"):
        real = user.root / "elsewhere" / name
        real.parent.mkdir(exist_ok=True)
        (user.home / name).rename(real)
        (user.home / name).symlink_to(real)
        before = sorted(real.rglob("*"))
        user.write("other.py", f"print({name!r})")
        said = user.outlast("run", "other.py")
        assert said.code == 6 and "is a link" in said.err and "Traceback" not in said.err, (name, said.err)
        assert sorted(real.rglob("*")) == before
        (user.home / name).unlink()
        real.rename(user.home / name)
    whole = user.home.rename(user.root / "moved")
    user.home.symlink_to(whole)  # a home itself may be a link
    assert user.outlast("run", "other.py").code == 0


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", '{"x": 5}', "[" * 100_000, '{"home": 1, "rows": []}', "\x80\x04garbage"]
)
def test_caches_and_lists_of_the_users_own_may_be_damaged(user: User, text: str) -> None:
    """They only save time: whatever is in them, everything works."""
    user.write("train.py", "print('trained')")
    assert user.outlast("run", "--job-id", "first", "train.py").code == 0
    assert user.outlast("jobs").code == 0
    kept = [path for path in (user.outlast_dir / "cache").rglob("*") if path.is_file() and path.suffix != ".py"]
    kept = [path for path in kept if "trainer" not in str(path.relative_to(user.outlast_dir))]
    assert kept
    for path in [*kept, user.outlast_dir / "homes.json"]:
        path.write_bytes(text.encode("latin-1"))
    for line in (["jobs"], ["show"], ["run", "--job-id", "second", "train.py"]):
        said = user.outlast(*line)
        assert said.code == 0 and "Traceback" not in said.err, (line, said.err)


def test_what_a_home_names_is_still_what_it_was(owner: User) -> None:
    """After all that the other tests of this process did to copies, the originals are whole."""
    for job in (SUCCEEDED, FAILED):
        assert owner.outlast("checkpoints", "--verify", job).code == 0
        assert read(owner.home / "jobs" / job / "head.json")["attempt"] == 1
