"""A full disk, wherever it is: said in plain words, nothing committed is lost, and all goes on when there is room again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlast.host import files
from outlast.host.process import Process
from outlast.machine.supervise import FALLS, FALLS_MAX
from tests.bad_input.damage import read
from tests.bad_input.surroundings import assert_nothing_runs, small_disk
from tests.cli.user import User
from tests.engines.local_parts import standing_still
from tests.waiting import until

READING = (["jobs"], ["show"], ["logs"], ["checkpoints", "--verify"], ["pull", "--to", "pulled"])
"""Who only reads needs no room."""


def assert_full(code: int, err: str) -> None:
    assert code == 6 and "no space left" in err.lower(), (code, err)
    assert "error: " in err and "hint: " in err and "Traceback" not in err


def test_a_submit_to_a_full_home_is_refused_and_can_be_made_again_when_there_is_room(user: User) -> None:
    user.write("train.py", "print('trained')")
    with small_disk(user, user.root / "disk", "600k") as disk:
        home = ["--home", str(disk.path / "home")]
        assert user.outlast("run", *home, "--job-id", "first", "train.py").code == 0
        disk.fill()
        said = user.outlast("run", *home, "--job-id", "second", "train.py")
        assert_full(said.code, said.err)
        assert "job `second` was not submitted; nothing was started" in said.err
        assert_nothing_runs(user)
        assert [row["job"] for row in user.outlast("jobs", "--json").json] == ["first"]
        for command in READING:
            assert user.outlast(*command).code == 0, command
        for command in (["resume", "first"], ["stop", "first"]):
            assert "Traceback" not in user.outlast(*command).err
        disk.free()
        assert user.outlast("run", *home, "--job-id", "second", "train.py").out == "trained\n"


def test_a_submit_without_room_for_machines_says_whether_there_is_a_job(user: User) -> None:
    """Whoever believes that there is none submits it twice."""
    user.write("train.py", "print('trained')")
    with small_disk(user, user.root / "disk", "2m") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        home, other = (["--home", str(user.root / name)] for name in ("home", "other"))
        assert user.outlast("run", *home, "--job-id", "first", "train.py").code == 0
        disk.fill()
        said = user.outlast("run", *other, "--job-id", "second", "train.py")
        assert_full(said.code, said.err)
        assert f"`{disk.path}/outlast` cannot be written" in said.err and "job `second` was not submitted" in said.err
        said = user.outlast("run", *home, "--job-id", "third", "train.py")
        assert_full(said.code, said.err)
        assert "job `third` is there, and nothing of it runs" in said.err and "`outlast stop third`" in said.err
        assert "nothing was started" not in said.err
        assert_nothing_runs(user)
        disk.free()
        assert user.outlast("jobs").code == 0
        assert user.outlast("logs", "-f", "third").out == "trained\n"
        assert {row["job"] for row in user.outlast("jobs", "--json").json} == {"first", "third"}


def test_jobs_that_would_begin_while_the_machines_disk_is_full_wait_and_so_does_their_supervisor(user: User) -> None:
    """It has fallen so often that it would not begin again, and nobody types a command when there is room."""
    user.write("train.py", "print('trained')")
    user.env.update({"OUTLAST_LOCAL_CPUS": "1", FALLS: str(FALLS_MAX)})
    with small_disk(user, user.root / "disk", "2m") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        home = ["--home", str(user.root / "home")]
        assert user.outlast("run", *home, "--job-id", "first", "train.py").code == 0
        local = disk.seen / "outlast" / "local"
        supervisor = Process.read(files.read_json(local / "supervisor.json"))
        assert supervisor is not None
        with standing_still(supervisor):
            for job in ("second", "third"):
                assert user.outlast("run", "--detach", *home, "--job-id", job, "train.py").code == 0
            disk.fill()
            changed_ns = local.stat().st_mtime_ns
        until(lambda: local.stat().st_mtime_ns != changed_ns, "it has tried to tell that one of them waits")
        assert {row["state"] for row in user.outlast("jobs", *home, "--running", "--json").json} <= {
            "waiting",
            "starting",
        }
        assert len(user.outlast("jobs", *home, "--running", "--json").json) == 2
        assert not list(local.glob(".supervisor.json*"))
        disk.free()
        until(lambda: len(os.listdir(local / "ended")) == 3, "both have begun, and ended")
        assert supervisor.alive()
        assert {row["state"] for row in user.outlast("jobs", *home, "--json").json} == {"succeeded"}


def test_a_bundle_that_does_not_fit_leaves_nothing_behind(user: User) -> None:
    user.write("train.py", "print('trained')")
    (user.work / "data.bin").write_bytes(os.urandom(2 << 20))
    with small_disk(user, user.root / "disk", "1m") as disk:
        home = ["--home", str(disk.path / "home")]
        said = user.outlast("run", *home, "train.py")
        assert_full(said.code, said.err)
        assert sum(path.stat().st_size for path in disk.seen.rglob("*") if path.is_file()) < 1 << 16
        (user.work / "data.bin").unlink()
        assert user.outlast("run", *home, "train.py").code == 0


TRAINS_ON = """
import pathlib, sys, time
import outlast

