"""`outlast secret`: values that jobs on this computer are given by `--secret NAME=secret:NAME`."""

from __future__ import annotations

import sys
from typing import Any

import click

from outlast.cli.app import Command
from outlast.cli.options import json_option
from outlast.cli.terminal import put, put_json, say
from outlast.errors import EXIT_DONE, NotFound, UsageError

VALUE_BYTES_READ_MAX = 1 << 20


class SecretGroup(click.Group):
    """A word that is no subcommand may be a value: it is not repeated."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            raise UsageError(
                f"`outlast secret` has {', '.join(f'`{name}`' for name in self.list_commands(ctx))}, and no other word",
                hint="`outlast secret set NAME`",
            )
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.command(
    "secret",
    cls=SecretGroup,
    short_help="Keep values that only a trainer may see.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
def command() -> None:
    """Keep values on this computer, readable by you alone, for `outlast run --secret NAME=secret:NAME`.

    They stand in no home, no spec, no log and no command line.
    """


class ValueCommand(Command):
    """`secret set NAME`: whoever types the value behind the name is told not to, without its being repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [word for word in args if not word.startswith("-")]
        if len(words) > 1 or any("=" in word for word in words):
            raise UsageError(
                "a value is never typed into a command line: other users see it, and the shell remembers it",
                hint="`outlast secret set NAME` asks for it; or `outlast secret set NAME < FILE`",
            )
        return super().parse_args(ctx, args)


@command.command("set", cls=ValueCommand, short_help="Keep a value under a name.")
@click.argument("name")
def set_command(name: str) -> int:
    """Keep a value under NAME: typed without being shown, or from stdin where that is no terminal.

    One newline at its end is left out. A value of that name is replaced; jobs that run keep what they began with.
    """
    from outlast.host.secrets import put_kept
    from outlast.jobs.secrets import VALUE_CHARACTERS_MIN
    from outlast.jobs.world import system_world
    from outlast.spec.environment import VALUE_BYTES_MAX
    from outlast.spec.secrets import check_secret_name

    check_secret_name(name)
    world = system_world()
    value = _read_value(name)
    size_bytes = len(value.encode())
    if len(value) < VALUE_CHARACTERS_MIN or size_bytes > VALUE_BYTES_MAX or "\0" in value:
        raise UsageError(
            f"the value has {size_bytes:,} bytes, or holds a NUL; "
            f"a secret has {VALUE_CHARACTERS_MIN} characters at least and {VALUE_BYTES_MAX:,} bytes at most",
            state="nothing was kept",
        )
    put_kept(world.user_dir, name, value)
    say(f"kept `{name}`; `--secret {name}=secret:{name}` gives it to a job")
    return EXIT_DONE


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        import getpass

        value = getpass.getpass(f"Value of {name} (it is not shown): ", stream=sys.stderr)
    else:
        data = sys.stdin.buffer.read(VALUE_BYTES_READ_MAX)
        try:
            value = data.decode()
        except UnicodeDecodeError:
            raise UsageError("the value is not UTF-8", hint="encode it, as base64 for example") from None
    return value.removesuffix("\n").removesuffix("\r")


@command.command("list", cls=Command, short_help="List the names that are kept.")
@json_option
def list_command(as_json: bool) -> int:
    """List the names of what is kept, never the values."""
    from outlast.host.secrets import names_kept
    from outlast.jobs.world import system_world

    names = names_kept(system_world().user_dir)
    if as_json:
        put_json([{"name": name} for name in names])
    for name in () if as_json else names:
        put(name)
    if not names and not as_json:
        say("no secret is kept; `outlast secret set NAME` keeps one")
    return EXIT_DONE


@command.command("delete", cls=Command, short_help="Forget values.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def delete_command(names: tuple[str, ...], **_: Any) -> int:
    """Forget what is kept under these names. Jobs that run keep what they began with."""
    from outlast.host.secrets import delete_kept, names_kept
    from outlast.jobs.world import system_world
    from outlast.spec.secrets import check_secret_name

    user_dir = system_world().user_dir
    known = names_kept(user_dir)
    for name in names:
        if check_secret_name(name) not in known:
            listed = ", ".join(f"`{one}`" for one in known) or "none"
            raise NotFound(f"there is no secret `{name}`; there are {listed}", state="nothing was deleted")
    for name in names:
        delete_kept(user_dir, name)
    say(f"deleted {', '.join(f'`{name}`' for name in names)}")
    return EXIT_DONE
