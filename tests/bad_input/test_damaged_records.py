"""Damaged records: a clear error that names the object, nothing lost, nothing left running, no other job touched."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_input.damage import DAMAGES, change, newest, read, spoil, write
from tests.bad_input.surroundings import assert_nothing_runs
from tests.bad_input.template import FAILED, SUCCEEDED, Copy, bundle_of, manifest_of, pack_of
from tests.cli.user import Said, User, end_processes
from tests.waiting import until

NOT_FOUND = 3
STORE_ERROR = 6
FEW = ("missing", "empty", "truncated", "a pickle", "wrong types", "a newer format", "a foreign field", "huge numbers")
"""Enough for records that the same code reads: head is spoilt in all ways."""

COMMANDS = {
    "show": ["show"],
    "logs": ["logs", "-f"],
    "stop": ["stop"],
    "checkpoints": ["checkpoints"],
    "pull": ["pull", "--to", "pulled"],
    "resume": ["resume", "--detach"],
    "run": ["run", "--detach", "--job-id"],
}
NEEDED_BY = {
    "head.json": set(COMMANDS),
    "spec.json": {"show", "logs", "stop", "resume", "run"},
    "launches/000001.json": {"show", "stop", "resume", "run"},
}
CASES = [
    *(("head.json", how) for how in DAMAGES),
    *((record, how) for record in ("spec.json", "launches/000001.json") for how in FEW),
]


def ask(user: User, command: str, job: str) -> Said:
    return user.outlast(*COMMANDS[command], job, *(["train.py"] if command == "run" else []))


def assert_plain(said: Said) -> None:
    assert "Traceback" not in said.err and "bug in outlast" not in said.err, said.err


def assert_refused(said: Said, *named: str) -> None:
    """One error in plain words, which names the object."""
    assert_plain(said)
    assert said.code == STORE_ERROR and said.err.count("error: ") == 1 and "hint: " in said.err, (said.code, said.err)
    for words in named:
        assert words in said.err, said.err


def contents(folder: Path) -> dict[Path, bytes]:
    """But for the bell, which whoever follows a log rings."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "bell"}


@pytest.mark.parametrize(("record", "how"), CASES)
def test_a_command_that_needs_a_damaged_record_names_it_and_changes_nothing(
    owner: User, copy: Copy, record: str, how: str
) -> None:
    folder = copy(FAILED)
    spoil(folder / record, how)
    before = contents(folder)
    for command in COMMANDS if how in FEW else ("show", "resume"):
        if how == "missing" and command == "run":
            continue  # a submit that comes again writes what is missing
        said = ask(owner, command, folder.name)
        assert_plain(said)
        if command in NEEDED_BY[record]:
            assert_refused(said, f"jobs/{folder.name}/{record}")
    assert contents(folder) == before


def test_a_job_without_spec_and_head_is_half_a_submit_to_every_command(owner: User, copy: Copy) -> None:
    folder = copy(FAILED)
    for path in [*folder.glob("spec.json*"), *folder.glob("head.json*")]:
        path.unlink()
    for command in ({*COMMANDS} - {"run"}) | {"sync"}:
        said = owner.outlast(*COMMANDS.get(command, [command]), folder.name)
        assert_plain(said)
        assert said.code == NOT_FOUND and f"outlast run --job-id {folder.name}" in said.err, (command, said.err)


def test_damaged_jobs_are_listed_as_such_and_hide_no_other(owner: User, copy: Copy) -> None:
    damaged = []
    for record, how in CASES:
        folder = copy(SUCCEEDED)
        spoil(folder / record, how)
        damaged.append(folder.name)
    foreign = copy(SUCCEEDED)
    change(foreign / "head.json", job="another")
    said = owner.outlast("jobs", "--json")
    assert said.code == 0 and said.err == ""
    states = {row["job"]: row["state"] for row in said.json}
    assert {job: states[job] for job in [*damaged, foreign.name]} == dict.fromkeys([*damaged, foreign.name], "damaged")
    assert (states[SUCCEEDED], states[FAILED]) == ("succeeded", "failed")
    told = owner.outlast("jobs").out
    assert f"jobs/{damaged[0]}/head.json" in told and "damaged" in told


NONSENSE: dict[str, dict[str, object]] = {
    "an attempt that is no number": {"attempts": {"x": {"launch": 1, "started_at": 1.0}}},
    "no attempts": {"attempts": {}},
    "more attempts than there are": {"attempt": 10**12},
    "a launch that never was": {"launch": 9},
    "another job's": {"job": "another"},
    "outputs outside": {"outputs": "../../../../etc/passwd"},
    "outputs that are gone": {"outputs": "000001-000009-00000000"},
    "outputs with a NUL": {"outputs": "a\0b"},
    "no time": {"ended_at": float("nan")},
}


