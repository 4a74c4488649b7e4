"""Ending jobs and going on with them: `stop`, `resume`."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.cli.test_reading import SAVES
from tests.cli.user import Terminal, User
from tests.waiting import until

WAITS_FOR_THE_OTHER = """
import os, pathlib, signal, sys, time
signs, mine, other = pathlib.Path(sys.argv[1]), *sys.argv[2:]
def leave(number, frame):
    (signs / mine).touch()
    while not (signs / other).exists():
        time.sleep(0.01)
    sys.exit(75)
signal.signal(signal.SIGTERM, leave)
print("began", flush=True)
time.sleep(600)
"""


def _has_begun(user: User, job: str) -> bool:
    return user.outlast("logs", job).out == "began\n"


def test_several_jobs_are_told_to_stop_before_the_first_is_waited_for(user: User) -> None:
    user.write("train.py", WAITS_FOR_THE_OTHER)
    signs = user.root / "signs"
    signs.mkdir()
    for words in (("one", "two"), ("two", "one")):
        said = user.outlast("run", "--detach", "--job-id", words[0], "train.py", "--", str(signs), *words)
        assert said.code == 0, said.err
    for job in ("one", "two"):
        until(partial(_has_begun, user, job), "its first line")
    assert user.outlast("stop", "one", "two").code == 0
    codes = [user.outlast("show", job, "--json").json["attempt_list"][0]["exit_code"] for job in ("one", "two")]
    assert codes == [75, 75]


LEAVES_WHEN_LET = """
import pathlib, signal, sys, time
def leave(number, frame):
    print("told", flush=True)
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.01)
    sys.exit(75)
