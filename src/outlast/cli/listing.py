"""`outlast jobs`: one line per job, the newest first."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from outlast.cli.progress import shown_progress
from outlast.cli.table import GAP, columns, render
from outlast.cli.terminal import colour_allowed, paint, put, say, shown, width
from outlast.cli.words import age, money
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.remembered import Listed

NowAt = Callable[[str], float]
"""What time it is in the home in which this folder lies: what it says of times is by that clock."""

LIMIT_DEFAULT = 50
"""How many a person is shown at once."""

ADRIFT_SAID_MAX = 8
ENDED = frozenset(("succeeded", "failed", "stopped", "expired", "damaged"))
STATES = (
    "submitted",
    "waiting",
    "starting",
    "running",
    "stopping",
    "succeeded",
    "failed",
    "stopped",
    "expired",
    "damaged",
)
HEADER = ("JOB", "STATE", "STEP", "ATTEMPTS", "SUBMITTED", "ON", "TARGET")
HEADER_WITH_COST = (*HEADER[:-1], "COST", HEADER[-1])
NUMBERS = (2, 3)
NUMBERS_WITH_COST = (*NUMBERS, 6)
TARGET_WIDTH_ENOUGH = 8
COLOUR_OF_STATE = {
    "succeeded": "green",
    "running": "blue",
    "failed": "red",
    "expired": "red",
    "stopped": "yellow",
    "stopping": "yellow",
}


def list_all(
    *,
    running: bool = False,
    states: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    name: str = "",
    home: str | None = None,
    as_json: bool = False,
    limit: int | None = None,
) -> int:
    from outlast.jobs.list import is_half, list_all_jobs
    from outlast.jobs.world import system_world

    world = system_world()
    with shown_progress() as on_progress:
        jobs = list_all_jobs(
            world, home=home, running=running, states=states, labels=labels or {}, name=name, on_progress=on_progress
        )
    for url, why in world.away.items():
        say(f"home `{shown(url)}` could not be read: {shown(why)}")
    for one in jobs if world.ailing else ():
        if one.job in world.ailing:
            say(f"{one.job} is running, {shown(world.ailing[one.job])}")
    if world.adrift:
        _say_adrift([one for one in jobs if one.row()["folder"] in world.adrift], world.adrift)
    if as_json:
        put_raw(one.raw for one in (jobs[:limit] if limit else jobs))
    elif jobs:
        shown_ones = newest(jobs, LIMIT_DEFAULT if limit is None else limit)
        _print([one.row() for one in shown_ones], world.now_at)
        if len(shown_ones) < len(jobs):
            say(
                f"and {len(jobs) - len(shown_ones):,} that ended before; `outlast jobs --limit 0` lists all {len(jobs):,}"
            )
        for one in filter(is_half, shown_ones):
            again = f"`outlast run --job-id {one.job} ...` submits it again, `outlast delete {one.job}` removes it"
            say(f"the submit of {one.job} was not completed: nothing of it runs; {again}")
    else:
        _say_none(filtered=bool(running or states or labels or name))
    return EXIT_DONE


def _say_adrift(jobs: Sequence[Listed], files: Mapping[str, tuple[str, ...]]) -> None:
    for one in jobs[:ADRIFT_SAID_MAX]:
        where, does, places = "", "goes on", files[one.row()["folder"]]
        if one.state == "running" and places:
            place = places[0] if len(places) == 1 else os.path.dirname(places[0])
            where, does = f", and until then all that it saves is in `{shown(place)}` alone", "commits"
        say(
            f"{one.job} is {one.state} on this computer, and {shown(one.row()['why'])}: it {does} when that is back{where}; "
            f"`outlast stop {one.job}` ends it without"
        )
    if len(jobs) > ADRIFT_SAID_MAX:
        say(f"and {len(jobs) - ADRIFT_SAID_MAX:,} more whose home is not there")


def newest(jobs: Sequence[Listed], limit: int) -> Sequence[Listed]:
    """The newest so many, and whatever else has not ended; 0: all."""
    if not limit or len(jobs) <= limit:
        return jobs
    return [*jobs[:limit], *(one for one in jobs[limit:] if one.state not in ENDED)]


def put_raw(rows: Iterable[bytes]) -> None:
    """A list of objects that are JSON already, without decoding a hundred thousand of them."""
    sys.stdout.write(f"[{b', '.join(rows).decode('ascii')}]\n")
    sys.stdout.flush()


def _print(rows: Sequence[Mapping[str, Any]], now_at: NowAt) -> None:
    put("\n".join(table_lines(rows, now_at)))


def table_lines(rows: Sequence[Mapping[str, Any]], now_at: NowAt) -> list[str]:
    """The header, and a line for each. The counts of sweeps are said in as many words as there is room for."""
    ages = [age(row["submitted_at"], now_at(row["folder"])) for row in rows]
    with_cost = any(row.get("cost_usd") or row.get("usd_per_hour") for row in rows)  # nobody rents: nobody asks
    header, right = (HEADER_WITH_COST, NUMBERS_WITH_COST) if with_cost else (HEADER, NUMBERS)
    room = width(sys.stdout)
    words = _COUNTS[0]
    for words in _COUNTS:
        cells = [_cells(row, ago, words, with_cost=with_cost) for row, ago in zip(rows, ages, strict=True)]
        if room is None or _narrowest(header, cells) <= room:
            break
    whole = (*right, header.index("STATE"), header.index("SUBMITTED"))
    first, *lines = render(header, cells, width=room, right=right, whole=whole)
    if colour_allowed(sys.stdout):
        lines = [_coloured(line, row["state"]) for row, line in zip(rows, lines, strict=True)]
    return [paint(first, "bold", sys.stdout), *lines]


def _narrowest(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """With a target of which one sees enough to know it."""
    widths = [max(map(columns, column)) for column in zip(header, *rows, strict=True)]
    return sum(widths[:-1]) + min(widths[-1], TARGET_WIDTH_ENOUGH) + len(GAP) * (len(header) - 1)


def _cells(row: Mapping[str, Any], ago: str, words: Counted, *, with_cost: bool) -> list[str]:
    step = "" if row["step"] is None else f"{row['step']:,}"
    return [
        row["job"],
        row["state"],
        words(row["cells"]) if row.get("cells") else step,
        f"{row['attempts']:,}",
        ago,
        row["engine"] or "",
        *((money(row.get("cost_usd") or 0.0),) if with_cost else ()),
        _target(row),
    ]


def _in_words(cells: Mapping[str, int]) -> str:
    noun = "cell" if cells["total"] == 1 else "cells"
    return ", ".join([f"{cells['done']:,} of {cells['total']:,} {noun}", *_others(cells)])


def _in_short(cells: Mapping[str, int]) -> str:
    return ", ".join([f"{cells['done']:,}/{cells['total']:,}", *_others(cells)])


def _in_numbers(cells: Mapping[str, int]) -> str:
    return f"{cells['done']:,}/{cells['total']:,}"


def _others(cells: Mapping[str, int]) -> list[str]:
    return [f"{cells[name]:,} {name}" for name in ("failed", "stopped", "running") if cells[name]]


Counted = Callable[[Mapping[str, int]], str]
_COUNTS: tuple[Counted, ...] = (_in_words, _in_short, _in_numbers)


def _coloured(line: str, state: str) -> str:
    """The state's word in its colour, where it stands behind the job's."""
    colour = COLOUR_OF_STATE.get(state)
    return line if colour is None else line.replace(f" {state}", f" {paint(state, colour, sys.stdout)}", 1)


def _say_none(*, filtered: bool) -> None:
    if filtered:
        say("no job is like that; `outlast jobs` lists all of them")
    else:
        say("no job yet; `outlast run train.py` makes one")


def _target(row: Mapping[str, Any]) -> str:
    words: str = row["target"] or row.get("why") or ""
    if not row["args"]:
        return words
    from outlast.cli.typed import quoted

    return f"{words} {quoted(row['args'])}"
