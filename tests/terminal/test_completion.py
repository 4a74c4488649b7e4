"""Completion in real shells: commands, options, jobs, engines and files; without starting outlast, and without a home."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.jobs.job_names import (
    NAMES_MAX,
    add_cells,
    add_names,
    cells_path,
    drop_name,
    keep_cells,
    keep_names,
    names_path,
    read_cells,
    read_names,
)
from tests.cli.user import User, stop_everything
from tests.terminal.shells import PROMPT, Shell, require


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    user = User(tmp_path)
    user.work.mkdir()
    user.write("train.py", "")
    (user.work / "data").mkdir()
    keep_names(user.outlast_dir / "cache", ["alpha-k3x9ma", "alpine-000000", "beta-q2w3e4", "lr"])
    keep_cells(user.outlast_dir / "cache", {"lr": 12, "lr2": 3})
    yield user
    stop_everything(user)


def script(user: User, shell: str) -> Path:
    """Where outlast itself is not on the PATH: whatever is completed, it was not asked."""
    said = user.outlast("completion", shell)
    assert said.code == 0, said.err
    path = user.root / f"outlast.{shell}"
    path.write_text(said.out)
    return path


def bash(user: User, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    asked = " ".join(f"'{word}'" for word in words)
    program = f"source '{script(user, 'bash')}'\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n_outlast\n"
    program += "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(
        [require("bash"), "--norc", "-c", program],
        env=user.environ(PATH="/usr/bin:/bin"),
        cwd=user.work,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def fish(user: User, line: str) -> list[str]:
    done = subprocess.run(
        [require("fish"), "--no-config", "-c", f"source '{script(user, 'fish')}'; complete -C '{line}'"],
        env=user.environ(PATH="/usr/bin:/bin", XDG_CONFIG_HOME=str(user.root)),
        cwd=user.work,
        capture_output=True,
        text=True,
        check=True,
    )
    return [one.partition("\t")[0] for one in done.stdout.splitlines()]


def test_bash_offers_commands_options_jobs_engines_and_directories(user: User) -> None:
    assert bash(user, "outlast", "sh") == ["show"]
    assert {"run", "jobs", "prune", "completion"} <= set(bash(user, "outlast", ""))
    assert bash(user, "outlast", "show", "al") == ["alpha-k3x9ma", "alpine-000000"]
    assert bash(user, "outlast", "stop", "alpha-k3x9ma", "b") == ["beta-q2w3e4"]
    assert bash(user, "outlast", "logs", "lr.1") == ["lr.1", "lr.10", "lr.11", "lr.12"]
    assert bash(user, "outlast", "run", "--from", "lr.7") == ["lr.7"]
    assert bash(user, "outlast", "logs", "l") == ["lr"], "cells are offered behind the dot"
    assert bash(user, "outlast", "run", "--det") == ["--detach"]
    assert "local" in bash(user, "outlast", "run", "--on", "")
    assert bash(user, "outlast", "run", "--from", "be") == ["beta-q2w3e4"]
    assert bash(user, "outlast", "pull", "--to", "") == ["data"]
    assert bash(user, "outlast", "run", "--on", "local", "--deta") == ["--detach"]
    assert bash(user, "outlast", "completion", "") == ["bash", "zsh", "fish"]
    assert bash(user, "outlast", "secret", "s") == ["set"]
    assert bash(user, "outlast", "run", "train.py", "--", "--l") == []


def test_fish_offers_commands_options_jobs_engines_and_files(user: User) -> None:
    assert fish(user, "outlast sh") == ["show"]
    assert fish(user, "outlast show al") == ["alpha-k3x9ma", "alpine-000000"]
    assert fish(user, "outlast logs lr.1") == ["lr.1", "lr.10", "lr.11", "lr.12"]
    assert fish(user, "outlast run --det") == ["--detach"]
    assert "local" in fish(user, "outlast run --on ")
    assert "train.py" in fish(user, "outlast run tr")
    assert fish(user, "outlast secret se") == ["set"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_pressing_tab_on_a_real_command_line_completes_it(user: User, shell: str) -> None:
    setup = {
        "bash": f"PS1='{PROMPT}'; bind 'set enable-bracketed-paste off'; source '{script(user, 'bash')}'; echo",
        "zsh": f"PS1='{PROMPT}'; autoload -Uz compinit; compinit -u -d '{user.root}/dump';"
        f" source '{script(user, 'zsh')}'; echo",
    }[shell]
    argv = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    require(shell)
    env = user.environ(PATH="/usr/bin:/bin", TERM="dumb" if shell == "bash" else "xterm", INPUTRC="/dev/null")
    one = Shell(argv, user.work, env, setup)
    try:
        one.type("outlast show bet\t\n")
        one.read_until(b"ran:show beta-q2w3e4")
        one.type("outlast show lr.9\t\n")
        one.read_until(b"ran:show lr.9")
        one.type("outlast show lr2.\t3\n")
        one.read_until(b"ran:show lr2.3")
        one.type("outlast chec\t\n")
        one.read_until(b"ran:checkpoints")
        one.type("outlast run --deta\t\n")
        one.read_until(b"ran:run --detach")
        one.type("outlast run tra\t\n")
        one.read_until(b"ran:run train.py")
    finally:
        one.close()


def test_zsh_takes_it_from_its_function_path_too(user: User) -> None:
    functions = user.root / "functions"
    functions.mkdir()
    (functions / "_outlast").write_text(script(user, "zsh").read_text())
    setup = (
        f"PS1='{PROMPT}'; fpath=('{functions}' $fpath); autoload -Uz compinit; compinit -u -d '{user.root}/dump'; echo"
    )
    require("zsh")
    one = Shell(["zsh", "-f", "-i"], user.work, user.environ(PATH="/usr/bin:/bin", TERM="xterm"), setup)
    try:
        one.type("outlast show bet\t\n")
        one.read_until(b"ran:show beta-q2w3e4")
        one.type("outlast logs alpi\t\n")
        one.read_until(b"ran:logs alpine-000000")
    finally:
        one.close()


def test_nothing_hostile_in_the_list_of_jobs_is_run(user: User) -> None:
    trap = user.root / "trap"
    names_path(user.outlast_dir / "cache").write_text(f"$(touch {trap})\n`touch {trap}`\nalpha; touch {trap}\n")
    cells_path(user.outlast_dir / "cache").write_text(f"lr $(touch {trap})\nlr a[$(touch {trap})]\n$(touch {trap}) 3\n")
    for word in ("", "lr.", "$(touch"):
        bash(user, "outlast", "show", word)
        fish(user, f"outlast show {word}")
    assert not trap.exists()


def test_jobs_that_were_submitted_listed_or_deleted_are_what_is_offered(user: User) -> None:
    assert user.outlast("run", "--job-id", "fresh", "train.py").code == 0
    cache = user.outlast_dir / "cache"
    assert read_names(cache)[0] == "fresh"
    assert user.outlast("jobs").code == 0
    assert read_names(cache) == ["fresh"]
    assert user.outlast("delete", "fresh", "--yes").code == 0
    assert read_names(cache) == []
    assert stat.S_IMODE(names_path(cache).stat().st_mode) == 0o600


def test_the_list_of_jobs_has_an_end_and_survives_damage(tmp_path: Path) -> None:
    keep_names(tmp_path, [f"job-{number}" for number in range(2 * NAMES_MAX)])
    assert len(read_names(tmp_path)) == NAMES_MAX
    add_names(tmp_path, ["new"])
    assert read_names(tmp_path)[:2] == ["new", "job-0"] and len(read_names(tmp_path)) == NAMES_MAX
    drop_name(tmp_path, "new")
    add_cells(tmp_path, "lr", 3)
    add_cells(tmp_path, "lr", 4)
    assert read_cells(tmp_path) == {"lr": 4}
    cells_path(tmp_path).write_text("lr\nlr x\n\nlr 5\n")
    assert read_cells(tmp_path) == {"lr": 5}
    names_path(tmp_path).write_bytes(b"\xff\xfe")
    assert read_names(tmp_path) == []
    os.chmod(tmp_path, 0o700)


def test_every_option_of_every_command_is_offered(user: User) -> None:
    from outlast.cli.app import build
    from outlast.cli.completion_tables import offered

    text = user.outlast("completion", "bash").out
    for one in offered(build(), ["local"]):
        assert all(option in text for option in one.options), one.path
