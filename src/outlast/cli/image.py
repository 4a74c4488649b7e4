"""`outlast image`: what rented machines boot, with your packages in it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.confirm import confirmed
from outlast.cli.options import cloud_key_option, home_option, json_option, whole
from outlast.cli.setting_option import setting_option
from outlast.cli.table import render
from outlast.cli.terminal import put, put_json, say, shown, width
from outlast.cli.words import age, count, duration, money, size
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.engines.imaging import MadeImage
    from outlast.jobs.images import Images, Needed
    from outlast.jobs.world import World


class ImageGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.command(
    "image",
    cls=ImageGroup,
    short_help="Build and keep images that rented machines boot.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
def command() -> None:
    """Images that rented machines boot, with your packages already in them: `outlast run --on compute --image FAMILY`.

    A family is a name; each build adds an image to it, and a job takes the newest when it is submitted, and keeps it.
    """


project_option = setting_option("project", "PROJECT", "The project that pays; gcloud's if not said.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


def builder_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Where the machine is that an image is made on."""
    for option in reversed(
        (
            project_option,
            setting_option("region", "REGION", "Where it is built, `us-central1` if not said.", several=True),
            setting_option("zone", "ZONE", "Build in this zone only; repeatable.", several=True),
            setting_option("machine-type", "TYPE", "What it is built on; `e2-standard-4` if not said."),
            setting_option("network", "NETWORK", "The network of the builder; `default` if not said."),
        )
    ):
        callback = option(callback)
    return callback


@command.command("build", cls=Command, short_help="Add an image to a family.")
@click.argument("family")
@click.option(
    "--base", metavar="IMAGE", default="", help="What it begins with: a family, an image, or `PROJECT/FAMILY`."
)
@click.option("--requirements", metavar="FILE", default="", help="Packages for its environment, as pip reads them.")
@click.option("--setup", metavar="SCRIPT", default="", help="A script that is run on it, as root, behind the packages.")
@click.option("--gpus", metavar="TYPE", default="", help="Begin with a base whose driver fits this GPU, such as `L4`.")
@click.option("--python", metavar="VERSION", default="", help="The Python of its environment; the base's if not said.")
@setting_option("disk-gb", "GB", "Its size, which is the least that a job's disk has; 50, or 100 with --gpus.")
@builder_options
@cloud_key_option
@json_option
def build_command(
    family: str, base: str, requirements: str, setup: str, gpus: str, python: str, as_json: bool, **flags: Any
) -> int:
    """Build an image of FAMILY, named `FAMILY-<date>`, on a machine without a service account, and delete that machine.

    Its environment is used by jobs that name the image and declare no packages of their own. A set-up that fails publishes nothing: its
    log is shown, and the exit code is 1. The builder ends by itself after two hours, whatever happens to this computer.
    """
    from outlast.jobs.images import Asked

    world, images = _images(flags)
    asked = Asked(family, base, requirements, setup, gpus, python)
    begun_at = world.clock.monotonic()
    return _say_made(images.build(asked, _say_line), world.clock.monotonic() - begun_at, as_json=as_json)


@command.command("save", cls=Command, short_help="Make an image of a job's machine.")
@click.argument("job")
@click.argument("family")
@builder_options
@home_option
@json_option
def save_command(job: str, family: str, home: str | None, as_json: bool, **flags: Any) -> int:
    """Add an image of JOB's machine, as its disk is now, to FAMILY.

    The disk is copied, and the copy is scrubbed on a machine without a service account: of keys, histories, tokens, logs and all that
    the job's agent has left. The job goes on. It must be running, or its machine lingering.
    """
    from outlast.jobs.find import find

    world, images = _images(flags)
    begun_at = world.clock.monotonic()
    made = images.save(find(world, job, home), family, _say_line)
    return _say_made(made, world.clock.monotonic() - begun_at, as_json=as_json)


@command.command("list", cls=Command, short_help="Show images, what they cost, and which jobs need them.")
@project_option
@cloud_key_option
@json_option
def list_command(as_json: bool, **flags: Any) -> int:
    """Show the images that outlast has made, the newest first. Jobs are named that have not ended."""
    from outlast.cli.edge import note_away

    world, images = _images(flags)
    found = images.needed()
    note_away(world.away)
    if as_json:
        put_json([_row(one) for one in found])
        return EXIT_DONE
    _print(found, images.imager.now(), put)
    if not found:
        say("there is no image yet; `outlast image build FAMILY --requirements FILE` makes one")
    return EXIT_DONE


