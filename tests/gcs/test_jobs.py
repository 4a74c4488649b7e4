"""Whole jobs of this machine with a home in a bucket: real processes, by the commands that a user types."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from outlast.clock import SYSTEM
from outlast.store.registry import open_store
from outlast_emulator.testing import Running, running
from tests.cli.stranger import estranged
from tests.cli.user import User, stop_everything
from tests.gcs.conftest import calm
from tests.waiting import until

TRAIN = """
import outlast, time
state = outlast.State(total=0)
for step in outlast.steps(STEPS, state, save_steps=5):
    state.total += step * 3
    outlast.log(step, total=state.total)
    print("step", step, flush=True)
    time.sleep(PAUSE)
(outlast.output_dir() / "total.txt").write_text(str(state.total))
"""
SECONDS_MAX = 90.0


@pytest.fixture
def user(emulator: Running, home: str, tmp_path: Path) -> Iterator[User]:
    one = User(tmp_path / "ada", {**emulator.variables, "OUTLAST_HOME": home})
    write(one)
    yield one
    calm(emulator)
    stop_everything(one)


def write(user: User, steps: int = 12, pause: float = 0.02) -> None:
    user.write("train.py", TRAIN.replace("STEPS", str(steps)).replace("PAUSE", str(pause)))


def show(user: User, job: str) -> dict[str, Any]:
    said = user.outlast("show", job, "--json")
    assert said.code == 0, said.err
    return dict(said.json)


def total(home: str, job: str) -> bytes:
    return open_store(home).get(f"jobs/{job}/outputs/total.txt").data


def expected(steps: int) -> bytes:
    return str(3 * sum(range(steps))).encode()


def test_a_job_with_its_home_in_a_bucket_runs_where_no_forked_copy_may_ask_for_an_address(
    user: User, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    estranged(user, monkeypatch)
    done = user.outlast("run", "--job-id", "far", "train.py")
    assert done.code == 0, done.err
    assert total(home, "far") == expected(12)


def test_a_job_runs_and_every_command_works_on_it(user: User, home: str) -> None:
    said = user.outlast("run", "--job-id", "one", "train.py")
    assert said.code == 0, said.err
    assert "step 11" in said.out
    assert total(home, "one") == expected(12)
    (row,) = user.outlast("jobs", "--json").json
    assert (row["job"], row["state"], row["folder"]) == ("one", "succeeded", f"{home}/jobs/one")
    shown = user.outlast("show", "--json").json
    assert 5 < shown["store_writes"] < 100
    assert "class A operations" in user.outlast("show").out
    assert "step 11" in user.outlast("logs", "one").out
    assert user.outlast("pull", "one", "--to", "here").code == 0
    assert (user.work / "here/outputs/total.txt").read_bytes() == expected(12)
    assert user.outlast("checkpoints", "one", "--verify").code == 0
    assert user.outlast("run", "--job-id", "two", "--from", "one", "train.py").code == 0


def test_a_bucket_is_made_by_the_first_run_and_fit_for_a_home(user: User, emulator: Running) -> None:
    name = f"made-{os.getpid()}"
    dry = user.outlast("run", "--bucket", name, "--region", "europe-west4", "--dry-run", "train.py")
    assert dry.code == 0, dry.err
    assert f"bucket `{name}` would be made in `europe-west4`" in dry.err
    assert emulator.call("GET", f"/storage/v1/b/{name}").status == 404
    said = user.outlast("run", "--bucket", name, "--region", "europe-west4", "--detach", "train.py")
    assert said.code == 0, said.err
    made = emulator.call("GET", f"/storage/v1/b/{name}").json()
    assert made["location"] == "EUROPE-WEST4"
    assert made["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"] is True
    assert made["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    assert int(made["softDeletePolicy"]["retentionDurationSeconds"]) == 0
    (rule,) = made["lifecycle"]["rule"]
    assert rule == {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}}
    again = user.outlast("run", "--bucket", name, "--region", "us-east1", "--dry-run", "train.py")
    assert f"bucket `{name}` is in `europe-west4`, the machines are in `us-east1`" in again.err
    assert user.outlast("jobs", "--home", f"gs://{name}").code == 0


def test_who_may_neither_see_nor_make_a_bucket_is_told_which_right_is_missing(user: User, emulator: Running) -> None:
    """And not that the very command which was typed would make it."""
    login = {"email": "reader@example.com", "roles": ["roles/storage.objectViewer"]}
    key = user.write("reader.json", emulator.call("POST", "/_emulator/iam/users", login).body.decode())
    said = user.outlast("run", "--cloud-key", str(key), "--bucket", f"never-{os.getpid()}", "train.py")
    assert said.code == 4 and "storage.buckets.create" in said.err, said.err


def test_home_and_bucket_are_not_both_given(user: User) -> None:
    said = user.outlast("run", "--home", "gs://x-1", "--bucket", "x-1", "train.py")
    assert said.code == 2 and "`--home` and `--bucket`" in said.err


def test_the_trainer_hears_nothing_of_the_login_and_the_agent_of_the_right_one(
    user: User, home: str, emulator: Running
) -> None:
    """The supervisor was started from a shell without the emulator, for a job in a directory."""
    user.write(
        "env.py",
        "import os; print(sorted(n for n in os.environ if n.startswith(('GOOGLE', 'OUTLAST_EM', 'CLOUDSDK', 'STORAGE'))))",
    )
    blank = dict.fromkeys(emulator.variables, "")
    first = user.outlast("run", "--home", str(user.root / "directory"), "env.py", **blank)
    assert first.code == 0 and "[]" in first.out, first.err
    second = user.outlast("run", "--job-id", "second", "env.py")
    assert second.code == 0, second.err
    assert second.out.strip().endswith("[]")
    third = user.outlast("run", "--env", "GOOGLE_CLOUD_PROJECT=mine", "env.py")
    assert "['GOOGLE_CLOUD_PROJECT']" in third.out


def test_a_line_is_seen_through_the_bucket_while_it_is_watched(user: User) -> None:
    """Within how many seconds is measured by the benchmark; that it comes before the job ends is shown here."""
    user.write("slow.py", "import time\nprint('first', flush=True)\ntime.sleep(20)\nprint('last')")
    watching = user.start("run", "--job-id", "slow", "slow.py")
    assert watching.stdout is not None
    assert watching.stdout.readline() == b"first\n"
    assert show(user, "slow")["state"] == "running"
    assert user.outlast("stop", "slow").code in (0, 7)
    watching.communicate(timeout=SECONDS_MAX)


def test_who_loses_sight_of_a_job_is_told_that_it_goes_on(tmp_path: Path) -> None:
    """The server is killed under a running job, and comes back with all that it had answered for."""
    data = tmp_path / "data"
    with running(data, process=True) as emulator:
        user = User(tmp_path / "ada", {**emulator.variables})
        write(user, steps=60, pause=0.2)
        watching = user.start("run", "--bucket", "some-home", "--job-id", "alone", "train.py")
        assert watching.stdout is not None and emulator.pid is not None
        while b"step 2\n" not in (line := watching.stdout.readline()):
            assert line
        os.kill(emulator.pid, signal.SIGKILL)
        _, said = watching.communicate(timeout=SECONDS_MAX)
    assert watching.returncode == 6
    assert b"job `alone` goes on" in said and b"hint: `outlast logs -f alone`" in said
    with running(data, port=int(emulator.url.rpartition(":")[2]), process=True):
        followed = user.outlast("logs", "-f", "alone", "--home", "gs://some-home")
        assert (followed.code, followed.out.splitlines()[-1]) == (0, "step 59"), followed.err
        assert user.outlast("pull", "alone", "--home", "gs://some-home", "--to", "here").code == 0
        assert (user.work / "here/outputs/total.txt").read_bytes() == expected(60)
        stop_everything(user)


def test_two_laptops_resume_the_same_job_and_it_has_one_end(user: User, home: str, tmp_path: Path) -> None:
    """Each has machines of its own: whoever swaps head last owns it, and the other's machines leave."""
    write(user, steps=120, pause=0.1)
    assert user.outlast("run", "--job-id", "job", "--detach", "train.py").code == 0
    until(lambda: show(user, "job")["checkpoints"], "a checkpoint")
    assert user.outlast("stop", "job").code in (0, 7)
    other = User(tmp_path / "bob", dict(user.env))
    other.work.mkdir(parents=True)
    try:
        typed = [one.start("resume", f"{home}/jobs/job", "--detach") for one in (user, other)]
        codes = [one.wait(SECONDS_MAX) for one in typed]
        assert 0 in codes, [one.stderr.read() for one in typed if one.stderr]
        until(lambda: show(user, f"{home}/jobs/job")["state"] == "succeeded", "its end")
        assert total(home, "job") == expected(120)
        shown = show(other, f"{home}/jobs/job")
        assert shown["state"] == "succeeded" and shown["exit_code"] == 0
    finally:
        stop_everything(other)


