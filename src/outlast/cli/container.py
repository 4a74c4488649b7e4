"""`outlast container`: images of your code and packages, made without a daemon."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.container_options import container_flags, containing, image_options, say_image
from outlast.cli.environment_options import environment_asked, environment_flags, environment_options
from outlast.cli.options import cloud_key_option, json_option
from outlast.cli.progress import shown_progress
from outlast.cli.setting_option import setting_option
from outlast.cli.terminal import put, put_json, say
from outlast.cli.words import count, duration, size
from outlast.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.jobs.container_build import Made
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
    from outlast.cli.container_observer import Observer
    from outlast.jobs.container_build import build_image
    from outlast.jobs.world import system_world

    world = system_world()
    begun_at = world.clock.monotonic()
    observer = Observer(sys.argv[1:], given["dirs"])
    asked = _asked(world, target, given)
    with shown_progress() as on_progress:
        made = build_image(world, asked, on_progress)
    _say_made(made, world.clock.monotonic() - begun_at)
    if as_json:
        put_json(_row(made))
    else:
        put(made.image.reference)
        observer.remember(asked, made, f"{made.image.reference}\n")
    return EXIT_DONE


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


def _say_made(made: Made, seconds: float) -> None:
    from outlast.cli.environment_options import say_equipment

    if made.packed is not None and made.equipment is not None:
        say(f"Packed {count(made.packed.files, 'file')}, {size(made.packed.bytes)}")
        for one in made.packed.left_out:
            say(f"  left out `{one.path}`, {size(one.bytes)}: {one.why}")
        say_equipment(made.equipment)
    say_image(made.image)
    say(f"  in {duration(seconds)}")


def _row(made: Made) -> dict[str, Any]:
    built = made.image.built
    return {
        "image": made.image.reference,
        "digest": built.digest if built else None,
        "base": built.base if built else None,
        "layers": built.layers if built else None,
        "pushed_layers": built.pushed_layers if built else 0,
        "pushed_bytes": built.pushed_bytes if built else 0,
        "bundle": made.packed.digest if made.packed else None,
        "environment": made.equipment.environment.digest if made.equipment and made.equipment.environment else None,
    }
