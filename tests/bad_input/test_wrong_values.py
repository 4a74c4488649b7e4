"""Values that make no sense are answered with the legal ones, and places that cannot be used with one clear error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from outlast.cli.words import duration
from outlast.errors import UsageError
from outlast.training.places import config
from tests.bad_input.surroundings import obey_modes
from tests.cli.user import User

ROOT = Path(__file__).resolve().parents[2]


def test_an_empty_name_is_no_job_and_above_all_not_the_newest(user: User) -> None:
    user.write("train.py", "pass")
    assert user.outlast("run", "--job-id", "newest", "train.py").code == 0
    for words in (
        ["delete", "--yes", ""],
        ["stop", ""],
        ["resume", ""],
        ["show", ""],
        ["pull", ""],
        ["evaluate", ""],
        ["run", "--from", "", "train.py"],
        ["drill", "--like", ""],
    ):
        said = user.outlast(*words)
        assert said.code == 2 and "hint: " in said.err and "Traceback" not in said.err, (words, said.err)
    assert [row["job"] for row in user.outlast("jobs", "--json").json] == ["newest"]


def test_an_empty_home_or_name_chooses_nothing_and_above_all_not_everything(user: User) -> None:
    user.write("train.py", "import time\ntime.sleep(600)")
    assert user.outlast("run", "--detach", "--job-id", "mine", "train.py").code == 0
    for words in (
        ["stop", "--all", "--yes", "--home", ""],
        ["stop", "--yes", "--name", ""],
        ["prune", "--yes", "--home", ""],
        ["jobs", "--name", ""],
        ["pull", "mine", "--to", ""],
    ):
        said = user.outlast(*words)
        assert said.code == 2 and f"`{words[-2]}`: an empty value" in said.err and "hint: " in said.err, (
            words,
            said.err,
        )
    assert [row["job"] for row in user.outlast("jobs", "--running", "--json").json] == ["mine"]


@pytest.mark.parametrize("path", ["a" * 300, "abcdefghi/" * 420])
def test_a_path_that_is_too_long_is_said_to_be_so(user: User, path: str) -> None:
    user.write("train.py", "import outlast\n(outlast.output_dir() / 'a').touch()")
    assert user.outlast("run", "--job-id", "done", "train.py").code == 0
    for words in (
        ["run", "--home", path, "train.py"],
        ["run", "--dataset", path, "train.py"],
        ["run", "--requirements", path, "train.py"],
        ["pull", "done", "--to", path],
        ["push", path],
        ["show", f"/{path}/jobs/x"],
    ):
        said = user.outlast(*words)
        assert said.code == 2 and "too long" in said.err and "Traceback" not in said.err, (words[0], said.err)


@pytest.mark.parametrize("value", ["0s", "0", "0.2s"])
def test_no_time_at_all_is_no_limit_for_a_job(user: User, value: str) -> None:
    user.write("train.py", "pass")
    for said in (
        user.outlast("run", "--max-run", value, "train.py"),
        user.outlast("run", "train.py", OUTLAST_MAX_RUN=value),
        user.outlast("resume", "--max-run", value),
    ):
        assert said.code == 2 and "at least `1s`" in said.err and "`7d`" in said.err, said.err
    assert user.outlast("jobs", "--json").json == []


def test_a_short_limit_leaves_time_to_save_and_to_end(user: User) -> None:
    """The margin before the deadline is a share of the limit: three minutes of two would leave nothing."""
    user.write(
        "train.py",
        "import outlast, time\nstate = outlast.State(total=0)\n"
        "for step in outlast.steps(10**9, state, save_every='1h'):\n    state.total += 1\n    time.sleep(0.01)\n",
    )
    said = user.outlast("run", "--max-run", "8s", "--job-id", "short", "train.py")
    assert said.code == 8, said.err
    shown = user.outlast("show", "--json", "short").json
    (attempt,) = shown["attempt_list"]
    assert (shown["state"], attempt["cause"], attempt["exit_code"]) == ("expired", "expired", 75)
    assert shown["checkpoints"] and attempt["steps_lost"] == 0


def test_how_often_to_look_needs_something_to_look_for(user: User) -> None:
    user.write("train.py", "pass")
    assert user.outlast("run", "--job-id", "done", "train.py").code == 0
    said = user.outlast("logs", "--polling-interval", "0.5", "done")
    assert said.code == 2 and "`outlast logs -f --polling-interval 0.5 done`" in said.err, said.err
    assert user.outlast("logs", "-f", "--polling-interval", "0.5", "done").code == 0


def test_a_directory_that_is_not_there_is_not_taken_for_a_script(user: User) -> None:
    user.write("ok.py", "pass")
    said = user.outlast("run", "-d", "nodir", "ok.py")
    assert said.code == 2 and "no directory `nodir`" in said.err and "`outlast run ok.py`" in said.err, said.err
    (user.work / "nodirs").mkdir()
    said = user.outlast("run", "-d", "nodir", "ok.py", "--", "-x")
    assert said.code == 2 and "`outlast run -d nodirs ok.py -- -x`" in said.err, said.err
    said = user.outlast("run", "-d", "ok.py")
    assert said.code == 2 and "`outlast run --detach ok.py`" in said.err, said.err
    said = user.outlast("run", "okk.py")
    assert said.code == 3 and "`ok.py`" in said.err, said.err


def by_hand(user: User, run_dir: str, script: str) -> subprocess.CompletedProcess[str]:
    user.write("train.py", script)
    return subprocess.run(
        [sys.executable, "train.py"],
        cwd=user.work,
        env={**user.environ(), "OUTLAST_RUN_DIR": run_dir, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=obey_modes,
    )


@pytest.mark.parametrize(
    "script",
    [
        "import outlast\nfor step in outlast.steps(3, outlast.State(x=1)): pass",
        "import outlast\noutlast.log(1, loss=2)",
        "import outlast\noutlast.output_dir()",
        "import outlast\nwith outlast.checkpoint(1) as folder: pass",
    ],
)
def test_a_run_directory_that_cannot_be_used_is_one_clear_error(user: User, script: str) -> None:
    locked = user.root / "locked"
    locked.mkdir(mode=0o500)
    plain = user.root / "plain"
    plain.write_text("")
    for run_dir in (str(locked / "run"), str(locked), str(plain), str(plain / "run"), "/dev/null/run"):
        done = by_hand(user, run_dir, script)
        assert "OUTLAST_RUN_DIR is" in done.stderr and "hint: name a directory" in done.stderr, done.stderr
        assert done.returncode == (0 if "log" in script else 1)  # log never raises, it only says so
        assert "Error" not in done.stderr and done.stderr.count("Traceback") <= 1, done.stderr
    assert by_hand(user, str(user.root / "new" / "run"), script).returncode == 0


def test_a_configuration_in_toml_where_nothing_reads_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.10 has no parser of its own, and a trainer's environment need not have one."""
    path = tmp_path / "config.toml"
    path.write_text("x = 1\n")
    monkeypatch.setenv("OUTLAST_CONFIG", str(path))
    monkeypatch.setattr(sys, "version_info", (3, 10, 1, "final", 0))
    monkeypatch.setitem(sys.modules, "tomli", None)
    with pytest.raises(UsageError, match="pip install tomli"):
        config()


