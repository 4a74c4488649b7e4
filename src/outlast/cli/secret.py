"""`outlast secret`: values that jobs on this computer are given by `--secret NAME=secret:NAME`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.setting_option import setting_option
from outlast.cli.terminal import put, put_json, say, shown
from outlast.errors import EXIT_DONE, NotFound, UsageError

if TYPE_CHECKING:
    from outlast.jobs.cloud import Cloud
    from outlast.jobs.world import World

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

    With `--on compute`: in your project's Secret Manager, where rented machines read them. They stand in no home, no spec, no log and
    no command line.
    """


def place_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Where values are kept: here, or where an engine's machines can read them."""
    for option in (
        cloud_key_option,
        setting_option(
            "project", "PROJECT", "With --on: the project whose Secret Manager it is; gcloud's if not said."
        ),
        click.option(
            "--on", "engine", metavar="ENGINE", help="Keep it where this engine's machines read it, not here."
        ),
    ):
        callback = option(callback)
    return callback


def _cloud(world: World, engine: str | None, project: str | None) -> Cloud | None:
    """None: the values are on this computer."""
    if engine is not None and world.engine(engine).capabilities.rents:
        from outlast.jobs.cloud import cloud_of

        return cloud_of(world, {"project": project})
    if project is not None:
        raise UsageError("`--project` is about rented machines", hint="add `--on compute`")
    return None


TAKING = ("--on", "--project", "--cloud-key")
"""Options of `secret set` whose value is the next word."""


class ValueCommand(Command):
    """`secret set NAME`: whoever types the value behind the name is told not to, without its being repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [
            word
            for word, before in zip(args, ["", *args], strict=False)
            if not word.startswith("-") and before not in TAKING
        ]
        if len(words) > 1 or any("=" in word for word in words):
            raise UsageError(
                "a value is never typed into a command line: other users see it, and the shell remembers it",
                hint="`outlast secret set NAME` asks for it; or `outlast secret set NAME < FILE`",
            )
        return super().parse_args(ctx, args)


@command.command("set", cls=ValueCommand, short_help="Keep a value under a name.")
@click.argument("name")
@place_options
def set_command(name: str, engine: str | None, project: str | None) -> int:
    """Keep a value under NAME: typed without being shown, or from stdin where that is no terminal.

    One newline at its end is left out. A value of that name is replaced; jobs that run keep what they began with. With `--on compute` it
    is a new version in Secret Manager, which `outlast-runner` may read.
    """
    from outlast.host.secrets import put_kept
    from outlast.jobs.world import system_world
    from outlast.spec.environment import VALUE_BYTES_MAX
    from outlast.spec.secret_value import VALUE_CHARACTERS_MIN
    from outlast.spec.secrets import check_secret_name

    check_secret_name(name)
    world = system_world()
    cloud = _cloud(world, engine, project)
    value = _read_value(name)
    size_bytes = len(value.encode())
    if len(value) < VALUE_CHARACTERS_MIN or size_bytes > VALUE_BYTES_MAX or "\0" in value:
        raise UsageError(
            f"the value has {size_bytes:,} bytes, or holds a NUL; "
            f"a secret has {VALUE_CHARACTERS_MIN} characters at least and {VALUE_BYTES_MAX:,} bytes at most",
            state="nothing was kept",
        )
    if cloud is not None:
        from outlast.jobs.cloud_secrets import set_secret

        reference = set_secret(cloud, name, value)
        say(
            f"kept `{name}` in project `{shown(cloud.project)}`; `--secret {name}={shown(reference)}` gives it to a job"
        )
        return EXIT_DONE
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
@place_options
@json_option
def list_command(engine: str | None, project: str | None, as_json: bool) -> int:
    """List the names of what is kept, never the values. With `--on compute`: of what outlast has kept in Secret Manager."""
    from outlast.host.secrets import names_kept
    from outlast.jobs.world import system_world

    world = system_world()
    cloud = _cloud(world, engine, project)
    if cloud is not None:
        from outlast.jobs.cloud_secrets import list_secrets

        names = sorted(list_secrets(cloud))
    else:
        names = names_kept(world.user_dir)
    if as_json:
        put_json([{"name": name} for name in names])
    for name in () if as_json else names:
        put(name)
    if not names and not as_json:
        say("no secret is kept; `outlast secret set NAME` keeps one")
    return EXIT_DONE


@command.command("delete", cls=Command, short_help="Forget values.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@place_options
def delete_command(names: tuple[str, ...], engine: str | None, project: str | None) -> int:
    """Forget what is kept under these names. Jobs that run keep what they began with.

    With `--on compute`: in Secret Manager, with all versions; a machine that comes later does not find them any more.
    """
    from outlast.host.secrets import delete_kept, names_kept
    from outlast.jobs.world import system_world
    from outlast.spec.secrets import check_secret_name

    world = system_world()
    cloud = _cloud(world, engine, project)
    if cloud is not None:
        from outlast.jobs.cloud_secrets import delete_secrets

        delete_secrets(cloud, names)
        say(f"deleted {', '.join(f'`{shown(name)}`' for name in names)} in project `{shown(cloud.project)}`")
        return EXIT_DONE
    user_dir = world.user_dir
    known = names_kept(user_dir)
    for name in names:
        if check_secret_name(name) not in known:
            listed = ", ".join(f"`{one}`" for one in known) or "none"
            raise NotFound(f"there is no secret `{name}`; there are {listed}", state="nothing was deleted")
    for name in names:
        delete_kept(user_dir, name)
    say(f"deleted {', '.join(f'`{name}`' for name in names)}")
    return EXIT_DONE
