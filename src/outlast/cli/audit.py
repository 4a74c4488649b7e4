"""`outlast audit`: what is paid for, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.edge import note, note_away
from outlast.cli.options import home_option, json_option
from outlast.cli.table import render
from outlast.cli.terminal import put, put_json, say, width
from outlast.cli.words import age, count, duration
from outlast.errors import EXIT_DONE, EXIT_LEAK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from outlast.jobs.audit import Audit, Judged


@click.command("audit", cls=Command, short_help="Show what is paid for; find what has leaked.")
@click.option("--project", metavar="PROJECT", default="", help="The project to look through; your own if not said.")
@click.option("--fix", is_flag=True, help="Remove what has leaked.")
@home_option
@json_option
def command(project: str, fix: bool, home: str | None, as_json: bool) -> int:
    """Look through every region for machines, disks, groups and images of outlast's, and compare them with your homes.

    What belongs to a job that has not ended is needed. What belongs to none has leaked, and the exit code is 9: `--fix` removes it. Images
    stay until you delete them. Nothing is changed without `--fix`.
    """
    from outlast.jobs.audit import audit
    from outlast.jobs.world import system_world

    world = system_world()
    found = audit(world, project, home, fix=fix)
    note_away(found.away)
    for name, why in found.failed.items():
        note(f"`{name}` could not be removed: {why}")
    if found.usd_per_hour:
        from outlast.catalog.answers import stale
        from outlast.catalog.table import catalog

        if old := stale(catalog(world.environ), world.clock.now()):
            note(old)
    if as_json:
        put_json(_document(found))
    else:
        _print(found, found.now)
    if found.removed:
        say(f"removed {', '.join(f'{item.found.kind} `{item.found.name}`' for item in found.removed)}")
    say(_words(found))
    return EXIT_LEAK if found.leaks else EXIT_DONE


def _words(found: Audit) -> str:
    paid = [item for item in found.items if item.found.usd_per_hour or item.found.unpriced]
    leaks = found.leaks
    if leaks:
        return f"{count(len(leaks), 'leak')}, {_hourly(leaks)}: `outlast audit --fix` removes what has leaked"
    if not paid:
        return "nothing is paid for"
    return f"{_hourly(paid)} for {count(len(paid), 'thing')}; nothing has leaked"


def _hourly(items: Sequence[Judged]) -> str:
    """A machine whose price nobody here knows is not free."""
    least = "at least " if any(item.found.unpriced for item in items) else ""
    usd = sum(item.found.usd_per_hour for item in items)
    return f"{least}${usd:.3f} an hour" if usd >= 0.0005 or least or not usd else "under $0.001 an hour"


def _print(found: Audit, now: float) -> None:
    items = [item for item in found.items if item.found.kind != "template" or item.verdict.value == "litter"]
    if not items:
        return
    rows = [_row(item, now) for item in items]
    for line in render(
        ("KIND", "NAME", "WHERE", "$/HOUR", "AGE", "IS", "WHY"), rows, width=width(sys.stdout), right=(3,)
    ):
        put(line)


def _row(item: Judged, now: float) -> list[str]:
    found = item.found
    known = f"{found.usd_per_hour:.3f}" if found.usd_per_hour else ""
    usd = f"{known} + ?".removeprefix(" + ") if found.unpriced else known or "-"
    return [found.kind, found.name, found.place, usd, age(found.made_at, now), item.verdict.value, _why(item, now)]


def _why(item: Judged, now: float) -> str:
    """A builder whose command was killed cannot be told from one that somebody waits for: both go by themselves."""
    left = item.found.until_at - now
    if item.found.kind != "machine" or left <= 0:
        return item.why
    return f"{item.why}; its provider deletes it in {duration(left)} at the latest"


def _document(found: Audit) -> dict[str, Any]:
    return {
        "usd_per_hour": found.usd_per_hour,
        "unpriced": sum(1 for item in found.items if item.found.unpriced),
        "leaks": len(found.leaks),
        "items": [_item(item) for item in found.items],
        "removed": [_item(item) for item in found.removed],
    }


def _item(item: Judged) -> dict[str, Any]:
    found = item.found
    return {
        "engine": item.engine,
        "kind": found.kind,
        "name": found.name,
        "place": found.place,
        "usd_per_hour": None if found.unpriced else found.usd_per_hour,
        "made_at": found.made_at,
        "until_at": found.until_at or None,
        "job": found.job or None,
        "launch_id": found.launch or None,
        "detail": found.detail,
        "verdict": item.verdict.value,
        "why": item.why,
    }
