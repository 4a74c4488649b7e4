"""`outlast jobs`, with its filters."""

from __future__ import annotations

import click

from outlast.cli.app import Command
from outlast.cli.listing import STATES, list_all
from outlast.cli.options import TEXT, home_option, json_option, whole
from outlast.spec.names import check_label


@click.command(
    "jobs", cls=Command, short_help="List jobs, the newest first.", aliases={"xgroup": "name", "max-jobs": "limit"}
)
@click.option("--running", is_flag=True, help="Only jobs that run or wait.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    metavar="STATE",
    help="Only jobs in this state, such as `failed`; repeatable.",
)
@click.option(
    "--label", "-l", "labels", multiple=True, metavar="KEY=VALUE", help="Only jobs with this label; repeatable."
)
@click.option("--name", type=TEXT, metavar="NAME", help="Only jobs of this name, or the sweep.")
@click.option(
    "--limit",
    type=whole(0),
    metavar="N",
    help="The newest N, and what has not ended; `0`: all. 50 if not said, with --json all.",
)
@click.option("--watch", is_flag=True, help="Keep the list fresh until q or Ctrl-C; with --json a line per change.")
@home_option
@json_option
def command(
    running: bool,
    states: tuple[str, ...],
    labels: tuple[str, ...],
    name: str | None,
    limit: int | None,
    watch: bool,
    home: str | None,
    as_json: bool,
) -> int:
    """List jobs, the newest first, from all homes that you have used."""
    if watch:
        from outlast.cli.watching import watch_jobs
        from outlast.jobs.list import list_all_jobs
        from outlast.jobs.world import system_world

        world = system_world()
        wanted = dict(check_label(label) for label in labels)
        return watch_jobs(
            lambda: list_all_jobs(world, home=home, running=running, states=states, labels=wanted, name=name or ""),
            world.clock,
            world.now_at,
            as_json=as_json,
            limit=limit,
        )
    return list_all(
        running=running,
        states=states,
        labels=dict(check_label(label) for label in labels),
        name=name or "",
        home=home,
        as_json=as_json,
        limit=limit,
    )
