"""`outlast container`: images of your code and packages, made without a daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.container_options import container_flags, containing, image_options
from outlast.cli.environment_options import environment_asked, environment_flags, environment_options
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.setting_option import setting_option
from outlast.errors import UsageError

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World

SETTINGS = ("home", "project", "region")


class ContainerGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.command(
    "container",
    cls=ContainerGroup,
    short_help="Build and push container images, without Docker.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
def command() -> None:
    """Container images of your code and packages. Jobs that need one build it by themselves; here it is built for its own sake."""


@command.command("build", cls=Command, short_help="Build an image and push it.", aliases={"project-id": "project"})
@click.argument("target", required=False, default="")
@click.option("--dir", "-d", "dirs", multiple=True, metavar="DIR", help="Ship this directory too; repeatable.")
@click.option("--name", metavar="NAME", default=None, help="What to call it; the directory's name if not said.")
@click.option("--tag", metavar="TAG", default="", help="Give it this tag, too; without one it is known by its digest.")
@click.option("--gpu", "variant", flag_value="gpu", default="", help="For machines with GPUs.")
@click.option("--nogpu", is_flag=True, help="For machines without; so it is if nothing is said.")
@image_options
@environment_options
@setting_option("home", "URL", "The home that keeps code and packages: a directory, or `gs://BUCKET`.")
@setting_option("project", "PROJECT", "Whose Artifact Registry it goes to; gcloud's project if not said.")
@setting_option("region", "REGION", "Where that registry is; `us-central1` if not said.")
@cloud_key_option
@json_option
def build_command(target: str, as_json: bool, **given: Any) -> int:
    """Build an image of the directory that you stand in, with what TARGET or the directory declares, and push it.

    Base image, packages, each --dir and the code are layers of their own, named by content: what the registry has is not sent again, and
    the same inputs make the same image on every computer. Printed is its name, `HOST/PATH@sha256:...`.
    """
    from outlast.cli.container_make import make
    from outlast.jobs.world import system_world

    world = system_world()
    begun_at = world.clock.monotonic()
    return make(world, _asked(world, target, given), sys.argv[1:], begun_at, as_json=as_json)


def _asked(world: World, target: str, given: dict[str, Any]) -> Asked:
    import os
    from pathlib import Path

    from outlast.jobs.asked import Asked
    from outlast.spec.load import load
    from outlast.spec.names import check_name

    for path in given["dirs"]:
        if not os.path.isdir(path):
            raise UsageError(f"`--dir {path}`: there is no such directory", hint="name a directory that is there")
    if given["variant"] and given["nogpu"]:
        raise UsageError("`--gpu` and `--nogpu` contradict each other", hint="leave one of them out")
    flags = {name: given.get(name) for name in SETTINGS}
    flags |= environment_flags(given) | container_flags(given)
    directory = Path.cwd()
    settings = load(flags, world.environ, directory, world.user_dir / "config.toml")
    return Asked(
        target=target,
        directory=str(directory),
        extra_dirs=tuple(given["dirs"]),
        name=check_name(given["name"]) if given["name"] is not None else None,
        home=settings["home"],
        project=settings["project"],
        region=settings["region"],
        container=containing(world, settings, given, tag=given["tag"]),
        shell=not target,
        **environment_asked(settings),
    ).of_image()