signs = pathlib.Path(sys.argv[1])
for step in outlast.steps(60, outlast.State(n=0), save_steps=2):
    print("step", step, "x" * 1000, flush=True)
    if step == 40:
        (signs / "reached").touch()
    while step == 40 and not (signs / "freed").exists():
        time.sleep(0.01)
    while step == 10 and not (signs / "full").exists():
        time.sleep(0.01)
    time.sleep(0.01)
"""


def test_training_goes_on_while_the_home_is_full_and_commits_when_there_is_room(user: User) -> None:
    user.write("train.py", TRAINS_ON)
    signs = user.root / "signs"
    signs.mkdir()
    with small_disk(user, user.root / "disk", "2m") as disk:
        home = ["--home", str(disk.path / "home")]
        said = user.outlast("run", "--detach", *home, "--job-id", "long", "train.py", "--", str(signs))
        assert said.code == 0, said.err
        head = disk.seen / "home" / "jobs" / "long" / "head.json"
        until(lambda: bool(read(head)["checkpoints"]), "the first commit")
        disk.fill()
        committed = read(head)["best_step"]
        (signs / "full").touch()
        until((signs / "reached").exists, "step 40, with no room for a commit")
        assert read(head)["best_step"] < 40
        for command in READING:
            assert user.outlast(*command).code == 0, command
        shown = user.outlast("show", "--json").json
        assert shown["state"] == "running" and shown["why"].startswith("without room in its home: `")
        assert read(head)["best_step"] in range(committed, 40)
        disk.free()
        (signs / "freed").touch()
        until(lambda: bool(read(head)["state"] == "succeeded"), "the end")
        document = user.outlast("show", "--json").json
        assert document["attempts"] == 1 and document["why"] is None and document["checkpoints"][-1]["step"] == 60
        logs = user.outlast("logs")
        assert [int(line.split()[1]) for line in logs.out.splitlines()] == list(range(60)) and logs.err == ""


LONG = "import time\nprint('began', flush=True)\ntime.sleep(600)"


@pytest.mark.parametrize("machines_too", [True, False])
def test_a_job_whose_home_is_full_is_stopped_all_the_same(user: User, machines_too: bool) -> None:
    user.write("train.py", LONG)
    with small_disk(user, user.root / "disk", "4m") as disk:
        if machines_too:
            user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        home = ["--home", str(disk.path / "home")]
        for job in ("one", "two"):
            assert user.outlast("run", "--detach", *home, "--job-id", job, "train.py").code == 0
        until(lambda: user.outlast("logs", *home, "two").out == "began\n", "its first line")
        disk.fill()
        said = user.outlast("stop", *home, "one", "two")
        assert "one" in said.err and "two" in said.err and "Traceback" not in said.err
        assert_nothing_runs(user)
        if machines_too:  # what they left has made room
            assert said.code == 0, said.err
        else:
            assert_full(said.code, said.err)
            assert "nothing of job `one` runs any more" in said.err
        assert len(user.outlast("jobs", *home, "--json").json) == 2
        disk.free()
        states = {row["state"] for row in user.outlast("jobs", *home, "--json").json}
        assert states == {"stopped"}


def test_a_job_whose_home_has_become_read_only_says_so_and_is_stopped_all_the_same(user: User) -> None:
    user.write("train.py", LONG)
    with small_disk(user, user.root / "disk", "4m") as disk:
        home = ["--home", str(disk.path / "home")]
        assert user.outlast("run", "--detach", *home, "--job-id", "mine", "train.py").code == 0
        until(lambda: user.outlast("logs", *home, "mine").out == "began\n", "its first line")
        assert user.outlast("show", *home, "mine", "--json").json["why"] is None
        disk.remount("ro")
        assert "is read-only; nothing is committed" in user.outlast("show", *home, "mine", "--json").json["why"]
        assert "mine is running, without a home that can be written" in user.outlast("jobs", *home).err
        said = user.outlast("stop", *home, "mine")
        assert said.code == 4 and "nothing of job `mine` runs any more" in said.err, said.err
        assert_nothing_runs(user)
        for command in (["jobs"], ["show"], ["logs"]):
            assert user.outlast(*command, *home).code == 0, command
        disk.remount("rw")
        assert [row["state"] for row in user.outlast("jobs", *home, "--json").json] == ["stopped"]


def test_a_job_that_cannot_be_resumed_for_want_of_room_says_that_it_stays_as_it_is(user: User) -> None:
    user.write("train.py", LONG)
    with small_disk(user, user.root / "disk", "2m") as disk:
        home = ["--home", str(disk.path / "home")]
        assert user.outlast("run", "--detach", *home, "train.py").code == 0
        disk.fill()
        assert user.outlast("stop", *home, user.outlast("jobs", *home, "--json").json[0]["job"]).code == 6
        for _ in range(2):  # its end is not written yet, and cannot be
            said = user.outlast("resume", *home)
            assert said.code == 6 and "it stays as it is; nothing was started" in said.err, said.err
        assert_nothing_runs(user)


def test_on_a_full_disk_a_job_can_be_deleted_which_makes_room(user: User) -> None:
    user.write("train.py", "import outlast\n(outlast.output_dir() / 'model').write_bytes(bytes(200_000))")
    with small_disk(user, user.root / "disk", "2m") as disk:
        home = ["--home", str(disk.path / "home")]
        assert user.outlast("run", *home, "--job-id", "old", "train.py").code == 0
        disk.fill()
        said = user.outlast("delete", *home, "--yes", "old")
        assert said.code == 0, said.err
        assert user.outlast("jobs", *home, "--json").json == []
        assert user.outlast("run", *home, "--job-id", "old", "train.py").code == 0


FILLS = """
import os, pathlib
directory = pathlib.Path(os.environ["{}"])
print("filling", flush=True)
with open(directory / "ckpt-1.bin", "wb", buffering=0) as file:
    while True:
        file.write(b"x" * 65536)
