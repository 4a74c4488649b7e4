"""Looking at jobs and what they leave: `jobs`, `show`, `checkpoints`, `pull`, `config`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.cli.user import SECONDS_MAX, User
from tests.waiting import until

ROW = [
    "job", "name", "state", "engine", "target", "args", "labels", "attempts", "preemptions", "step", "submitted_at",
    "started_at", "ended_at", "exit_code", "cost_usd", "usd_per_hour", "folder", "sweep", "cells",
]  # fmt: skip
ATTEMPT = [
    "attempt", "launch", "machine", "cause", "started_at", "ended_at", "exit_code", "resumed_from_step", "steps_lost",
]  # fmt: skip
CHECKPOINT = ["name", "step", "bytes", "attempt", "committed_at"]

SAVES = """
import os, pathlib, sys, time
checkpoints, outputs = pathlib.Path(os.environ["OUTLAST_CHECKPOINT_DIR"]), pathlib.Path(os.environ["OUTLAST_OUTPUT_DIR"])
print("found", sorted(one.name for one in checkpoints.iterdir()), flush=True)
(checkpoints / "ck-7.json").write_text('{"step": 7}')
(outputs / "model.bin").write_bytes(b"weights")
(outputs / "sub").mkdir(exist_ok=True)
(outputs / "sub" / "log.csv").write_text("step,loss\\n7,0.5\\n")
print("saved", flush=True)
"""


@pytest.fixture
def saved(user: User) -> User:
    """A user with one job, `saved`, that left a checkpoint and outputs."""
    user.write("train.py", SAVES)
    done = user.outlast("run", "--job-id", "saved", "train.py", "--", "--lr", "0.1")
    assert done.code == 0, done.err
    return user


def test_with_no_job_it_says_how_to_make_one_and_json_is_an_empty_list(user: User) -> None:
    said = user.outlast("jobs")
    assert (said.code, said.out) == (0, "") and "outlast run" in said.err
    assert user.outlast("jobs", "--json").out == "[]\n"
    assert user.outlast("show").code == 3


def test_a_row_has_exactly_the_fields_that_are_documented(saved: User) -> None:
    (row,) = saved.outlast("jobs", "--json").json
    assert list(row) == ROW
    assert {name: row[name] for name in ("job", "name", "state", "engine", "target", "args", "labels")} == {
        "job": "saved", "name": "train", "state": "succeeded", "engine": "local",
        "target": "train.py", "args": ["--lr", "0.1"], "labels": {},
    }  # fmt: skip
    assert row["attempts"] == 1 and row["preemptions"] == 0 and row["exit_code"] == 0
    assert row["cost_usd"] == 0 and row["sweep"] is None and row["folder"] == f"{saved.home}/jobs/saved"
    assert row["submitted_at"] <= row["started_at"] <= row["ended_at"]


def test_show_has_exactly_the_fields_that_are_documented(saved: User) -> None:
    document = saved.outlast("show", "--json").json
    more = ["why", "spec", "attempt_list", "checkpoints", "goodput", "store_writes", "evaluations", "notifications"]
    more += ["cost_usd_on_demand", "max_cost_usd", "edited_at_step"]
    assert sorted(document) == sorted([*ROW, *more])
    assert [list(one) for one in document["attempt_list"]] == [ATTEMPT]
    assert document["checkpoints"] and all(list(one) == CHECKPOINT for one in document["checkpoints"])
    assert document["goodput"].keys() >= {"ratio", "training", "lost", "saving", "starting", "waiting"}
    assert document["spec"]["args"] == ["--lr", "0.1"]


def test_show_tells_a_person_state_attempts_checkpoints_time_and_place(saved: User) -> None:
    said = saved.outlast("show", "sav")
    assert said.code == 0 and said.err == ""
    assert re.match(r"saved  succeeded \w.* after [\d.]+ m?s\n", said.out)
    for words in ("target     train.py --lr 0.1", "on         local, 1 CPU, $0 per hour", "`outlast pull saved`",
                  "ATTEMPT", "the beginning", "CHECKPOINT", "goodput ", "training "):  # fmt: skip
        assert words in said.out, words
    assert "\x1b" not in said.out


def test_a_job_that_did_not_succeed_says_how_it_goes_on(user: User) -> None:
    user.write("train.py", SAVES + "sys.exit(0 if '--well' in sys.argv else 3)")
    for name, args, words in (("bad", [], "`outlast resume bad` goes on from step 7"), ("good", ["--well"], "")):
        said = user.outlast("run", "--job-id", name, "train.py", "--", *args)
        shown = user.outlast("show", name).out
        assert words in said.err and words in shown
        assert ("outlast resume" in said.err + shown) is (words != "")


def test_how_far_a_job_is_and_how_long_it_will_take_is_said_while_it_runs(user: User) -> None:
    user.write(
        "train.py",
        "import time, outlast\n"
        "for step in outlast.steps(40, outlast.State(n=0)):\n"
        "    time.sleep(0.02)\n"
        "    while step == 30 and not outlast.should_stop(): time.sleep(0.05)\n",
    )
    assert user.outlast("run", "--detach", "--job-id", "far", "train.py").code == 0
    until = time.monotonic() + SECONDS_MAX
    while not re.match(r"far  running for [^,]+, step 30 of 40, about [^,]+ left\n", said := user.outlast("show").out):
        assert time.monotonic() < until, said
        time.sleep(0.05)
    assert user.outlast("stop", "far").code == 0


def test_a_machine_that_is_not_heard_of_any_more_is_said(saved: User, capsys: pytest.CaptureFixture[str]) -> None:
    from outlast.cli.show import _print_facts
    from outlast.folder.home import Home
    from outlast.folder.records import Beat, State
    from outlast.results.status import status_of
    from outlast.store.registry import open_store

    folder = Home(open_store(str(saved.home)), Random(1)).folder("saved")
    head = replace(folder.existing_head().head, state=State.RUNNING, ended_at=None)
    for silent, said in ((30.0, False), (720.0, True)):
        status = status_of(
            folder.read_spec(), head, folder.read_launch(1), alive="running", why="", machines=(), stopping=False,
            beat=Beat(1, 1e9 - silent, 7, 0), now=1e9, folder_url="",
        )  # fmt: skip
        _print_facts(status)
        assert ("nothing heard of it for 12 min" in capsys.readouterr().out) is said


def test_show_of_a_failed_job_shows_why_and_the_end_of_its_log(user: User) -> None:
    user.write("train.py", "print('\\x1b[2Jabout to fail')\nraise RuntimeError('no such data')")
    assert user.outlast("run", "train.py").code == 1
    said = user.outlast("show")
    assert "failed with exit code 1" in said.out
    assert "RuntimeError: no such data" in said.out and "about to fail" in said.out and "\x1b" not in said.out


def test_an_attempt_that_is_not_there_is_answered_with_those_that_are(saved: User) -> None:
    for command in ("show", "logs"):
        said = saved.outlast(command, "--attempt", "9")
        assert said.code == 3 and "attempt 9" in said.err and "1" in said.err.partition("9")[2]
    assert len(saved.outlast("show", "--attempt", "1", "--json").json["attempt_list"]) == 1


def test_a_job_is_named_by_a_prefix_its_folder_or_nothing(saved: User) -> None:
    for name in (["s"], ["saved"], [f"{saved.home}/jobs/saved"], [f"{saved.home}/jobs/saved/"], []):
        assert saved.outlast("show", *name, "--json").json["job"] == "saved"


def test_arguments_are_listed_as_a_shell_takes_them(user: User) -> None:
    user.write("train.py", "")
    assert user.outlast("run", "train.py", "--", "--name", "two words", "a;b").code == 0
    assert "train.py --name 'two words' 'a;b'" in user.outlast("jobs").out


def test_a_prefix_of_two_jobs_is_refused_with_both_names(saved: User) -> None:
    saved.outlast("run", "--detach", "--job-id", "saved-too", "train.py")
    said = saved.outlast("show", "save")
    assert said.code == 2 and "`saved`" in said.err and "`saved-too`" in said.err
    assert saved.outlast("show", "saved", "--json").json["job"] == "saved"


def test_a_home_that_was_spelled_in_two_ways_is_one(saved: User) -> None:
    (saved.root / "link").symlink_to(saved.outlast_dir)
    for home in (f"{saved.root}/link/home", f"file://{saved.home}"):
        assert saved.outlast("run", "--home", home, "--name", "other", "train.py").code == 0
    assert len(saved.outlast("jobs", "--json", OUTLAST_HOME=f"file://{saved.home}").json) == 3
    assert saved.outlast("show", "save", "--json").json["job"] == "saved"


def test_a_home_that_is_not_there_is_said_to_be_so(saved: User) -> None:
    for words in (["jobs"], ["show", "saved"], ["stop", "--all", "--yes"]):
        said = saved.outlast(*words, "--home", f"{saved.root}/mistyped")
        assert f"home `{saved.root}/mistyped` could not be read: there is no such directory" in said.err, words


def test_a_name_that_jobs_of_two_homes_have_is_refused_with_both_folders(saved: User) -> None:
    other = f"{saved.root}/other"
    assert saved.outlast("run", "--home", other, "--job-id", "saved", "train.py").code == 0
    for words in (["stop", "saved"], ["delete", "--yes", "saved"], ["show", "save"]):
        said = saved.outlast(*words)
        assert said.code == 2 and f"`{saved.home}/jobs/saved`" in said.err and f"`{other}/jobs/saved`" in said.err
    for words in (["--home", other, "saved"], [f"{other}/jobs/saved"]):
        assert saved.outlast("show", "--json", *words).json["folder"] == f"{other}/jobs/saved"


def test_an_unknown_job_is_answered_with_near_names(saved: User) -> None:
    said = saved.outlast("logs", "savd")
    assert said.code == 3 and "`saved`" in said.err


def test_checkpoints_are_listed_and_verified(saved: User) -> None:
    listed = saved.outlast("checkpoints", "--json").json
    assert [list(one) for one in listed] == [[*CHECKPOINT, "problem"]] * len(listed) and listed[-1]["step"] == 7
    verified = saved.outlast("checkpoints", "--verify")
    assert verified.code == 0 and "whole" in verified.out and "verified" in verified.err


def test_a_damaged_checkpoint_is_exit_code_6_and_named(saved: User) -> None:
    (part, *_) = filter(Path.is_file, (saved.home / "jobs/saved/attempts/000001/parts").rglob("0*"))
    part.write_bytes(b"x" * part.stat().st_size)
    said = saved.outlast("checkpoints", "--verify", "--json")
    assert said.code == 6 and any(one["problem"] for one in said.json)


def test_pull_to_where_nothing_can_be_written_says_what_to_type(saved: User) -> None:
    said = saved.outlast("pull", "--to", "/dev/null/x")
    assert said.code == 4 and "/dev/null/x" in said.err and "`--to DIR`" in said.err, said.err


def test_pull_copies_outputs_and_the_last_checkpoint_and_skips_what_is_there(saved: User) -> None:
    said = saved.outlast("pull")
    assert said.code == 0, said.err
    copied = sorted(said.out.splitlines())
    assert "saved/outputs/model.bin" in copied and "saved/outputs/sub/log.csv" in copied
    assert all((saved.work / path).is_file() for path in copied)
    assert (saved.work / "saved/outputs/model.bin").read_bytes() == b"weights"
    again = saved.outlast("pull", "--json")
    assert again.json == {
        "job": "saved",
        "to": "saved",
        "files": [],
        "bytes": 0,
        "skipped": len(copied),
        "replaced": 0,
    }
    (saved.work / "saved/outputs/model.bin").write_bytes(b"edited")
    assert "; 1 file with other contents replaced; " in saved.outlast("pull").err


def test_pull_takes_a_pattern_and_a_place(saved: User) -> None:
    said = saved.outlast("pull", "saved", "*.csv", "--to", "there", "--json")
    assert said.json["files"] == ["outputs/sub/log.csv"] and (saved.work / "there/outputs/sub/log.csv").is_file()
    assert saved.outlast("pull", "*.bin", "--json").json["files"] == ["outputs/model.bin"]
    for number, directory in enumerate(("sub", "sub/", "sub/*", "outputs/sub", "./outputs/sub/log.csv")):
        said = saved.outlast("pull", "saved", directory, "--to", f"there-{number}", "--json")
        assert said.json["files"] == ["outputs/sub/log.csv"], directory
    nothing = saved.outlast("pull", "saved", "*.nope")
    assert nothing.code == 3 and "model.bin" in nothing.err


def test_an_interrupted_pull_says_that_it_goes_on_where_it_was(saved: User) -> None:
    program = (
        "import sys, outlast.jobs.pull as pull\n"
        "real, copied = pull._write, []\n"
        "def cut(*words):\n"
        "    if copied:\n"
        "        raise KeyboardInterrupt\n"
        "    copied.append(real(*words))\n"
        "pull._write = cut\n"
        "from outlast.cli.edge import run\n"
        "sys.exit(run(['pull', 'saved', '--to', 'cut']))\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=saved.work, env=saved.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 130 and "interrupted; what was copied stays, and is skipped" in done.stderr
    assert saved.outlast("pull", "saved", "--to", "cut", "--json").json["skipped"] == 1


@pytest.mark.parametrize("wrong", ["first", "99"])
def test_a_checkpoint_that_is_not_there_is_answered_with_those_that_are(saved: User, wrong: str) -> None:
    said = saved.outlast("pull", "--checkpoint", wrong)
    assert said.code == 3 and "7" in said.err and "last" in said.err


def test_a_job_that_has_ended_stays_as_it_ended(saved: User) -> None:
    said = saved.outlast("stop", "saved", "--json")
    assert said.code == 0 and said.json[0]["state"] == "succeeded" and "had succeeded" in said.err


def test_what_was_pulled_beside_the_code_is_not_shipped_with_the_next_job(saved: User) -> None:
    def shipped() -> str:
        return saved.outlast("run", "--dry-run", "train.py").err.split(" in ")[0].splitlines()[0]

    before = shipped()
    assert saved.outlast("pull").code == 0 and (saved.work / "saved" / "outputs" / "model.bin").exists()
    assert shipped() == before and before.startswith("Packed 1 file")
    mine = saved.work / "mine"
    mine.mkdir()
    assert saved.outlast("pull", "--to", "mine").code == 0
    assert not (mine / ".gitignore").exists() and shipped() != before


def test_a_machine_that_is_killed_costs_an_attempt_and_every_page_says_so(user: User) -> None:
    go = user.root / "go"
    user.write("train.py", SAVES + f"\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)\n")
    running = user.start("run", "--job-id", "mine", "train.py")
    until(lambda: user.outlast("checkpoints", "mine", "--json").out.startswith('[{"name"'))
    (machine,) = (user.outlast_dir / "local" / "machines").glob("*/*/init.json")
    os.kill(json.loads(machine.read_text())["pid"], signal.SIGKILL)
    go.touch()
    out, err = (stream.decode() for stream in running.communicate(timeout=SECONDS_MAX))
    assert running.returncode == 0, err
    assert out.count("saved\n") == 2 and "found ['ck-7.json']" in out
    assert "the machine of attempt 1 died without a word" in err
    assert "── attempt 1 was preempted; attempt 2, resumed from step 7 ──" in err
    assert ": $0, 1 preemption, " in err.strip().splitlines()[-1]
    document = user.outlast("show", "--json").json
    assert (document["attempts"], document["preemptions"]) == (2, 1)
    assert [one["cause"] for one in document["attempt_list"]] == ["preempted", "succeeded"]
    assert re.search(r"^ +1  .* preempted$", user.outlast("show").out, re.MULTILINE)


def test_a_job_that_succeeded_is_not_resumed(saved: User) -> None:
    said = saved.outlast("resume", "saved")
    assert said.code == 2 and "outlast run --from saved" in said.err
    said = saved.outlast("resume", "saved", "--", "--lr", "1")
    assert said.code == 2 and "`saved` has succeeded" in said.err


def test_config_shows_each_value_and_where_it_came_from(user: User) -> None:
    user.write("outlast.toml", "cpus = 2\n")
    user.outlast_dir.mkdir()
    (user.outlast_dir / "config.toml").write_text("retries = 1\n")
    shown = {row["name"]: row for row in user.outlast("config", "--json", OUTLAST_MAX_RUN="2h").json}
    assert (shown["cpus"]["value"], shown["cpus"]["source"]) == (2, str(user.work / "outlast.toml"))
    assert (shown["retries"]["value"], shown["retries"]["source"]) == (1, str(user.outlast_dir / "config.toml"))
    assert (shown["max-run"]["value"], shown["max-run"]["source"]) == (7200, "OUTLAST_MAX_RUN")
    assert (shown["gpus"]["value"], shown["gpus"]["source"]) == (0, "default")
    assert shown["home"]["value"] == str(user.home)
    text = user.outlast("config", OUTLAST_MAX_RUN="2h").out
    assert re.search(r"^max-run +2h +OUTLAST_MAX_RUN$", text, re.MULTILINE)
    assert re.search(r"^cpus +2 +outlast.toml$", text, re.MULTILINE), "a file of this directory goes by its name"
    assert re.search(r"^spot +true +default$", text, re.MULTILINE), "a truth is spelled as in the file"


def test_config_shows_nothing_where_nothing_is_set_and_an_empty_value_is_refused(user: User) -> None:
    assert "None" not in user.outlast("config").out
    said = user.outlast("run", "--home", "", "train.py")
    assert said.code == 2 and "`--home`: an empty value" in said.err and "leave it out" in said.err


def test_config_says_what_is_not_trusted_and_trusts_on_demand(user: User) -> None:
    user.write("outlast.toml", 'home = "./elsewhere"\n')
    assert "outlast config --trust" in user.outlast("config").err
    assert [row["trusted"] for row in user.outlast("config", "--json").json if row["name"] == "home"] == [False]
    assert user.outlast("config", "--trust").code == 0
    assert all(row["trusted"] for row in user.outlast("config", "--json").json)


def test_a_damaged_job_is_listed_as_such_and_hides_no_other(saved: User) -> None:
    saved.outlast("run", "--job-id", "broken", "train.py")
    for head in (saved.home / "jobs/broken").glob("head.json*"):
        head.write_bytes(b"{not json\n")
    for cache in (saved.outlast_dir / "cache").glob("jobs-*.rows"):
        cache.unlink()
    rows = {row["job"]: row["state"] for row in saved.outlast("jobs", "--json").json}
    assert rows == {"saved": "succeeded", "broken": "damaged"}
    assert "damaged" in saved.outlast("jobs").out
    said = saved.outlast("show", "broken")
    assert said.code == 6 and said.err.startswith("error: ") and "Traceback" not in said.err


def test_the_table_is_cut_to_the_terminal_and_whole_in_a_pipe(saved: User) -> None:
    saved.outlast("run", "--job-id", "wide", "train.py", "--", "x" * 300)
    assert "x" * 300 in saved.outlast("jobs").out
    on_terminal = saved.on_terminal("jobs", columns=60, NO_COLOR="1").out
    assert all(len(line) <= 60 for line in on_terminal.splitlines()) and "…" in on_terminal
    assert "\x1b" not in on_terminal
    assert "\x1b[32msucceeded\x1b[0m" in saved.on_terminal("jobs").out


def test_json_is_one_document_on_one_line_of_ascii(saved: User) -> None:
    saved.outlast("run", "--job-id", "odd", "train.py", "--", "naïve\n漢")
    for command in (["jobs"], ["show"], ["config"], ["checkpoints"]):
        out = saved.outlast(*command, "--json").out
        assert out.isascii() and out.count("\n") == 1 and out.endswith("\n")
        json.loads(out)


def test_a_copied_home_works_wherever_it_lies(saved: User, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(saved.home, tmp_path / "copy")
    said = saved.outlast("show", f"{tmp_path}/copy/jobs/saved", "--json")
    assert said.json["folder"] == f"{tmp_path}/copy/jobs/saved" and said.json["state"] == "succeeded"
    assert saved.outlast("logs", f"{tmp_path}/copy/jobs/saved").out.endswith("saved\n")


def test_a_job_of_the_same_id_in_a_home_made_anew_is_another_job(user: User) -> None:
    import shutil

    user.write("train.py", "")
    assert user.outlast("run", "--job-id", "same", "train.py").code == 0
    assert user.outlast("jobs", "--json").json[0]["state"] == "succeeded"
    shutil.rmtree(user.home)
    user.write("train.py", "raise SystemExit(2)")
    assert user.outlast("run", "--job-id", "same", "train.py").code == 1
    assert user.outlast("jobs", "--json").json[0]["state"] == "failed"


def test_a_damaged_cache_is_only_slower(saved: User) -> None:
    saved.outlast("jobs")
    for content in (b"[]", b"{}", b"\xff", b'{"home": 5, "rows": []}'):
        for cache in (saved.outlast_dir / "cache").glob("jobs-*.rows"):
            cache.write_bytes(content)
        assert [row["job"] for row in saved.outlast("jobs", "--json").json] == ["saved"]
