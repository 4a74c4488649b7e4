"""`outlast catalog`: what can be rented, where, and for how much."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.edge import note
from outlast.cli.options import home_option, json_option
from outlast.cli.setting_option import setting_option
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, put_json, say, width
from outlast.cli.words import count
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.catalog import Listed

KINDS = ("gpus", "machines", "regions", "images")
NOUNS = {
    "gpus": "type",
    "places": "region",
    "machines": "machine",
    "regions": "region",
    "zones": "zone",
    "images": "family",
}


@click.command("catalog", cls=Command, short_help="Show what can be rented, where, and for how much.")
@click.argument("kind", type=click.Choice(KINDS), default="gpus", metavar="[gpus|machines|regions|images]")
@click.option("--region", metavar="REGION", default="", help="What this region has; of `regions` its zones.")
@click.option("--gpus", metavar="TYPE", default="", help="Only what has this GPU or TPU: `L4`, `2xL4`, `v5e`.")
@click.option("--refresh", is_flag=True, help="Read Google's own lists first; they are used from then on.")
@setting_option("project", "PROJECT", "The project that asks Google; your own if not said.")
@home_option
@json_option
def command(
    kind: str, region: str, gpus: str, refresh: bool, project: str | None, home: str | None, as_json: bool
) -> int:
    """Show GPUs and TPUs, machines, regions or images that `outlast run --on compute` can rent, the cheapest first.

    Prices are US dollars an hour, as Spot and on demand, without disk and address; `~` marks an estimate. A table ships with the
    tool; `--refresh` reads the newest one from Google. `machines` and `regions` also say what your own jobs have met there: how often
    there was no capacity, and how long machines have lived.
    """
    from outlast.jobs.catalog import Asked, listed, refresh_catalog
    from outlast.jobs.world import system_world

    world = system_world()
    if refresh:
        from outlast.cli.progress import shown_progress

        with shown_progress() as on_progress:
            for line in refresh_catalog(world, {"project": project, "region": region or None}, gpus, on_progress):
                note(line)
    found = listed(world, Asked(kind, region, gpus, home))
    for line in found.notes:
        note(line)
    if as_json:
        put_json(found.document)
        return EXIT_DONE
    _print(found)
    say(_words(found))
    return EXIT_DONE


def _print(found: Listed) -> None:
    from outlast.cli.catalog_rows import COLUMNS, cells

    header, right = COLUMNS[found.view]
    if not found.rows:
        return
    first, *lines = render(header, [cells(found.view, row) for row in found.rows], width=width(sys.stdout), right=right)
    put(paint(first, "bold", sys.stdout))
    for line in lines:
        put(line)


def _words(found: Listed) -> str:
    document: dict[str, Any] = found.document
    rows = count(len(found.rows), NOUNS[found.view]).replace("familys", "families")
    if found.view in ("images", "zones"):  # without prices
        return f"{rows}, as of {document['dated']}"
    whose = "as Google lists them" if document["refreshed"] else "as they ship with outlast"
    estimates = "; `~`: an estimate" if any(row.get("estimated") for row in found.rows) else ""
    return f"{rows}; $ per hour, prices of {document['dated']}, {whose}{estimates}"