@pytest.mark.parametrize("skew_seconds", [-86400, 86400])
def test_a_laptop_whose_clock_is_off_by_a_day_sees_the_same_job(
    skew_seconds: int, user: User, home: str, emulator: Running
) -> None:
    """Deadlines are decided by the store's time, so neither side's calendar ends a job."""
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": skew_seconds})
    try:
        said = user.outlast("run", "--job-id", "skewed", "--max-run", "10m", "train.py")
        assert said.code == 0, said.err
        assert total(home, "skewed") == expected(12)
        row = show(user, "skewed")
        assert row["state"] == "succeeded"
        assert abs(row["submitted_at"] - SYSTEM.now() - skew_seconds) < 600
        assert row["goodput"]["training"] < 60
        emulator.call("POST", "/_emulator/clock", {"skew_seconds": skew_seconds + 7200})
        for command in (
            ["jobs"],
            ["show", "skewed"],
            ["checkpoints", "skewed"],
            ["prune", "--older-than", "1h", "--dry-run"],
        ):
            assert " 2 h ago" in user.outlast(*command).out, (
                "ages are by the clock of the home, whatever this laptop's says"
            )
    finally:
        emulator.call("POST", "/_emulator/clock", {"skew_seconds": 0})


FAULTS: list[dict[str, Any]] = [
    {"kind": "lost"},
    {"kind": "error", "status": 503},
    {"kind": "error", "status": 429},
    {"kind": "error_after", "status": 503},
    {"kind": "error", "status": 401},
    {"kind": "truncated", "after_bytes": 1},
]


