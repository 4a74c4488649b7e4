"""Help is a file: quick, complete and current."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

import outlast
from outlast.cli.app import ALIASES, COMMANDS, GROUPS, build
from outlast.cli.headings import HEADINGS, OPTIONS_MAX, sections
from tests.cli.user import User


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("asking", [["{}", "--help"], ["{}", "-h"], ["help", "{}"]])
def test_every_command_has_a_help_page(user: User, command: str, asking: list[str]) -> None:
    said = user.outlast(*(word.format(command) for word in asking))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: outlast {command} ")


@pytest.mark.parametrize("asking", [[], ["--help"], ["-h"], ["help"]])
def test_the_first_page_lists_every_command_and_none_that_does_not_exist(user: User, asking: list[str]) -> None:
    said = user.outlast(*asking)
    assert said.code == 0
    listed: list[str] = []
    for heading in GROUPS:
        section = said.out.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        listed += [line.split()[0] for line in section.splitlines()]
    assert listed == list(COMMANDS)
    assert max(map(len, said.out.splitlines())) < 80
    assert not set(listed) & set(ALIASES)


def test_help_imports_neither_click_nor_the_verbs(user: User) -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "outlast.cli", "run", "--help"],
        capture_output=True, text=True, check=True,
    ).stderr  # fmt: skip
    assert "outlast.cli" in loaded
    assert not any(name in loaded for name in ("click", "outlast.jobs", "dataclasses"))


@pytest.mark.parametrize("command", ["outlast", *COMMANDS])
def test_where_a_page_is_missing_the_parser_says_the_same(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from outlast.cli import _page

    words = ["--help"] if command == "outlast" else [command, "--help"]
    build().main(args=words, prog_name="outlast", standalone_mode=False, terminal_width=78)
    assert capsys.readouterr().out == _page(words)


def test_every_option_of_every_command_is_explained() -> None:
    group = build()
    context = click.Context(group, info_name="outlast")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None and command.short_help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"


def test_no_list_of_options_is_too_long_to_be_read_and_none_is_lost() -> None:
    group = build()
    context = click.Context(group, info_name="outlast")
    named: set[str] = set()
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
        found = sections(options)
        assert {one.name for some in found.values() for one in some} == {one.name for one in options}
        assert max(map(len, found.values())) <= OPTIONS_MAX
        named |= {one.name for one in options}
        if name == "run":
            assert [*found] == ["Options", *HEADINGS]
    assert {name for names in HEADINGS.values() for name in names} <= named


def test_the_version_is_printed(user: User) -> None:
    from outlast import __version__

    assert user.outlast("--version").out == f"outlast {__version__}\n"


@pytest.mark.parametrize("command", ["../run", "../pages/run", "run\n", "é"])
def test_no_name_reaches_outside_of_the_pages(user: User, command: str) -> None:
    assert user.outlast(command, "--help").code == 2


def test_the_package_itself_is_the_program_too() -> None:
    for module in ("outlast", "outlast.cli"):
        done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"outlast {outlast.__version__}\n", module
