"""`outlast run`, for real: on the local engine, in a scratch home."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.cli.user import OUTLAST, SECONDS_MAX, Terminal, User, end_processes
from tests.waiting import until

ENDLESS = "import time, sys\nprint('began', flush=True)\nwhile True: time.sleep(0.05)\n"
ECHO = "import json, os, sys\nprint(json.dumps([sys.argv[1:], os.environ.get('MINE')]))\n"


def test_the_log_is_followed_byte_for_byte_and_the_end_is_one_line(user: User) -> None:
    user.write("train.py", "import sys\nsys.stdout.buffer.write(b'one\\ntwo \\xff\\x1b[2J')\n")
    said = user.outlast("run", "train.py")
    assert said.code == 0, said.err
    assert said.raw == b"one\ntwo \xff\x1b[2J"
    last = said.err.strip().splitlines()[-1]
    assert re.fullmatch(r"train-\w+ succeeded after [\d.]+ m?s: \$0, 0 preemptions, no time lost, nothing runs", last)


def test_before_it_starts_it_says_where_with_what_and_how_to_stop_it(user: User) -> None:
    user.write("train.py", "")
    user.write("key.pem", "-----BEGIN PRIVATE KEY-----\n")
    err = user.outlast("run", "--detach", "train.py").err
    assert re.search(r"Packed 1 file, 0 bytes in [\d.]+ m?s", err)
    assert re.search(r"left out `key.pem`, \d+ bytes: ", err)
    assert re.search(r"Python 3\.\d+\.\d+ at `.+`: ", err)
    job = re.search(r"Job `(train-\w+)` on `local`: 1 CPU, \$0 per hour, ends after 7 d at the latest", err)
    assert job and f"`outlast stop {job[1]}` stops it" in err


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("import sys; sys.exit(3)", 1, "failed with exit code 3 after "),
        ("import os; os.kill(os.getpid(), 11)", 1, "failed (the trainer was ended by SIGSEGV) after "),
    ],
)
def test_a_script_that_fails_is_exit_code_1(user: User, script: str, code: int, words: str) -> None:
    user.write("train.py", script)
    said = user.outlast("run", "train.py")
    assert said.code == code
    assert words in said.err.strip().splitlines()[-1]


def test_a_job_that_is_stopped_is_exit_code_7(user: User) -> None:
    user.write("train.py", ENDLESS)
    running = user.start("run", "--job-id", "endless", "train.py")
    assert running.stdout is not None and running.stdout.readline() == b"began\n"
    stopped = user.outlast("stop", "endless", "--json")
    assert stopped.code == 0 and [row["state"] for row in stopped.json] == ["stopped"]
    assert running.wait(SECONDS_MAX) == 7


def test_all_that_run_are_stopped_when_somebody_says_yes(user: User) -> None:
    user.write("train.py", ENDLESS)
    for name in ("one", "two"):
        assert user.outlast("run", "--detach", "--job-id", name, "-l", f"is={name}", "train.py").code == 0
    refused = user.outlast("stop", "--all")
    assert refused.code == 2 and "`one`" in refused.err and "`two`" in refused.err and "--yes" in refused.err
    for words in (("--all", "one"), ("--yes", "one"), ("--name", "one", "two"), ("--all", "--label", "is=one")):
        assert user.outlast("stop", *words).code == 2
    for words in (("--name", "one"), ("--label", "is=one")):
        refused = user.outlast("stop", *words)
        assert refused.code == 2 and "stop `one`: nobody" in refused.err
    assert user.outlast("stop", "--label", "is=three").err == "nothing like that runs\n"
    stopped = user.outlast("stop", "--all", "--yes", "--json")
    assert sorted((row["job"], row["state"]) for row in stopped.json) == [("one", "stopped"), ("two", "stopped")]
    assert user.outlast("stop", "--all").err == "nothing runs\n"
    assert [row["job"] for row in user.outlast("jobs", "--state", "stopped", "--json").json] == ["two", "one"]
    assert user.outlast("jobs", "--state", "failed", "--state", "running", "--json").json == []
    assert "`stopping`, `succeeded`, `failed`" in user.outlast("jobs", "--state", "done").err


def test_a_job_that_is_stopped_before_it_has_begun_is_not_said_to_have_a_trainer(user: User) -> None:
    user.env["OUTLAST_LOCAL_CPUS"] = "1"
    user.write("train.py", ENDLESS)
    for name in ("first", "second"):
        assert user.outlast("run", "--detach", "--job-id", name, "train.py").code == 0
    until(lambda: user.outlast("show", "first", "--json").json["state"] == "running", "the first one runs")
    assert user.outlast("show", "second", "--json").json["state"] == "waiting"
    assert user.outlast("stop", "second").err.startswith("stopping `second`: it has not begun\n")
    assert user.outlast("stop", "first").err.startswith("stopping `first`: its trainer saves and leaves\n")


def test_half_a_submit_does_not_run_and_keeps_nobody_from_stopping_all(user: User) -> None:
    user.write("train.py", ENDLESS)
    for name in ("one", "half"):
        assert user.outlast("run", "--detach", "--job-id", name, "train.py").code == 0
    assert user.outlast("stop", "half").code == 0
    for head in (user.outlast_dir / "home" / "jobs" / "half").glob("head.json*"):
        head.unlink()
    assert [row["state"] for row in user.outlast("jobs", "--json").json] == ["submitted", "running"]
    assert [row["job"] for row in user.outlast("jobs", "--running", "--json").json] == ["one"]
    assert "the submit of half was not completed: nothing of it runs" in user.outlast("jobs").err
    stopped = user.outlast("stop", "--all", "--yes", "--json")
    assert stopped.code == 0 and [(row["job"], row["state"]) for row in stopped.json] == [("one", "stopped")]
    assert user.outlast("stop", "--all").err == "nothing runs\n"


def test_a_job_whose_time_is_over_is_exit_code_8(user: User) -> None:
    user.write("train.py", ENDLESS)
    said = user.outlast("run", "--max-run", "3s", "train.py")
    assert said.code == 8, said.err
    assert "expired" in said.err.strip().splitlines()[-1]


def test_detached_it_returns_at_once_and_says_what_in_three_fields(user: User) -> None:
    user.write("train.py", ENDLESS)
    said = user.outlast("run", "--detach", "--json", "--name", "mine", "train.py")
    assert said.code == 0
    assert said.json.keys() == {"job", "folder", "state"}
    assert said.json["job"].startswith("mine-") and said.json["folder"] == f"{user.home}/jobs/{said.json['job']}"
    assert said.json["state"] in ("submitted", "waiting", "starting", "running")


def test_followed_with_json_the_log_is_on_stderr_and_one_object_on_stdout(user: User) -> None:
    user.write("train.py", "print('a line of the log')")
    said = user.outlast("run", "--json", "train.py")
    assert said.json["state"] == "succeeded" and said.json["exit_code"] == 0
    assert said.json.keys() == user.outlast("jobs", "--json").json[0].keys()
    assert "a line of the log" in said.err


HOSTILE_ARGS = [
    "",
    "--",
    "-d",
    "--json",
    "a b",
    "it's",
    '"',
    "`$(touch canary)`",
    "new\nline",
    "\x1b[2J",
    "naïve 漢字",
    "x" * 300,
    "../x",
    "*",
]


def test_arguments_and_variables_go_through_untouched(user: User) -> None:
    user.write("train.py", ECHO)
    for value in ("a'b\"c;`$(touch canary)`\n\x1b[2J naïve", "x=y=z", "", " "):
        said = user.outlast("run", "--env", f"MINE={value}", "train.py", "--", *HOSTILE_ARGS)
        assert said.code == 0, said.err
        assert json.loads(said.out) == [HOSTILE_ARGS, value]
    assert not any(user.root.rglob("canary"))


def test_labels_and_names_that_are_legal_are_kept(user: User) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--name", "n", "-l", "team=vision", "--label", "run=a_b-1", "--json", "train.py")
    assert said.json["labels"] == {"team": "vision", "run": "a_b-1"} and said.json["name"] == "n"
    assert [row["job"] for row in user.outlast("jobs", "--json", "--label", "team=vision").json] == [said.json["job"]]
    assert user.outlast("jobs", "--json", "--label", "team=other").json == []
    assert [row["job"] for row in user.outlast("jobs", "--json", "-l", "Team=VISION").json] == [said.json["job"]]
    assert user.outlast("jobs", "--json", "--name", "m").json == []


@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("run.sh", {"run.sh": "echo from the shell $1\n"}),
        ("pkg.train", {"pkg/__init__.py": "", "pkg/train.py": "import sys; print('from the module', sys.argv[1])\n"}),
        ("sub dir/my script.py", {"sub dir/my script.py": "import sys; print('from far', sys.argv[1])\n"}),
    ],
)
def test_a_target_is_a_script_a_module_or_a_shell_script(user: User, target: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        user.write(name, text)
    said = user.outlast("run", target, "--", "x")
    assert (said.code, said.out[:5], said.out[-3:]) == (0, "from ", " x\n")


def test_options_may_be_written_with_underscores_and_by_older_names(user: User) -> None:
    user.write(
        "train.py",
        "import os, pathlib\npathlib.Path(os.environ['OUTLAST_CHECKPOINT_DIR'], 'ck-1.pt').write_text('w')\n",
    )
    first = user.outlast("run", "--max_run", "1h", "--job_id", "first", "--json", "train.py")
    assert first.code == 0, first.err
    assert user.outlast("show", "first", "--json").json["spec"]["max_run_seconds"] == 3600
    second = user.outlast("run", "--resume", "first", "--job-id", "second", "--json", "train.py")
    assert second.code == 0, second.err
    assert user.outlast("show", "second", "--json").json["spec"]["from_job"] == "first"


def test_another_directory_is_shipped_too(user: User) -> None:
    user.write("train.py", "import pathlib; print(sorted(p.name for p in pathlib.Path('.').rglob('*.csv')))")
    data = user.root / "elsewhere" / "data"
    data.mkdir(parents=True)
    (data / "x.csv").write_text("1")
    said = user.outlast("run", "-d", str(data), "train.py")
    assert (said.code, said.out) == (0, "['x.csv']\n"), said.err


def test_the_same_id_again_is_the_same_job(user: User) -> None:
    user.write("train.py", ENDLESS)
    user.outlast("run", "--detach", "--job-id", "once", "train.py")
    again = user.outlast("run", "--detach", "--job-id", "once", "--json", "train.py")
    assert again.code == 0 and "was there already" in again.err
    assert len(user.outlast("jobs", "--json").json) == 1


def files_below(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(user: User) -> None:
    user.write("train.py", "print('ran')")
    before = files_below(user.root)
    planned = user.outlast("run", "--dry-run", "--job-id", "dry", "train.py")
    assert planned.code == 0, planned.err
    for line in (r"put jobs/dry/spec\.json \(", r"put jobs/dry/head\.json \(", r"put jobs/dry/launches/000001\.json \(",
                 r"put index/\d+-dry-000001", r"put bundles/\w+\.json", r"start 1 machine on local \(1 CPU; \$0 per hour"):  # fmt: skip
        assert re.search(rf"^{line}", planned.out, re.MULTILINE), planned.out
    assert files_below(user.root) == before
    document = user.outlast("run", "--dry-run", "--json", "--job-id", "dry", "train.py").json
    assert (
        document.keys() == {"job", "folder", "state", "spec", "writes", "launches"} and document["state"] == "planned"
    )
    assert files_below(user.root) == before


def test_a_run_after_a_dry_run_ships_everything(user: User) -> None:
    user.write("train.py", "import other; print(other.X)")
    user.write("other.py", "X = 5")
    assert user.outlast("run", "--dry-run", "train.py").code == 0
    assert user.outlast("run", "train.py").out == "5\n"


def test_ctrl_c_detaches_and_the_job_goes_on(user: User) -> None:
    user.write("train.py", "import time, pathlib, sys\nprint('began', flush=True)\n"
                           f"while not pathlib.Path({str(user.root / 'go')!r}).exists(): time.sleep(0.05)\nprint('the end')\n")  # fmt: skip
    terminal = Terminal(user, "run", "--job-id", "mine", "train.py")
    terminal.read_until(b"began")
    terminal.press(b"\x03\x03")
    assert terminal.wait() == 130
    seen = terminal.seen.decode()
    assert "detached; job `mine` goes on" in seen and "outlast logs -f mine" in seen and "Traceback" not in seen
    assert user.outlast("jobs", "--json").json[0]["state"] == "running"
    (user.root / "go").touch()
    again = user.outlast("logs", "-f", "mine")
    assert (again.code, again.out) == (0, "began\nthe end\n")


def test_a_reader_that_has_seen_enough_detaches_quietly(user: User) -> None:
    user.write("train.py", "import time\nfor i in range(100000): print('line', i, flush=True); time.sleep(0.001)\n")
    running = user.start("run", "--job-id", "chatty", "train.py")
    assert running.stdout is not None and running.stderr is not None
    assert running.stdout.readline() == b"line 0\n"
    running.stdout.close()
    err = running.stderr.read().decode()
    assert running.wait(SECONDS_MAX) == 0
    assert "Traceback" not in err and "Exception ignored" not in err and "detached" in err
    assert user.outlast("jobs", "--json").json[0]["state"] == "running"


def test_settings_of_files_and_variables_are_used_and_flags_win(user: User) -> None:
    user.write("train.py", "")
    user.write("outlast.toml", 'retries = 3\nmax-run = "2h"\n')
    said = user.outlast("run", "--max-run", "1h", "--json", "--job-id", "mine", "train.py", OUTLAST_RETRIES="2")
    assert said.code == 0, said.err
    spec = user.outlast("show", "mine", "--json").json["spec"]
    assert (spec["retries"], spec["max_run_seconds"]) == (2, 3600)


def test_a_cloned_file_may_not_choose_the_home_without_a_yes(user: User) -> None:
    user.write("train.py", "")
    user.write("outlast.toml", f'home = "{user.root}/stolen"\n')
    refused = user.outlast("run", "train.py")
    assert refused.code == 2 and "outlast config --trust" in refused.err
    assert user.outlast("config", "--trust").code == 0
    assert user.outlast("run", "train.py").code == 0
    assert (user.root / "stolen" / "jobs").is_dir()


def test_a_home_named_from_where_somebody_stands_is_found_from_everywhere(user: User) -> None:
    user.write("train.py", "print('hello')")
    assert user.outlast("run", "--home", "here", "--job-id", "near", "train.py").code == 0
    found = subprocess.run(
        [*OUTLAST, "logs", "near"],
        cwd="/", env=user.environ(), capture_output=True, check=True,
    )  # fmt: skip
    assert found.stdout == b"hello\n"


@pytest.mark.parametrize("rehearsed", [(), ("--dry-run",)])
def test_what_this_machine_does_not_have_is_refused_before_there_is_a_job(
    user: User, rehearsed: tuple[str, ...]
) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--cpus", "4000", *rehearsed, "train.py")
    assert said.code == 5 and "4000 CPUs asked for, this machine has" in said.err
    assert not (user.home / "jobs").exists() and "Job `" not in said.err
    assert user.outlast("jobs", "--json").json == []


def test_a_job_that_no_longer_fits_the_machine_waits_and_hides_no_other(user: User) -> None:
    user.write("train.py", ENDLESS)
    user.env["OUTLAST_LOCAL_CPUS"] = "4000"
    assert user.outlast("run", "--detach", "--cpus", "4000", "--job-id", "large", "train.py").code == 0
    end_processes(user)  # as after a reboot, with most of its processors taken out
    shutil.rmtree(user.outlast_dir / "local")
    del user.env["OUTLAST_LOCAL_CPUS"]
    listed = user.outlast("jobs", "--json")
    assert listed.code == 0 and [row["state"] for row in listed.json] == ["waiting"]
    assert "4000 CPUs asked for" in user.outlast("show", "large", "--json").json["why"]


def test_a_job_of_another_computer_is_shown_and_left_there(user: User) -> None:
    user.write("train.py", ENDLESS)
    assert user.outlast("run", "--detach", "--job-id", "there", "train.py").code == 0
    elsewhere = User(user.root, env={"OUTLAST_DIR": str(user.root / "other")})
    shown = elsewhere.outlast("show", "there", "--home", str(user.home), "--json").json
    assert shown["state"] in ("starting", "running") and "on computer `" in shown["why"]
    assert elsewhere.outlast("resume", "there", "--home", str(user.home), "--detach").code == 0
    assert not (user.root / "other/local/machines").exists()
    assert elsewhere.outlast("stop", "there", "--home", str(user.home)).code == 0
    assert user.outlast("show", "there", "--json").json["state"] == "stopped"


def test_a_dry_run_does_not_even_make_the_users_directory(user: User) -> None:
    user.write("train.py", "")
    assert user.outlast("run", "--dry-run", "train.py").code == 0
    assert not user.outlast_dir.exists()


def test_a_number_that_is_too_small_is_answered_with_the_legal_ones_and_named_once(user: User) -> None:
    user.write("train.py", "")
    assert user.outlast("run", "--cpus", "-1", "train.py").err.startswith(
        "error: `--cpus -1` is not between 1 and 4,096\n"
    )
    assert user.outlast("run", "--gpus", "L 4", "train.py").err.startswith(
        "error: `--gpus` is a number, a type, or both, not `L 4`\n"
    )


def test_the_id_of_a_job_that_succeeded_is_answered_with_what_can_be_done(user: User) -> None:
    user.write("train.py", "import outlast\nfor step in outlast.steps(1, outlast.State(seen=0)): pass\n")
    assert user.outlast("run", "--job-id", "mine", "train.py").code == 0
    again = user.outlast("run", "--job-id", "mine", "train.py")
    assert again.code == 2 and "hint: another `--job-id`; with `--from mine` it begins" in again.err
    assert again.err.startswith("error: ")  # before a word about a plan
    assert user.outlast("run", "--job-id", "other", "--from", "mine", "train.py").code == 0


def test_a_job_may_open_as_many_files_as_the_shell_that_submitted_it(user: User) -> None:
    """Not as the one that started the supervisor: `ulimit -n`, and the same command again, is what helps."""
    user.write("train.py", "import resource; print('may open', resource.getrlimit(resource.RLIMIT_NOFILE)[0])")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for count in (300, 500, 300):
        user.become = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (count, most))
        assert f"may open {count}\n" in user.outlast("run", "train.py").out
