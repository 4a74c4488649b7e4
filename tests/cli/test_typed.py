"""A command line as it was typed, and put right."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.cli.typed import CommandLine, normal, quoted
from outlast.errors import UsageError

OPTIONS = {
    "--name": True,
    "--gpus": True,
    "--label": True,
    "-l": True,
    "--detach": False,
    "--dir": True,
    "-d": True,
    "--from": True,
    "--git": True,
}
LINE = CommandLine("run", OPTIONS, lambda name: normal(name, {"resume": "from"}))


def right(tokens: list[str]) -> list[str]:
    """The line that the refusal proposes."""
    with pytest.raises(UsageError) as refused:
        LINE.split(tokens)
    return shlex.split(refused.value.hint.strip("`"))


def test_what_stands_behind_the_dashes_goes_through_untouched() -> None:
    args = ["--name", "x", "-d", "--", "--gpus=2", "", "a b", "--"]
    assert LINE.split(["--gpus", "2", "train.py", "--", *args]) == (["--gpus", "2", "train.py"], args)


def test_arguments_of_the_script_before_the_dashes_are_moved_behind_them() -> None:
    assert right(["train.py", "--lr", "0.1", "x"]) == ["outlast", "run", "train.py", "--", "--lr", "0.1", "x"]


def test_options_of_ours_behind_the_target_are_moved_before_it() -> None:
    assert right(["-l", "a=b", "train.py", "--max_steps", "5", "--gpus", "2", "--", "--lr", "1"]) == [
        "outlast", "run", "-l", "a=b", "--gpus", "2", "train.py", "--", "--max_steps", "5", "--lr", "1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("python train.py --lr 1", "train.py -- --lr 1"),
        ("--detach python3.11 -u train.py", "--detach train.py"),
        ("python -- train.py --lr 1", "train.py -- --lr 1"),
        ("python train.py -- --lr 1", "train.py -- --lr 1"),
        ("/usr/bin/python3 -m package.train", "package.train"),
        ("-m package.train --lr 1", "package.train -- --lr 1"),
        ("bash go.sh 3", "go.sh -- 3"),
        ("'python train.py --lr 1'", "train.py -- --lr 1"),
    ],
)
def test_a_command_line_with_its_interpreter_is_answered_with_the_target_alone(typed: str, meant: str) -> None:
    assert right(shlex.split(typed)) == ["outlast", "run", *shlex.split(meant)]


def test_a_script_that_is_called_like_an_interpreter_is_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    assert LINE.split(["sh", "--", "1"]) == (["sh"], ["1"])


def test_braces_that_the_shell_has_taken_apart_are_put_into_quotes() -> None:
    words = [
        "--name",
        "x",
        "--git",
        "https://h/r@one",
        "https://h/r@two",
        "https://h/r@v3",
        "--detach",
        "t.py",
        "--",
        "--lr",
        "1",
    ]
    assert right(words) == [
        "outlast", "run", "--name", "x", "--git", "https://h/r@{one,two,v3}", "--detach", "t.py", "--", "--lr", "1",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="taken apart by the shell"):
        LINE.split(words)


def test_an_older_name_and_underscores_are_ours_too() -> None:
    line = CommandLine("run", {"--max-run": True, "--from": True}, lambda name: normal(name, {"resume": "from"}))
    assert line.split(["--max_run", "2h", "--resume", "job", "t.py"])[0] == [
        "--max_run",
        "2h",
        "--resume",
        "job",
        "t.py",
    ]


def test_a_target_behind_the_dashes_is_moved_before_them() -> None:
    assert right(["--gpus", "2", "--", "train.py", "--lr", "1"]) == [
        "outlast", "run", "--gpus", "2", "train.py", "--", "--lr", "1",
    ]  # fmt: skip


def test_short_d_before_a_directory_is_dir(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = str(tmp_path / "data")
    assert LINE.split(["-d", data, "train.py"]) == (["--dir", data, "train.py"], [])
    assert LINE.split([f"-d{data}", "train.py"]) == (["--dir", data, "train.py"], [])


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["-d", "train.py"], ["outlast", "run", "--detach", "train.py"]),
        (["train.py", "-d"], ["outlast", "run", "--detach", "train.py"]),
        (["-d", "train.py", "--", "-d"], ["outlast", "run", "--detach", "train.py", "--", "-d"]),
    ],
)
def test_short_d_before_anything_else_asks_for_detach(tokens: list[str], expected: list[str]) -> None:
    assert right(tokens) == expected


def test_short_d_before_a_directory_that_is_missing_asks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    with pytest.raises(UsageError, match="there is no directory `data`") as refused:
        LINE.split(["-d", "data", "train.py"])
    assert "did you mean `--detach`?" in refused.value.state
    assert refused.value.hint == "`outlast run train.py`"


@pytest.mark.parametrize("like", [["--like", "mine"], ["--like=mine"]])
def test_arguments_need_no_target_where_an_option_says_what_it_is(like: list[str]) -> None:
    line = CommandLine("drill", {"--like": True}, lambda name: name, instead="--like")
    assert line.split([*like, "--", "--lr", "2"]) == (like, ["--lr", "2"])
    with pytest.raises(UsageError, match="no target stands before"):
        line.split(["--", "--lr", "2"])


def test_unknown_options_before_the_target_are_left_to_the_parser() -> None:
    assert LINE.split(["--nmae", "x"])[0] == ["--nmae", "x"]
    assert LINE.split(["--detahc"])[0] == ["--detahc"]


words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)


@given(st.lists(words, min_size=1, max_size=5))
def test_every_line_put_right_is_a_line_that_is_right(tokens: list[str]) -> None:
    """Whatever stands behind the target: type what the answer says, and it is taken, with the same words for the script."""
    try:
        LINE.split(["train.py", *tokens])
    except UsageError as refused:
        proposed = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {refused.hint.strip('`')}"], capture_output=True, check=True
        ).stdout
        _, command, *again = [os.fsdecode(one) for one in proposed.split(b"\0")[:-1]]
        assert command == "run"
        try:
            LINE.split(again)
        except UsageError as refused_again:
            # `-d` in two places, or an option whose value is missing: the second answer is about something else
            assert refused_again.hint != refused.hint


@pytest.mark.parametrize("token", ["plain", "a b", "it's", "new\nline", "\x1b[31m", "é\n", "", "\\", "$(touch x)"])
def test_quoting_is_one_visible_line_that_the_shell_reads_back(token: str) -> None:
    line = quoted([token])
    assert line.isprintable()
    assert subprocess.run(["bash", "-c", f"printf %s {line}"], capture_output=True, check=True).stdout == token.encode()