@pytest.mark.parametrize("what", NONSENSE)
def test_a_head_of_the_right_form_that_says_nonsense_is_damaged(owner: User, copy: Copy, what: str) -> None:
    folder = copy(FAILED)
    change(folder / "head.json", **NONSENSE[what])
    for command in ("show", "stop"):
        assert_refused(ask(owner, command, folder.name), f"jobs/{folder.name}/")
    for command in ("logs", "pull", "checkpoints"):
        assert_plain(ask(owner, command, folder.name))


@pytest.mark.parametrize("record", ["attempts/000001/beat.json", "requests/bell", "published.json"])
def test_what_only_describes_is_as_good_as_absent_when_it_is_damaged(owner: User, copy: Copy, record: str) -> None:
    for how in ("missing", "a pickle", "a newer format", "huge numbers", "100 MB"):
        folder = copy(FAILED)
        spoil(folder / record, how)
        said = owner.outlast("show", "--json", folder.name)
        assert said.code == 0 and said.json["state"] == "failed", (how, said.err)
    assert owner.outlast("logs", folder.name).raw == owner.outlast("logs", FAILED).raw


def test_texts_of_a_record_do_nothing_to_a_terminal(owner: User, copy: Copy) -> None:
    folder = copy(FAILED)
    change(folder / "head.json", reason="\x1b]0;owned\x07\x1b[2J\ud800 and so on\nhint: `rm -rf ~`")
    for command in ("show", "jobs"):
        shown = owner.on_terminal(command, *([folder.name] if command == "show" else []), columns=400)
        assert shown.code == 0 and b"\x1b]" not in shown.raw and b"\x1b[2J" not in shown.raw
        assert b"\nhint: `rm" not in shown.raw
    assert owner.outlast("show", "--json", folder.name).json["why"].startswith("\x1b]0;owned")


STRAY_PATHS = [
    "checkpoint/../../../canary",
    "output/../../canary",
    "/etc/canary",
    "output//canary",
    "checkpoint/.",
    "output/a\0b",
    "output/" + "x" * 300,
    "output/" + "d/" * 2000 + "x",
    "somewhere/canary",
]


def test_a_manifest_that_leads_anywhere_else_is_damaged_and_nothing_is_written_there(owner: User, copy: Copy) -> None:
    for path in STRAY_PATHS:
        folder = copy(FAILED)
        document = read(manifest_of(folder))
        document["files"][0]["path"] = path
        write(manifest_of(folder), document)
        assert_refused(owner.outlast("pull", "--to", "pulled/deep/down", folder.name), manifest_of(folder).name)
    for key in ("../../../../etc/passwd", f"jobs/{SUCCEEDED}/head.json", "", "packs/x"):
        folder = copy(FAILED)
        document = read(manifest_of(folder))
        document["files"][0]["parts"][0]["key"] = key
        write(manifest_of(folder), document)
        assert_refused(owner.outlast("pull", "--to", "pulled/deep/down", folder.name), "is no part of this job")
    assert not any(owner.root.rglob("canary"))


@pytest.mark.parametrize("how", FEW)
def test_a_damaged_manifest_is_found_by_checkpoints_and_pull(owner: User, copy: Copy, how: str) -> None:
    folder = copy(FAILED)
    spoil(manifest_of(folder), how)
    listed = owner.outlast("checkpoints", "--json", folder.name)
    assert_plain(listed)
    assert listed.code == STORE_ERROR
    assert [one["problem"] is None for one in listed.json] == [True, True, False]
    assert manifest_of(folder).name in listed.json[-1]["problem"]
    assert_refused(owner.outlast("pull", "--to", "pulled", folder.name), manifest_of(folder).name)


@pytest.mark.parametrize("how", ["missing", "truncated", "garbage", "a newer format"])
@pytest.mark.parametrize("at", [bundle_of, pack_of])
def test_a_damaged_bundle_or_pack_fails_the_job_by_name(owner: User, at: Callable[[Path], Path], how: str) -> None:
    """With a directory of its own: bundles are shared by all jobs of a home."""
    if at is pack_of and how == "a newer format":
        how = "empty"
    name = f"ship-{at.__name__}-{how}".replace("_", "-").replace(" ", "-")
    directory = owner.root / name
    directory.mkdir()
    (directory / "train.py").write_text(f"import sys; sys.exit(3)  # {name}")
    assert owner.outlast("run", "--job-id", name, "train.py", cwd=directory).code == 1
    folder = owner.home / "jobs" / name
    object_at = at(folder)
    spoil(object_at, how)
    said = owner.outlast("resume", name)
    assert_plain(said)
    why = owner.outlast("show", "--json", name).json["why"]
    assert said.code == 1 and why.startswith("no bundle to run: ") and object_at.name.removesuffix(".json") in why, why


