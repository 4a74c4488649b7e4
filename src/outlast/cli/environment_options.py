"""The options of a command that takes a target which say with which Python and which packages it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

SETTINGS = ("python", "requirements", "extras", "setup")


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
