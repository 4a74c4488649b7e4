"""An image that was asked for is built, and told of: also where the words of the command need not be read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast.cli.container_observer import Observer, asked_of
from outlast.cli.equipment_words import say_equipment, say_image
from outlast.cli.progress import shown_progress
from outlast.cli.terminal import put, put_json, say
from outlast.cli.words import count, duration, size
from outlast.errors import EXIT_DONE
from outlast.jobs.container_build import build_image
from outlast.jobs.world import system_world

if TYPE_CHECKING:
    from outlast.container.registry import Registry
    from outlast.jobs.asked import Asked
    from outlast.jobs.container_build import Made
    from outlast.jobs.world import World


def make(
    world: World,
    asked: Asked,
    arguments: list[str],
    begun_at: float,
    *,
    known: Registry | None = None,
    as_json: bool = False,
) -> int:
    """`arguments`: the command line; what was seen of it is remembered under them. `known`: as `image_for` has it."""
    observer = Observer(arguments, asked.extra_dirs)
    with shown_progress() as on_progress:
        made = build_image(world, asked, on_progress, known=known)
    _say_made(made, world.clock.monotonic() - begun_at)
    if as_json:
        put_json(_row(made))
    else:
        put(made.image.reference)
        observer.remember(asked, made, f"{made.image.reference}\n")
    return EXIT_DONE


def make_again(asked: dict[str, Any], arguments: list[str], known: Registry) -> int:
    """The same command as before, of other files. `asked`: as the observer wrote it down."""
    world = system_world()
    return make(world, asked_of(asked), arguments, world.clock.monotonic(), known=known)


def _say_made(made: Made, seconds: float) -> None:
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
