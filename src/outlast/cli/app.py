"""The commands and their parser. A command's module is imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from outlast.cli.edge import PipeClosed, note
from outlast.cli.near import meant, near
from outlast.cli.typed import CommandLine, normal, quoted
from outlast.errors import UsageError

GROUPS = {
    "Jobs": ("run", "jobs", "show", "logs", "stop", "resume", "drill"),
    "Results": ("checkpoints", "pull", "evaluate"),
    "Sweeps": ("expand", "results"),
    "Code, data and secrets": ("sync", "push", "secret", "container"),
    "Rented machines": ("init", "catalog", "audit", "ssh", "image", "emulator"),
    "Housekeeping": ("delete", "prune", "doctor", "config", "completion"),
}
"""Heading -> commands, in the order in which they are met."""

COMMANDS = tuple(name for names in GROUPS.values() for name in names)

ALIASES = {
    "ls": "jobs",
    "list": "jobs",
    "ps": "jobs",
    "queue": "jobs",
    "status": "show",
    "log": "logs",
    "launch": "run",
    "submit": "run",
    "download": "pull",
    "cancel": "stop",
    "kill": "stop",
    "resubmit": "resume",
    "rm": "delete",
}
"""Words that other tools have taught people; they run, with a note."""


OPTION_COLUMNS_MAX = 30
"""As wide as click makes the column of names; longer ones have a line of their own."""


class Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Under their headings, in columns that all of them share."""
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", one.get_short_help_str(200)) for name, one in commands if one])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"outlast.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        command = self.get_command(ctx, word)
        if command is None:
            raise _no_such_command(args)
        if word in ALIASES:
            note(f"`{word}` is `outlast {ALIASES[word]}`")
        return command.name, command, args[1:]

    def main(self, *args: Any, **extra: Any) -> Any:
        """As click's, with errors in our own words."""
        try:
            return super().main(*args, **extra)
        except click.exceptions.NoSuchOption as error:
            raise _no_such_option(error) from error
        except click.UsageError as error:
            raise UsageError(_sentence(error), hint=_help_hint(error.ctx)) from error
        except click.ClickException as error:
            raise UsageError(_sentence(error)) from error
        except click.Abort:
            raise KeyboardInterrupt from None


class Command(click.Command):
    """Options may be written with underscores or by their older names; the callback answers the exit code."""

    theirs = ""
    """Where options stand that are none of ours."""

    def __init__(self, *args: Any, aliases: dict[str, str] | None = None, **extra: Any) -> None:
        names = aliases or {}
        extra["context_settings"] = {
            "help_option_names": ["--help", "-h"],
            "token_normalize_func": lambda token: normal(token, names),
        }
        super().__init__(*args, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A long list under headings, in columns that all of them share."""
        from outlast.cli.headings import OPTIONS_MAX, sections

        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = {one: row for one in options if (row := one.get_help_record(ctx)) is not None}
        if len(shown) <= OPTIONS_MAX:
            super().format_options(ctx, formatter)
            return
        width = min(OPTION_COLUMNS_MAX, max(len(name) for name, _ in shown.values()))
        for heading, some in sections(list(shown)).items():
            rows = [shown[one] for one in some]
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in rows])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosed from error  # by its own name, click would end the process with exit code 1


class TargetCommand(Command):
    """`[OPTIONS] TARGET [-- ARGS]`: what stands behind `--` goes through untouched, as the parameter `args`."""

    theirs = "options of the target itself stand behind it, after `--`"
    behind = False
    """Whether options of outlast may stand behind the target too."""

    instead = ""
    """The option that says what the target is, where none is typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        assert self.name and ctx.token_normalize_func
        takes_value = {
            option: not parameter.is_flag
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        line = CommandLine(self.name, takes_value, ctx.token_normalize_func, behind=self.behind, instead=self.instead)
        ours, theirs = line.split(args)
        ctx.params["args"] = tuple(theirs)
        return super().parse_args(ctx, ours)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


def build() -> click.Group:
    """The whole command line, as the help pages and the tests use it."""
    return Group(
        "outlast",
        help="Training that outlasts its machines.",
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Print the version and exit.",
            )
        ],
        context_settings={"help_option_names": ["--help", "-h"]},
        no_args_is_help=True,
        epilog="JOB is the beginning of a job's id, its folder, or nothing: the newest.",
    )


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from outlast import __version__

        sys.stdout.write(f"outlast {__version__}\n")
        ctx.exit()


def _no_such_command(args: list[str]) -> UsageError:
    word = args[0]
    if word.endswith((".py", ".sh")) or os.path.isfile(word):
        return UsageError(
            f"`{word}` is a target, not a command", hint=f"`{quoted(['outlast', 'run', *_with_dashes(args)])}`"
        )
    if word.startswith("-"):
        return UsageError(f"no such option `{word}`", hint="`outlast --help`")
    guess = meant(f"outlast {name}" for name in near(word, (*COMMANDS, *ALIASES)))
    return UsageError(f"no such command `{word}`; there are {', '.join(COMMANDS)}", hint=guess or "`outlast --help`")


def _with_dashes(args: list[str]) -> list[str]:
    return args if len(args) == 1 or args[1] == "--" else [args[0], "--", *args[1:]]


def _no_such_option(error: click.exceptions.NoSuchOption) -> UsageError:
    context = error.ctx
    known = [
        option
        for parameter in (context.command.get_params(context) if context else ())
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    ]
    guess = meant(near(error.option_name, known))
    state = context.command.theirs if context is not None and isinstance(context.command, Command) else ""
    return UsageError(f"no such option `{error.option_name}`", state=state, hint=guess or _help_hint(context))


def _sentence(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".").replace("'", "`")
    return message[:1].lower() + message[1:]


def _help_hint(ctx: click.Context | None) -> str:
    return f"`{ctx.command_path} --help`" if ctx is not None else "`outlast --help`"