signal.signal(signal.SIGTERM, leave)
print("began", flush=True)
time.sleep(600)
"""


def test_a_job_that_this_very_command_has_stopped_is_not_said_to_have_stopped_before(user: User) -> None:
    user.write("train.py", "import time\nprint('began', flush=True)\ntime.sleep(600)\n")
    user.write("short.py", "")
    assert user.outlast("run", "--job-id", "short", "short.py").code == 0
    for job in ("one", "two"):
        assert user.outlast("run", "--detach", "--job-id", job, "train.py").code == 0
    for job in ("one", "two"):
        until(partial(_has_begun, user, job), "its first line")
    program = (
        "import sys, time, outlast.jobs.stop as stop\n"
        "real = stop.stop\n"
        "def slow(world, job):\n"
        "    ended = real(world, job)\n"
        "    while not ended.final or not stop.look(world, stop.Job.of(job.home, 'two')).final:\n"
        "        time.sleep(0.02)\n"
        "    return ended\n"
        "stop.stop = slow\n"
        "from outlast.cli.edge import run\n"
        "sys.exit(run(['stop', 'one', 'two', 'short']))\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=user.work, env=user.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "two stopped after" in done.stderr and "short had succeeded before" in done.stderr
    assert "had stopped before" not in done.stderr


def test_who_does_not_wait_for_a_stop_is_told_that_it_goes_on_and_until_then_nothing_is_resumed(user: User) -> None:
    user.write("train.py", LEAVES_WHEN_LET)
    let = user.root / "let"
    assert user.outlast("run", "--detach", "--job-id", "mine", "train.py", "--", str(let)).code == 0
    until(partial(_has_begun, user, "mine"), "its first line")
    stopping = Terminal(user, "stop", "mine")
    until(lambda: "told" in user.outlast("logs", "mine").out, "what it says when it is told")
    stopping.press(b"\x03")
    assert stopping.wait() == 130
    assert b"does so by itself, `outlast jobs --running` lists" in stopping.seen
    assert [row["job"] for row in user.outlast("jobs", "--running", "--json").json] == ["mine"]
    for how in ("--detach", "--dry-run"):
        refused = user.outlast("resume", how, "mine")
        assert refused.code == 2 and "`mine` is being stopped" in refused.err, refused.err
        assert "hint: `outlast stop mine` returns when it has ended, `outlast resume mine`" in refused.err
    let.touch()
    until(lambda: user.outlast("show", "--json", "mine").json["state"] == "stopped", "its end")
    assert user.outlast("stop", "mine").code == 0
    assert user.outlast("resume", "--detach", "mine").code == 0


def test_where_one_of_several_jobs_is_unknown_none_is_stopped_and_that_is_said(user: User) -> None:
    user.write("train.py", "import time\ntime.sleep(600)")
    assert user.outlast("run", "--detach", "--job-id", "mine", "train.py").code == 0
    said = user.outlast("stop", "mine", "other")
    assert said.code == 3 and "nothing was changed" in said.err
    assert [row["job"] for row in user.outlast("jobs", "--running", "--json").json] == ["mine"]


def test_stop_finds_all_jobs_before_it_stops_one(user: User) -> None:
    user.write("train.py", "import time\nwhile True: time.sleep(0.1)")
    user.outlast("run", "--detach", "--job-id", "alive", "train.py")
    assert user.outlast("stop", "alive", "nonsense").code == 3
    assert user.outlast("jobs", "--json", "--running").json
    assert user.outlast("stop", "alive").code == 0
    assert user.outlast("jobs", "--json", "--running").json == []


def test_a_stopped_job_goes_on_where_it_was(user: User) -> None:
    go = user.root / "go"
    user.write("train.py", SAVES + f"\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)\n")
    user.outlast("run", "--detach", "--job-id", "mine", "train.py")
    until(lambda: user.outlast("checkpoints", "mine", "--json").json != [])
    assert user.outlast("stop", "mine").code == 0
    assert user.outlast("show", "mine", "--json").json["state"] == "stopped"
    go.touch()
    resumed = user.outlast("resume", "mine")
    assert resumed.code == 0, resumed.err
    assert "had stopped and goes on from step 7" in resumed.err
    assert "found ['ck-7.json']" in resumed.out
    document = user.outlast("show", "mine", "--json").json
    assert document["attempts"] == 2 and document["attempt_list"][1]["resumed_from_step"] == 7
    log = user.outlast("logs", "mine")
    assert log.out.count("saved\n") == 2 and "attempt 2, resumed from step 7" in log.err


def test_resume_refuses_other_arguments_unless_they_are_allowed(user: User) -> None:
    user.write("train.py", "import sys; print(sys.argv[1:]); sys.exit(1)")
    assert user.outlast("run", "--job-id", "mine", "train.py", "--", "--lr", "1").code == 1
    refused = user.outlast("resume", "mine", "--", "--lr", "2")
    assert refused.code == 2 and "--allow-changed" in refused.err
    for line in (["--allow-changed", "--", "--lr", "2"], ["--", "--lr", "2", "--allow-changed"]):
        assert "['--lr', '2']" in user.outlast("resume", "mine", *line).out
    assert "['--lr', '2']" in user.outlast("resume", "mine").out


def test_what_a_job_was_resumed_with_is_its_own_from_then_on(user: User) -> None:
    user.write("train.py", "import sys; print(sys.argv[1:]); sys.exit(1)")
    assert user.outlast("run", "--job-id", "mine", "train.py", "--", "--lr", "1").code == 1
    assert "['--lr', '2']" in user.outlast("resume", "mine", "--", "--lr", "2", "--allow-changed").out
    assert "['--lr', '2']" in user.outlast("resume", "mine", "--", "--lr", "2").out
    refused = user.outlast("resume", "mine", "--", "--lr", "1")
    assert refused.code == 2 and "was resumed with `--lr 2`, not with `--lr 1`" in refused.err
    assert "['--lr', '1']" in user.outlast("resume", "mine", "--allow-changed", "--", "--lr", "1").out


def test_a_refused_resume_is_answered_with_the_line_that_goes_on(user: User) -> None:
    user.write("train.py", "import sys; sys.exit(1)")
    assert user.outlast("run", "--job-id", "mine", "train.py", "--", "--lr", "1").code == 1
    for args in (["--lr", "2 3"], ["--allow-changed", "--lr", "2 3"]):
        refused = user.outlast("resume", "mine", "--", *args)
        assert refused.code == 2 and "`outlast resume mine -- --lr '2 3' --allow-changed`" in refused.err


OTHER_DEFAULT = """
import pathlib, sys, outlast
@outlast.main
def train(size: int = 3, lr: float = float(pathlib.Path({path!r}).read_text())) -> None:
    state = outlast.State(total=0.0)
    for step in outlast.steps(3, state, save_steps=1):
        state.total += lr
        if step == 1 and lr == 1:
            outlast.checkpoint(wait=True)
            sys.exit(3)
