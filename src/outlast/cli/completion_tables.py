"""What a shell may complete: commands, options and what follows each, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import click

from outlast.dataclass import dataclass

KIND_OF_METAVAR = {
    "DIR": "directories",
    "URL": "directories",
    "FILE": "files",
    "PATH": "files",
    "SCRIPT": "files",
    "DIR|URL": "directories",
}
KIND_OF_OPTION = {"--dataset": "files", "--link": "directories", "--checkpoint": "words last best all"}
KIND_OF_ARGUMENT = {"job": "jobs", "jobs": "jobs"}
NOTHING = "nothing"
"""A value that only its user knows follows."""


@dataclass(frozen=True)
class Offered:
    """One command: its path (`secret set`), its options with what follows each (empty: nothing does), and its arguments."""

    path: str
    words: str
    """Its one line of help."""

    options: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name -> (what follows, its help)."""

    subcommands: tuple[str, ...] = ()
    argument: str = "files"


def offered(group: click.Group, engines: list[str]) -> list[Offered]:
    context = click.Context(group, info_name="outlast")
    return list(_walk(group, context, "", engines))


def _walk(command: click.Command, context: click.Context, path: str, engines: list[str]) -> Iterator[Offered]:
    subcommands: tuple[str, ...] = ()
    if isinstance(command, click.Group):
        subcommands = tuple(command.list_commands(context))
    options: dict[str, tuple[str, str]] = {}
    argument = "files"
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Argument):
            argument = KIND_OF_ARGUMENT.get(parameter.name or "", argument)
            if isinstance(parameter.type, click.Choice):
                argument = f"words {' '.join(parameter.type.choices)}"
        elif isinstance(parameter, click.Option) and not parameter.hidden:
            for name in (*parameter.opts, *parameter.secondary_opts):
                options[name] = (_follows(parameter, name, engines), (parameter.help or "").partition(".")[0])
    yield Offered(path, command.get_short_help_str(100).rstrip("."), options, subcommands, argument)
    for name in subcommands:
        assert isinstance(command, click.Group)
        below = command.get_command(context, name)
        if below is not None:
            child = click.Context(below, info_name=name, parent=context)
            yield from _walk(below, child, f"{path} {name}".strip(), engines)


def _follows(option: click.Option, name: str, engines: list[str]) -> str:
    if option.is_flag or option.count:
        return ""
    if isinstance(option.type, click.Choice):
        return f"words {' '.join(str(choice) for choice in option.type.choices)}"
    if name == "--on":
        return f"words {' '.join(engines)}"
    if name in KIND_OF_OPTION:
        return KIND_OF_OPTION[name]
    metavar = (option.metavar or "").strip("[]")
    return "jobs" if metavar.startswith("JOB") else KIND_OF_METAVAR.get(metavar, NOTHING)
