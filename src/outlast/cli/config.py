"""`outlast config`: each setting, and where it came from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from outlast.cli.app import Command
from outlast.cli.options import json_option
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, put_json, say, shown, width
from outlast.errors import EXIT_DONE, NotFound


@click.command("config", cls=Command, short_help="Show each setting, and where it came from.")
@click.option(
    "--trust", is_flag=True, help="Let this project's file say where data goes, as long as it stays as it is."
)
@json_option
def command(trust: bool, as_json: bool) -> int:
    """Show each setting and where it came from: a variable, the project's file, your own file, or the default.

    Flags win over variables (OUTLAST_HOME, ...), those over `outlast.toml` or `[tool.outlast]` of pyproject.toml, that
    over `config.toml` in your OUTLAST_DIR. The file of a repository may set `home` only after `outlast config --trust`.
    """
    from outlast.jobs.world import system_world
    from outlast.spec.load import load

    world = system_world()
    user_file = world.user_dir / "config.toml"
    if trust:
        _trust(world.user_dir)
    settings = load({}, os.environ, Path.cwd(), user_file)
    rows = []
    for name, found in settings.found.items():
        value = found.value if found.value is not None or name != "home" else world.home_url(None)
        rows.append({"name": name, "value": value, "source": found.source, "trusted": found.untrusted is None})
    if as_json:
        put_json(rows)
        return EXIT_DONE
    cells = [
        [str(row["name"]), _words(row), f"{_near(str(row['source']))}{'' if row['trusted'] else ' (not trusted)'}"]
        for row in rows
    ]
    first, *lines = render(("SETTING", "VALUE", "FROM"), cells, width=width(sys.stdout))
    put(paint(first, "bold", sys.stdout))
    for line in lines:
        put(line)
    if not all(row["trusted"] for row in rows):
        say(
            "this project's file says where data goes, and is not trusted; `outlast config --trust` says yes to it as it is"
        )
    return EXIT_DONE


def _trust(user_dir: Path) -> None:
    from outlast.spec.load import CALIBAN
    from outlast.spec.project import find_project_file
    from outlast.spec.trust import trust

    file = find_project_file(Path.cwd())
    paths = [file.path] if file is not None else []
    paths += [path for path in (Path.cwd() / CALIBAN,) if path.is_file()]
    if not paths:
        raise NotFound("there is no `outlast.toml` and no `[tool.outlast]` here to be trusted")
    for path in paths:
        trust(path, user_dir)
        say(f"`{shown(path)}` is trusted as it is now")


def _near(source: str) -> str:
    """A file of the directory that one stands in goes by its name, and one below the own directory begins with `~`."""
    for place, short in ((f"{Path.cwd()}/", ""), (os.path.expanduser("~/"), "~/")):
        if source.startswith(place):
            return f"{short}{source.removeprefix(place)}"
    return source


def _words(row: dict[str, Any]) -> str:
    value = row["value"]
    if row["name"] in ("max-run", "stall", "linger"):
        from outlast.spec.duration import format_duration

        return "measured" if value is None else format_duration(value)
    if isinstance(value, bool):
        return "true" if value else "false"  # as the file spells it
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return " ".join(value)
    return "" if value is None else str(value)