@command.command("delete", cls=Command, short_help="Delete images.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@yes_option
@project_option
@cloud_key_option
@json_option
def delete_command(names: tuple[str, ...], yes: bool, as_json: bool, **flags: Any) -> int:
    """Delete images by name. One that a job needs which has not ended is refused, and so is one that outlast has not made."""
    world, images = _images(flags)
    return _delete(world, images, images.named(names), yes=yes, as_json=as_json)


@command.command("prune", cls=Command, short_help="Delete all but the newest images of each family.")
@click.argument("family", required=False, default="")
@click.option("--keep", type=whole(1), default="2", metavar="N", help="How many of each family stay; 2 if not said.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted; delete nothing.")
@yes_option
@project_option
@cloud_key_option
@json_option
def prune_command(family: str, keep: int, dry_run: bool, yes: bool, as_json: bool, **flags: Any) -> int:
    """Delete old images: of FAMILY, or of every family, all but the newest. What a job needs that has not ended stays."""
    world, images = _images(flags)
    found = images.old(family, keep)
    if dry_run or not found:
        if as_json:
            put_json([_row(one) for one in found])
        else:
            _print(found, images.imager.now(), put)
        say(f"{count(len(found), 'image')} would be deleted" if found else "nothing to delete")
        return EXIT_DONE
    return _delete(world, images, found, yes=yes, as_json=as_json)


def _images(flags: dict[str, Any]) -> tuple[World, Images]:
    from outlast.jobs.images import Images
    from outlast.jobs.world import system_world

    world = system_world()
    regions = flags.pop("region", None) or ()
    given = {name.replace("_", "-"): value for name, value in flags.items() if value not in (None, ())}
    if regions:
        given["region"] = ",".join(regions)
    if given.get("zone"):
        given["zone"] = tuple(dict.fromkeys(zone for several in given["zone"] for zone in several))
    return world, Images(world, given)


def _say_line(line: str) -> None:
    say(f"  {shown(line)}")


def _say_made(made: MadeImage, seconds: float, *, as_json: bool) -> int:
    scrubbed = [one for one in made.scrubbed if one]
    if as_json:
        row = {"image": made.name, "family": made.family, "python": made.python or None, "scrubbed": scrubbed}
        put_json({**row, "seconds": round(seconds, 1)})
    inside = f", with an environment of Python {made.python}" if made.python else ""
    say(f"Image `{made.name}`{inside}, in {duration(seconds)}")
    if scrubbed:
        say(f"  scrubbed of {', '.join(scrubbed)}")
    say(f"  `outlast run --on compute --image {made.family} TARGET` boots it")
    return EXIT_DONE


def _delete(world: World, images: Images, found: list[Needed], *, yes: bool, as_json: bool) -> int:
    if not yes:
        _print(found, images.imager.now(), say)
    total = sum(one.image.bytes for one in found)
    if not confirmed(f"delete {count(len(found), 'image')}, {size(total)}", yes=yes):
        say("nothing was deleted")
        return EXIT_DONE
    images.delete(found)
    for one in found:
        say(f"deleted `{one.image.name}`: {size(one.image.bytes)}, {money(one.image.usd_per_month)} a month")
    if as_json:
        put_json([_row(one) for one in found])
    return EXIT_DONE


def _print(found: list[Needed], now: float, write: Callable[[str], None]) -> None:
    if not found:
        return
    header = ("IMAGE", "FAMILY", "PYTHON", "SIZE", "AGE", "$/MONTH", "NEEDED BY")
    rows = [
        [
            one.image.name,
            one.image.family,
            one.image.python or "-",
            size(one.image.bytes),
            age(one.image.made_at, now),
            f"{one.image.usd_per_month:.2f}",
            ", ".join(one.jobs) or "-",
        ]
        for one in found
    ]
    for line in render(header, rows, width=width(sys.stdout), right=(3, 5)):
        write(line)


def _row(one: Needed) -> dict[str, Any]:
    image = one.image
    return {
        "image": image.name,
        "family": image.family or None,
        "path": image.path,
        "python": image.python or None,
        "status": image.status,
        "bytes": image.bytes,
        "made_at": image.made_at,
        "usd_per_month": image.usd_per_month,
        "jobs": list(one.jobs),
    }