class Storm:
    """Faults of every kind on every method, as long as it lasts; what is queued and not met is cleared at its end."""

    def __init__(self, emulator: Running, seed: int, seconds: float) -> None:
        self._emulator = emulator
        self._random = Random(seed)
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._blow)
        self.count = 0

    def __enter__(self) -> Storm:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._emulator.clear_faults()

    def _blow(self) -> None:
        while not self._over.wait(self._random.uniform(0, 2 * self._seconds)):
            verb = self._random.choice(("insert", "insert", "get", "list", "delete"))
            self._emulator.fault(f"storage.objects.{verb}", **self._random.choice(FAULTS))
            self.count += 1


def check_drill(user: User, emulator: Running, seed: int, kills: int, steps: int) -> None:
    write(user, steps=steps, pause=0.05)
    with Storm(emulator, seed, 0.3) as storm:
        said = user.outlast("drill", "--kills", str(kills), "--seed", str(seed), "--json", "train.py")
    assert said.code == 0, said.err + said.out
    assert said.json["survived"] and said.json["identical"], said.out
    assert storm.count > 3


def test_a_drill_under_store_faults_is_identical(user: User, emulator: Running) -> None:
    check_drill(user, emulator, seed=1, kills=2, steps=40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_more_drills_under_store_faults_are_identical(seed: int, user: User, emulator: Running) -> None:
    check_drill(user, emulator, seed=seed, kills=3, steps=120)


def test_a_home_that_is_away_hides_no_other(user: User, home: str, emulator: Running) -> None:
    directory = str(user.root / "directory")
    assert user.outlast("run", "--home", directory, "--job-id", "here", "train.py").code == 0
    assert user.outlast("run", "--job-id", "there", "--detach", "train.py").code == 0
    until(lambda: show(user, "there")["state"] == "succeeded", "its end")
    away = {"OUTLAST_EMULATOR": "http://127.0.0.1:1", "STORAGE_EMULATOR_HOST": "", "OUTLAST_HOME": directory}
    listed = user.outlast("jobs", "--json", **away)
    assert listed.code == 0
    assert [row["job"] for row in listed.json] == ["here"]
    assert f"home `{home}` could not be read" in listed.err
    missed = user.outlast("show", "there", **away)
    assert missed.code == 3 and home in missed.err


def test_nobody_logged_in_is_told_so_with_exit_code_4(user: User, emulator: Running) -> None:
    """No emulator, no login, no Google machine: at once, and with what to type."""
    nobody = {**dict.fromkeys(emulator.variables, ""), "NO_GCE_CHECK": "true"}
    for command in (["jobs"], ["run", "train.py"], ["show", "x"]):
        said = user.outlast(*command, **nobody)
        assert said.code == 4, said.err
        assert "hint: `gcloud auth application-default login`" in said.err