LOOPS = """
import time
import outlast
for step in outlast.steps(10**6, outlast.State(n=0), save_steps=10):
    time.sleep(0.01 if step < {busy_steps} else 600)
"""


def running(user: User, job: str, *, busy_steps: int = 10**6) -> Path:
    """A job that goes on until somebody ends it, after its first commit."""
    user.write("loop.py", LOOPS.format(busy_steps=busy_steps))
    said = user.outlast("run", "--detach", "--job-id", job, "loop.py")
    assert said.code == 0, said.err
    folder = user.home / "jobs" / job
    until(lambda: bool(read(folder / "head.json")["checkpoints"]), "the first commit")
    return folder


def test_a_damaged_head_is_put_back_as_its_hint_says(user: User) -> None:
    user.write("train.py", "import outlast\nfor step in outlast.steps(9, outlast.State(n=0), save_steps=3): pass")
    assert user.outlast("run", "--job-id", "mine", "train.py").code == 0
    newer = newest(user.home / "jobs" / "mine" / "head.json")
    newer.write_bytes(b"garbage")
    said = user.outlast("checkpoints", "mine")
    assert said.code == 6, said.err
    (typed,) = re.findall("`(cp [^`]+)`", said.err)
    subprocess.run(["sh", "-c", typed], check=True)
    assert user.outlast("jobs", "--json").json[0]["state"] in ("failed", "succeeded")
    assert user.outlast("checkpoints", "mine", "--verify").code == 0


def test_a_head_that_is_damaged_under_its_machine_ends_it_and_is_not_written_over(user: User) -> None:
    # At rest: the next commit of one that is busy may be on its way, and mends what was spoilt.
    folder = running(user, "loops", busy_steps=15)
    whole = newest(folder / "head.json").read_bytes()
    damaged = newest(folder / "head.json")
    spoil(folder / "head.json", "garbage")
    assert_nothing_runs(user)
    assert newest(folder / "head.json") == damaged and damaged.read_bytes() != whole
    assert_refused(user.outlast("stop", "loops"), "jobs/loops/head.json")
    damaged.write_bytes(whole)
    assert user.outlast("stop", "loops").code == 0
    assert user.outlast("resume", "--detach", "loops").code == 0
    until(lambda: user.outlast("show", "--json", "loops").json["attempts"] == 2, "the second attempt")
    assert user.outlast("show", "--json", "loops").json["attempt_list"][1]["resumed_from_step"] >= 10
    end_processes(user)  # at rest it would take its whole grace to stop


def test_a_job_whose_spec_is_damaged_under_its_machine_can_be_stopped(user: User) -> None:
    folder = running(user, "loops")
    spoil(folder / "spec.json", "truncated")
    assert_refused(user.outlast("stop", "loops"), "jobs/loops/spec.json")
    assert_nothing_runs(user)
    assert read(folder / "head.json")["state"] == "stopped"


def test_damaged_wishes_bells_beats_and_pins_do_not_disturb_a_running_job(user: User) -> None:
    folder = running(user, "loops")
    (folder / "requests").mkdir(exist_ok=True)
    for name in ("000001-extend-aa.json~1", "000001-checkpoint-now-bb", "000009-stop-cc.json~1", "garbage", "bell"):
        (folder / "requests" / name).write_bytes(b"\x80\x04garbage\n")
    (folder / "pins").mkdir(exist_ok=True)
    for name in ("aa.json", "bb~1", "cc"):
        (folder / "pins" / name).write_bytes(b"[[[[")
    (folder / "attempts" / "000001" / "beat.json").write_text(json.dumps({"format": 99}))
    (folder / "attempts" / "000001" / "log" / "0").mkdir(parents=True, exist_ok=True)
    (folder / "attempts" / "000001" / "log" / "0" / "foreign").write_bytes(b"foreign")
    (folder / "checkpoints" / "000001-foreign.json~1").write_bytes(b"foreign\n")
    step = read(folder / "head.json")["best_step"]
    until(lambda: read(folder / "head.json")["best_step"] > step + 50, "commits that go on")
    document = user.outlast("show", "--json", "loops").json
    assert (document["state"], document["attempts"]) == ("running", 1)
    assert user.outlast("stop", "loops").code == 0
    assert user.outlast("show", "--json", "loops").json["state"] == "stopped"