def test_a_resume_follows_what_is_new_and_says_where_the_rest_is(user: User) -> None:
    user.write(
        "train.py",
        "import os, sys\nprint('attempt', os.environ['OUTLAST_ATTEMPT'], flush=True)\n"
        "sys.exit(3 if os.environ['OUTLAST_ATTEMPT'] == '1' else 0)",
    )
    assert user.outlast("run", "--job-id", "twice", "train.py").code == 1
    said = user.outlast("resume", "twice")
    assert said.code == 0 and said.out == "attempt 2\n", said.out
    assert "`outlast logs twice`" in said.err
    assert user.outlast("logs", "twice").out == "attempt 1\nattempt 2\n"


def test_the_time_that_a_job_took_holds_the_time_that_it_lost(user: User) -> None:
    """Also if it waited for its turn, or lay stopped for a while: both are counted from the same moment."""
    user.write("train.py", "import sys, time\ntime.sleep(0.3)\nsys.exit(3)")
    assert user.outlast("run", "--job-id", "late", "train.py").code == 1
    said = user.outlast("resume", "late")
    goodput = user.outlast("show", "--json").json["goodput"]
    total = sum(value for name, value in goodput.items() if name != "ratio")
    assert f" after {duration(total)}: " in said.err, (said.err, goodput)
