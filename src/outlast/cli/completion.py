"""`outlast completion`: the script by which a shell completes command lines of ours."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import click

from outlast.cli.app import Command, build
from outlast.cli.completion_tables import Offered, offered
from outlast.cli.terminal import put
from outlast.errors import EXIT_DONE

SHELLS = ("bash", "zsh", "fish")
CELLS_MAX = 1000
"""Of a sweep, so many are offered."""


@click.command("completion", cls=Command, short_help="Print the script by which a shell completes outlast.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the script by which a shell completes commands, options, jobs and files.

    \b
    bash   outlast completion bash > ~/.local/share/bash-completion/completions/outlast
    zsh    outlast completion zsh > "${fpath[1]}/_outlast"
    fish   outlast completion fish > ~/.config/fish/completions/outlast.fish

    Jobs are those that the last `outlast jobs` has seen, and behind the dot of `SWEEP.` its cells; pressing Tab asks no home. Print it anew
    after an update.
    """
    from outlast.engines.registry import BUILT_IN

    table = offered(build(), list(BUILT_IN))
    text = (files("outlast.cli") / "shells" / f"{shell}.txt").read_text(encoding="utf-8")
    lines = _fish(table) if shell == "fish" else _posix(table)
    put(text.replace("@TABLES@", "\n".join(lines)).rstrip("\n"))
    return EXIT_DONE


_JOBS = f"""\
_outlast_jobs() {{
    local cache="${{OUTLAST_DIR:-$HOME/.outlast}}/cache" sweep="" cells="" cell
    if [[ $1 == *.* ]]; then
        [[ -r $cache/sweep-cells ]] || return 0
        while read -r sweep cells; do
            [[ $sweep == "${{1%%.*}}" && $cells =~ ^[0-9]{{1,6}}$ ]] || continue
            for ((cell = 1; cell <= cells && cell <= {CELLS_MAX}; cell++)); do echo "$sweep.$cell"; done
        done < "$cache/sweep-cells"
    elif [[ -r $cache/job-names ]]; then
        printf "%s\\n" "$(<"$cache/job-names")"
    fi
}}"""
"""Of the word so far: jobs, or behind a sweep's dot its cells."""


def _posix(table: list[Offered]) -> Iterator[str]:
    """Functions that bash (3.2 too) and zsh understand alike."""
    yield _JOBS
    yield f"_outlast_commands() {{ echo {_quoted(' '.join(table[0].subcommands))}; }}"
    yield from _case("_outlast_subcommands", {one.path: " ".join(one.subcommands) for one in table[1:]})
    yield from _case("_outlast_options", {one.path: " ".join(one.options) for one in table})
    yield from _case("_outlast_argument", {one.path: one.argument for one in table})
    values = {f"{one.path} {name}": kind for one in table for name, (kind, _) in one.options.items()}
    yield from _case("_outlast_value", values, '"$1 $2"')


def _case(function: str, answers: dict[str, str], word: str = '"$1"') -> Iterator[str]:
    yield f"{function}() {{"
    yield f"    case {word} in"
    for asked, answer in answers.items():
        if answer:
            yield f"        {_quoted(asked)}) echo {_quoted(answer)} ;;"
    yield "    esac"
    yield "}"


def _fish(table: list[Offered]) -> Iterator[str]:
    for one in table:
        condition = f"__outlast_command {one.path}" if one.path else "__outlast_bare"
        for name in one.subcommands:
            words = next(each.words for each in table if each.path == f"{one.path} {name}".strip())
            exactly = f"{condition}; and not __outlast_command {one.path} {name}" if one.path else condition
            yield f"complete -c outlast -n {_quoted(exactly)} -a {name} -d {_quoted(words)}"
        if one.path and not one.subcommands:
            yield f"complete -c outlast -n {_quoted(condition)} {_fish_values(one.argument)}".rstrip()
        for name, (kind, words) in one.options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            follows = f"-r {_fish_values(kind)}" if kind else ""
            yield f"complete -c outlast -n {_quoted(condition)} {flag} {follows} -d {_quoted(words)}".replace("  ", " ")


def _fish_values(kind: str) -> str:
    if kind == "jobs":
        return "-f -k -a '(__outlast_jobs)'"
    if kind == "files":
        return "-F"
    if kind == "directories":
        return "-f -a '(__fish_complete_directories)'"
    return f"-f -a {_quoted(kind.removeprefix('words '))}" if kind.startswith("words ") else "-f"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" if "'" in text else f"'{text}'"
