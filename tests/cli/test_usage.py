"""A wrong command line is answered with what is legal."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.cli.user import User

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def hint(text: str) -> str:
    """What to type, according to an error."""
    _, mark, rest = text.partition("\nhint: ")
    assert mark, text
    return rest.strip()


@pytest.mark.parametrize(
    ("typed", "meant"), [("jbos", "outlast jobs"), ("resum", "outlast resume"), ("lgos", "outlast logs")]
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(user: User, typed: str, meant: str) -> None:
    said = user.outlast(typed)
    assert said.code == 2 and said.out == ""
    assert said.err.startswith(f"error: no such command `{typed}`")
    assert f"`{meant}`" in hint(said.err)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["run", "--nmae", "x", "t.py"], "--name"),
        (["logs", "--folow"], "--follow"),
        (["jobs", "--runing"], "--running"),
    ],
)
def test_a_misspelt_option_is_answered_with_the_one_that_was_meant(user: User, typed: list[str], meant: str) -> None:
    said = user.outlast(*typed)
    assert said.code == 2
    assert f"`{meant}`" in hint(said.err)


def test_a_script_without_its_command_is_answered_with_run(user: User) -> None:
    user.write("train.py", "")
    assert hint(user.outlast("train.py", "--lr", "1").err) == "`outlast run train.py -- --lr 1`"


@pytest.mark.parametrize("alias", ["ls", "ps", "status", "download", "cancel", "kill", "rm"])
def test_words_of_other_tools_run_with_a_note(user: User, alias: str) -> None:
    from outlast.cli.app import ALIASES

    said = user.outlast(alias, *(["nothing"] if alias not in ("ls", "ps") else []))
    assert f"note: `{alias}` is `outlast {ALIASES[alias]}`" in said.err
    assert said.code == (0 if alias in ("ls", "ps") else 3)


@pytest.mark.parametrize("command", ["dashboard"])
def test_commands_that_do_not_exist_yet_are_not_pretended(user: User, command: str) -> None:
    assert user.outlast(command).code == 2


@pytest.mark.parametrize(
    ("option", "value", "legal"),
    [
        ("--cpus", "two", "whole number"),
        ("--cpus", "0", "between 1 and"),
        ("--gpus", "4 L4", "a number, a type, or both"),
        ("--gpus", "L4", "has the GPUs that it has"),
        ("--machine-type", "n2-standard-8", "rents none"),
        ("--region", "Mars", "us-central1"),
        ("--zone", "us-central1", "us-central1-a"),
        ("--disk-gb", "5", "between 10 and"),
        ("--max-cost", "0", "no sum of money"),
        ("--max-cost", "-1", "no sum of money"),
        ("--image", "../../x", "PROJECT/FAMILY"),
        ("--service-account", "me", "iam.gserviceaccount.com"),
        ("--gpus", "-1", "between 0 and 64"),
        ("--retries", "many", "whole number"),
        ("--max-run", "soon", "`30m`"),
        ("--stall", "1 fortnight", "`30m`"),
        ("--label", "Team", "`key=value`"),
        ("--label", "team:vision", "`--label team=vision`"),
        ("--label", " =c", "`key=value`"),
        ("--env", "NAME", "--env NAME=VALUE"),
        ("--env", "1X=2", "letters, digits"),
        ("--env", "WANDB_API_KEY=abc", "secret"),
        ("--env", "OUTLAST_JOB=x", "outlast itself"),
        ("--name", "My Model", "a-z"),
        ("--job-id", "../../etc", "a-z"),
        ("--job-id", "x" * 41, "at most 40"),
        ("--on", "the-moon", "`local`"),
        ("--resume-args", "--resume 'last", "quot"),
        ("--checkpoint-dir", "/etc", "inside the working directory"),
        ("--output-dir", "../out", "inside the working directory"),
        ("--output-dir", "/etc", "such as `outputs`"),
        ("--output-dir", ".", "inside the working directory"),
        ("--dir", "nowhere", "no such directory"),
        ("--home", "s3://bucket", "a home is"),
        ("--from", "no-such-job", "no job `no-such-job`"),
    ],
)
def test_a_wrong_value_is_answered_with_the_legal_ones(user: User, option: str, value: str, legal: str) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "--detach", option, value, "train.py")
    assert said.code in (2, 3), said.err
    assert said.err.startswith("error: ") and legal in said.err
    assert said.out == "" and "Traceback" not in said.err
    assert user.outlast("jobs", "--json").json == []


def test_a_directory_of_the_script_that_is_typed_from_the_root_is_answered_with_its_name(user: User) -> None:
    user.write("train.py", "")
    link = user.root / "linked"
    link.symlink_to(user.work)
    for work in (user.work, link):
        said = user.outlast("run", "--checkpoint-dir", str(work / "runs" / "ck"), "train.py")
        assert said.code == 2 and hint(said.err) == "`--checkpoint-dir runs/ck`"


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        (["train.py", "--lr", "0.1"], ["run", "train.py", "--", "--lr", "0.1"]),
        (["train.py", "--max_run", "2h", "--", "x y"], ["run", "--max_run", "2h", "train.py", "--", "x y"]),
        (["-d", "train.py"], ["run", "--detach", "train.py"]),
        (["--", "train.py"], ["run", "train.py"]),
        (["train.py", "--help"], ["run", "--help", "train.py"]),
    ],
)
def test_a_line_in_the_wrong_order_is_refused_and_put_right(user: User, typed: list[str], right: list[str]) -> None:
    said = user.outlast("run", *typed)
    assert said.code == 2
    assert shlex.split(hint(said.err).strip("`")) == ["outlast", *right]


def test_a_missing_target_is_answered_with_near_ones(user: User) -> None:
    user.write("train.py", "")
    said = user.outlast("run", "tain.py")
    assert said.code == 3 and "`train.py`" in hint(said.err)


def test_no_job_to_stop_is_a_usage_error(user: User) -> None:
    assert user.outlast("stop").code == 2


HOSTILE: dict[str, str | bytes] = {
    "quote": "a'b\"c`d",
    "shell": "$(touch canary); touch canary | touch canary",
    "newline": "a\nerror: all is lost\nhint: `rm -rf ~`",
    "escape": "\x1b]0;title\x07\x1b[2J\x9b31m",
    "traversal": "../../../etc/passwd",
    "unicode": "naïve 漢字 🎉 \u202e\u0000".replace("\u0000", ""),
    "long": "x" * 300,
    "empty": "",
    "dashes": "--",
    "bytes": b"\xff\xfe",
    "percent": "%s%n{0}{}",
}
PLACES = {
    "command": ["{}"],
    "target": ["run", "--detach", "{}"],
    "name": ["run", "--detach", "--name", "{}", "train.py"],
    "job id": ["run", "--detach", "--job-id", "{}", "train.py"],
    "label": ["run", "--detach", "--label", "{}", "train.py"],
    "env": ["run", "--detach", "--env", "{}", "train.py"],
    "on": ["run", "--detach", "--on", "{}", "train.py"],
    "cpus": ["run", "--detach", "--cpus", "{}", "train.py"],
    "max run": ["run", "--detach", "--max-run", "{}", "train.py"],
    "checkpoint dir": ["run", "--detach", "--checkpoint-dir", "../{}", "train.py"],
    "dir": ["run", "--detach", "--dir", "./nowhere/{}", "train.py"],
    "home": ["run", "--detach", "--home", "nowhere:{}", "train.py"],
    "from": ["run", "--detach", "--from", "job-{}", "train.py"],
    "option": ["run", "--{}", "train.py"],
    "show": ["show", "job-{}"],
    "logs": ["logs", "job-{}"],
    "stop": ["stop", "job-{}"],
    "resume": ["resume", "job-{}"],
    "pull": ["pull", "job-{}", "*"],
    "checkpoints": ["checkpoints", "job-{}"],
    "attempt": ["logs", "--attempt", "{}"],
    "polling": ["logs", "--polling-interval", "x{}"],
    "jobs name": ["jobs", "--label", "{}"],
    "seed": ["drill", "--seed", "{}", "train.py"],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_words_are_refused_in_plain_words_and_leave_nothing(user: User, place: str, kind: str) -> None:
    user.write("train.py", "")
    word = HOSTILE[kind]
    encoded = word if isinstance(word, bytes) else word.encode()
    line = [part.encode().replace(b"{}", encoded) for part in PLACES[place]]
    said = user.outlast(*line)
    assert said.code in (2, 3), (said.code, said.err)
    assert said.err.startswith(("error: ", "note: ")), said.err
    assert "this is a bug" not in said.err and "Traceback" not in said.err
    assert not CONTROL.search(said.err), repr(said.err)
    assert not re.search(r"^hint: `rm", said.err, re.MULTILINE)
    assert said.out == ""
    assert not any(user.root.rglob("canary"))
    assert not (user.home / "jobs").exists()