train()
"""


def test_arguments_of_the_script_without_the_dashes_are_told_where_they_stand(user: User) -> None:
    said = user.outlast("resume", "mine", "--lr", "2")
    assert said.code == 2 and "no such option `--lr`" in said.err
    assert "`outlast resume JOB -- ARGS --allow-changed`" in said.err


def test_values_that_changed_behind_the_same_arguments_must_be_allowed(user: User) -> None:
    default = user.write("lr.txt", "1")
    user.write("train.py", OTHER_DEFAULT.format(path=str(default)))
    assert user.outlast("run", "--job-id", "mine", "train.py", "--", "--size", "4").code == 1
    default.write_text("2")
    for line in ([], ["--", "--size", "4"]):
        refused = user.outlast("resume", "mine", *line)
        assert refused.code == 1 and "--lr is 2.0, but this job has trained with 1.0" in refused.out, line
    allowed = user.outlast("resume", "mine", "--allow-changed")
    assert allowed.code == 0 and "note: --lr is 2.0, but this job has trained with 1.0" in allowed.out


FAILS_AT = """
import sys, outlast
for step in outlast.steps(99, outlast.State(seen=0), save_steps=1):
    if step == int(sys.argv[1]):
        sys.exit(3)
    with outlast.checkpoint(wait=True):
        pass
