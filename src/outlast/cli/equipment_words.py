"""What is said of a job's Python, its packages and its image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.cli.terminal import say, shown
from outlast.cli.words import count, duration, size

if TYPE_CHECKING:
    from outlast.jobs.containers import Image
    from outlast.jobs.environment import Equipment

SHOWN_MAX = 40
WARNINGS_MAX = 5


def say_equipment(equipment: Equipment) -> None:
    """Which Python, which packages, and why."""
    python, environment = equipment.interpreter, equipment.environment
    if equipment.elsewhere:
        say(
            "Python: that of its machine or image, with the packages there: none are declared; `--python` asks for a version"
        )
    elif environment is None:
        say(f"Python {python.version} at `{shown(python.path)}`: {shown(python.why)}, with its own packages")
    else:
        say(f"Python {python.version}, made of `{shown(equipment.python)}`: {shown(python.why)}")
        by = (
            f"resolved by {equipment.resolver} in {duration(equipment.seconds)}"
            if equipment.resolver
            else "from the home"
        )
        packages = count(environment.packages, "package")
        say(f"Environment `{environment.digest[:12]}`, {packages}, {by}: {shown(environment.source)}")
    if equipment.frozen:
        for line in equipment.packages[:SHOWN_MAX]:
            say(f"  {shown(line)}")
        if len(equipment.packages) > SHOWN_MAX:
            say(f"  and {len(equipment.packages) - SHOWN_MAX} more")
    for warning in equipment.warnings[:WARNINGS_MAX]:
        say(f"  note: {shown(warning)}")


def say_image(image: Image) -> None:
    for note in image.notes:
        say(shown(note))
    built = image.built
    if built is None:
        say(f"Image `{shown(image.reference)}`, as it is")
        return
    pushed = (
        f"pushed {count(built.pushed_layers, 'layer')}, {size(built.pushed_bytes)}"
        if built.pushed_layers
        else "nothing to push"
    )
    say(f"Image `{shown(built.reference)}`: {count(built.layers, 'layer')}, {pushed}")
    say(f"  on `{shown(built.base)}`{', built just now' if image.built_base else ''}")
