"""The options of a command that takes a target which say with which Python and which packages it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.terminal import say, shown
from outlast.cli.words import count, duration

if TYPE_CHECKING:
    from outlast.jobs.environment import Equipment

SETTINGS = ("python", "requirements", "extras", "setup")
SHOWN_MAX = 40
WARNINGS_MAX = 5


def environment_options(callback: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--requirements",
                "requirements",
                multiple=True,
                metavar="FILE",
                help="Install what this file lists into an environment of the job's own; repeatable.",
            ),
            click.option(
                "--extras",
                "extras",
                multiple=True,
                metavar="NAMES",
                help="The same with pyproject.toml's dependencies and these extras; repeatable.",
            ),
            click.option("--setup", metavar="SCRIPT", help="A script that prepares the environment, once per machine."),
            click.option("--python", metavar="VERSION", help="The Python to use: `3.11`, or a path."),
        )
    ):
        callback = option(callback)
    return callback


def environment_flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """As `load` takes them: what was not given is None."""
    extras = tuple(name.strip() for one in given.get("extras") or () for name in one.split(",") if name.strip())
    return {
        "python": given.get("python"),
        "requirements": tuple(given.get("requirements") or ()) or None,
        "extras": extras or None,
        "setup": given.get("setup"),
    }


def environment_asked(settings: Any) -> dict[str, Any]:
    """The fields of a request that these options fill."""
    return {name: settings[name] for name in SETTINGS}


def say_equipment(equipment: Equipment) -> None:
    """Which Python, which packages, and why."""
    python, environment = equipment.interpreter, equipment.environment
    if equipment.elsewhere:
        say(
            "Python: its machine's own, with the packages that it has: none are declared; `--python` asks for a version"
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