"""


def test_a_job_that_went_back_to_an_older_checkpoint_says_where_it_goes_on(user: User) -> None:
    user.write("train.py", FAILS_AT)
    assert "goes on from step 5\n" in user.outlast("run", "--job-id", "mine", "train.py", "--", "5").err
    assert "goes on from step 9\n" in user.outlast("resume", "mine", "--allow-changed", "--", "9").err
    back = user.outlast("resume", "mine", "--checkpoint", "5", "--", "5", "--allow-changed")
    assert "`outlast resume mine` goes on from step 5\n" in back.err
    assert "`outlast resume mine` goes on from step 5\n" in user.outlast("show", "mine").out


@pytest.mark.parametrize("said", [["--cpus", "999"], ["--gpus", "64"], []])
def test_a_resume_that_never_fits_leaves_the_job_as_it_ended(user: User, said: list[str]) -> None:
    user.env["OUTLAST_LOCAL_CPUS"] = "3"
    user.write("train.py", "import sys; sys.exit(3)")
    assert user.outlast("run", "--job-id", "mine", "--cpus", "3", "train.py").code == 1
    user.env["OUTLAST_LOCAL_CPUS"] = "2"
    refused = user.outlast("resume", "mine", *said)
    assert refused.code == 5 and "nothing was started" in refused.err
    assert user.outlast("show", "mine", "--json").json["state"] == "failed"
    assert user.outlast("resume", "mine", "--cpus", "2").code == 1


def test_a_resume_that_is_only_planned_leaves_the_job_as_it_ended(user: User) -> None:
    user.write("train.py", "import sys; sys.exit(3)")
    assert user.outlast("run", "--job-id", "one", "train.py").code == 1
    said = user.outlast("resume", "one", "--dry-run", "--json", "--cpus", "2", "--max-run", "1h")
    (launch,) = said.json["launches"]
    assert (launch["engine"], launch["cpus"], launch["max_run_seconds"]) == ("local", 2, 3600.0)
    assert said.json["writes"][0]["key"] == "jobs/one/launches/000002.json"
    printed = user.outlast("resume", "one", "--dry-run")
    assert "start 1 machine on local" in printed.out and "nothing was made, nothing was started" in printed.err
    shown = user.outlast("show", "--json", "one").json
    assert (shown["state"], shown["attempts"]) == ("failed", 1)


def test_what_kept_no_checkpoint_is_no_job_to_begin_another_one_with(user: User) -> None:
    user.write("train.py", "import sys; sys.exit(len(sys.argv) - 1)")
    assert user.outlast("run", "--job-id", "done", "train.py").code == 0
    assert user.outlast("run", "--job-id", "failed", "train.py", "--", "x").code == 1
    for line in (
        ["resume", "done"],
        ["run", "--job-id", "done", "train.py"],
        ["resume", "failed", "--", "y"],
        ["run", "--from", "failed", "train.py"],
    ):
        said = user.outlast(*line)
        assert said.code in (2, 3) and "hint: " in said.err and "--from" not in said.err, said.err
    assert "kept no checkpoint" in user.outlast("checkpoints", "failed").err
    refused = user.outlast("resume", "--checkpoint", "3", "failed")
    assert refused.code == 3 and "nothing was started" in refused.err
    assert "hint: `outlast resume failed` begins at the beginning" in refused.err


@pytest.mark.parametrize("which", [["--all", "--yes"], ["--name", "nobody"], ["--label", "team=none"]])
def test_where_nothing_is_to_be_stopped_the_document_is_an_empty_list(user: User, which: list[str]) -> None:
    said = user.outlast("stop", *which, "--json")
    assert said.code == 0 and said.json == []


def test_resume_detached_says_the_same_three_fields(user: User) -> None:
    user.write("train.py", "raise SystemExit(1)")
    user.outlast("run", "--job-id", "mine", "train.py")
    assert user.outlast("resume", "mine", "--detach", "--json").json.keys() == {"job", "folder", "state"}


def test_what_a_resume_cannot_change_of_a_job_that_runs_is_refused(user: User) -> None:
    user.write("train.py", "import time\nprint('began', flush=True)\ntime.sleep(600)\n")
    assert user.outlast("run", "--detach", "--job-id", "mine", "--max-run", "1h", "train.py").code == 0
    assert user.outlast("resume", "--detach", "--max-run", "1h", "mine").code == 0
    for changed in (["--max-run", "2h", "mine"], ["mine", "--", "--lr", "1", "--allow-changed"]):
        said = user.outlast("resume", "--detach", *changed)
        assert said.code == 2 and "`mine` has not ended" in said.err and "hint: `outlast stop mine`" in said.err
    refused = user.outlast("resume", "mine", "--", "--lr", "1 2")
    assert "was submitted without arguments, not with `--lr '1 2'`" in refused.err


def test_the_time_that_a_job_lay_stopped_is_no_time_lost(user: User) -> None:
    user.write("train.py", "import os, time\nif os.environ['OUTLAST_ATTEMPT'] == '1':\n    time.sleep(600)\n")
    assert user.outlast("run", "--detach", "--job-id", "mine", "train.py").code == 0
    until(lambda: user.outlast("show", "mine", "--json").json["attempts"] == 1)
    assert user.outlast("stop", "mine").code == 0
    time.sleep(0.5)  # what is measured, not a synchronisation
    resumed = user.outlast("resume", "mine")
    assert resumed.code == 0 and "no time lost" in resumed.err
    assert user.outlast("show", "mine", "--json").json["goodput"]["waiting"] == 0
    (took,) = re.findall(r"mine succeeded after ([^:]+):", resumed.err)
    assert re.search(rf"^mine +succeeded .*, after {re.escape(took)}$", user.outlast("show", "mine").out, re.MULTILINE)