"""


@pytest.mark.parametrize("where", ["OUTLAST_OUTPUT_DIR", "OUTLAST_CHECKPOINT_DIR", "TMPDIR"])
def test_a_trainer_that_fills_its_machines_disk_fails_for_that_and_says_so(user: User, where: str) -> None:
    user.write("train.py", FILLS.format(where))
    with small_disk(user, user.root / "disk", "8m") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"), TMPDIR=str(disk.path))
        home = ["--home", str(user.root / "home")]
        said = user.outlast("run", *home, "train.py")
        assert said.code == 1 and "disk was full" in said.err, said.err
        assert "No space left on device" in said.out
        (attempt,) = user.outlast("show", *home, "--json").json["attempt_list"]
        assert (attempt["cause"], attempt["exit_code"]) == ("disk full", 1)
        assert_nothing_runs(user)
        (disk.seen / "ckpt-1.bin").unlink(missing_ok=True)
        user.write("train.py", "print('room again')")
        assert user.outlast("run", *home, "train.py").out == "room again\n"


def test_a_checkpoint_that_does_not_fit_on_the_next_machine_fails_the_job_for_that(user: User) -> None:
    user.write(
        "train.py",
        "import os, pathlib, sys\npath = pathlib.Path(os.environ['OUTLAST_CHECKPOINT_DIR'])\n"
        "(path / 'ckpt-1.bin').write_bytes(os.urandom(6 << 20)); sys.exit(3)",
    )
    home = ["--home", str(user.root / "home")]
    assert user.outlast("run", *home, "--job-id", "large", "train.py").code == 1
    with small_disk(user, user.root / "disk", "4m") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        said = user.outlast("resume", *home, "large")
        assert said.code == 1 and "disk was full" in said.err, said.err
        assert user.outlast("show", *home, "--json").json["attempt_list"][-1]["cause"] == "disk full"
        assert_nothing_runs(user)
    user.become = None
    del user.env["OUTLAST_DIR"]
    assert user.outlast("checkpoints", *home, "--verify").code == 0


def test_a_user_directory_without_any_room_is_told(user: User) -> None:
    user.write("train.py", "print('trained')")
    with small_disk(user, user.root / "disk", "300k") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        (disk.seen / "outlast").mkdir()
        disk.fill()
        home = ["--home", str(user.root / "home")]
        said = user.outlast("run", *home, "train.py")
        assert said.code in (1, 6) and "Traceback" not in said.err and "bug in outlast" not in said.err, said.err
        assert "o space left" in said.err
        assert_nothing_runs(user)


def test_a_job_that_finds_no_room_for_its_machine_waits_and_hides_no_other(user: User) -> None:
    user.write("train.py", "print('trained')")
    with small_disk(user, user.root / "disk", "4m") as disk:
        user.env.update(OUTLAST_DIR=str(disk.path / "outlast"))
        home = ["--home", str(user.root / "home")]
        assert user.outlast("run", *home, "--job-id", "first", "train.py").code == 0
        disk.fill()
        said = user.outlast("run", *home, "--job-id", "second", "train.py")
        assert_full(said.code, said.err)
        states = {row["job"]: row["state"] for row in user.outlast("jobs", *home, "--json").json}
        assert states == {"first": "succeeded", "second": "waiting"}
        shown = user.outlast("show", *home, "second")
        assert shown.code == 0 and "o space left" in shown.out, shown
        disk.free()
        assert user.outlast("logs", "-f", *home, "second").out == "trained\n"


def test_a_pull_to_a_full_disk_keeps_what_was_pulled_and_goes_on_elsewhere(user: User) -> None:
    user.write(
        "train.py",
        "import os, pathlib\npath = pathlib.Path(os.environ['OUTLAST_OUTPUT_DIR'])\n"
        "for number in range(4): (path / f'file-{number}').write_bytes(os.urandom(40_000))",
    )
    assert user.outlast("run", "train.py").code == 0
    with small_disk(user, user.root / "disk", "100k") as disk:
        said = user.outlast("pull", "--to", str(disk.path / "to"))
        assert_full(said.code, said.err)
        outputs = disk.seen / "to" / "outputs"
        assert sorted(path.name for path in outputs.iterdir()) == ["file-0", "file-1"]
        assert all(path.stat().st_size == 40_000 for path in outputs.iterdir())
        (outputs / "file-0").unlink()
        assert user.outlast("pull", "*/file-3", "--to", str(disk.path / "to")).code == 0
    user.become = None
    said = user.outlast("pull", "--to", "elsewhere", "--json")
    assert said.code == 0 and len(said.json["files"]) == 4


def test_a_full_disk_behind_the_followed_log_is_no_success_and_the_job_goes_on(user: User) -> None:
    user.write("train.py", "import time\nprint('x' * 1_000_000, flush=True)\ntime.sleep(1)")
    with Path("/dev/full").open("wb") as full:
        follower = user.start("run", "--job-id", "told", "train.py", stdout=full)
        _, err = follower.communicate(timeout=60)
    assert follower.returncode == 6 and b"No space left on device" in err and b"Traceback" not in err
    assert b"job `told` is not touched by that" in err and b"hint: `outlast logs -f told`" in err
    until(lambda: user.outlast("show", "--json", "told").json["state"] == "succeeded", "the end of the job")
