"""`outlast expand`: the cells that a sweep's file means, without running any."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from outlast.cli.app import Command
from outlast.cli.edge import note
from outlast.cli.options import whole
from outlast.cli.terminal import put
from outlast.errors import EXIT_DONE, UsageError

CELLS_AT_ONCE = 256
"""Written together: a line at a time would be a system call each."""


@click.command(
    "expand",
    cls=Command,
    short_help="Print the cells of a sweep's file.",
    aliases={"print-flags": "flags"},
)
@click.argument("source", metavar="FILE|stdin")
@click.option("--flags", "as_flags", is_flag=True, help="One line of flags for each cell, as its script is given them.")
@click.option("--pprint", "pretty", is_flag=True, help="The JSON indented, for people.")
@click.option("--count", "only_count", is_flag=True, help="Only how many cells there are.")
@click.option("--search", metavar="random|sobol", help="FILE holds ranges: the cells of this search.")
@click.option("--trials", type=whole(1), metavar="N", help="With --search: how many.")
@click.option("--seed", type=whole(0), metavar="N", help="With --search: other numbers, other cells; 0 if not said.")
def command(
    source: str,
    as_flags: bool,
    pretty: bool,
    only_count: bool,
    search: str | None,
    trials: int | None,
    seed: int | None,
) -> int:
    """Print the cells of a sweep as a JSON list, the first key changing fastest.

    FILE is JSON with comments, *.toml or *.yaml; `stdin` reads what is piped in, JSON too. What is printed can be piped back: to
    `outlast expand stdin`, or to `outlast run --sweep stdin`.
    """
    from outlast.cli.dashed_keys import note_dashes
    from outlast.spec.sweep.read import read_document

    _check(search, trials, seed)
    document = read_document(source, sys.stdin)
    cells, count = _searched(document, source, search, trials, seed or 0) if search else _expanded(document, source)
    note_dashes(document, source)
    if only_count:
        put(str(count))
        return EXIT_DONE
    if not count:
        note("there is no cell: every configuration has a list without values, or there is no configuration")
    _put_all(_flag_lines(cells) if as_flags else _json_pieces(cells, pretty))
    return EXIT_DONE


def _check(search: str | None, trials: int | None, seed: int | None) -> None:
    """What cannot be meant together."""
    hint = "`--search random` or `--search sobol`"
    if search is None and (trials is not None or seed is not None):
        raise UsageError(f"`--{'trials' if trials is not None else 'seed'}` belongs to a search", hint=hint)
    if search == "tpe":
        raise UsageError(
            "`tpe` chooses each cell by what the cells before it have found: nobody knows them yet", hint=hint
        )
    if search not in (None, "random", "sobol"):
        raise UsageError(f"there is no search `{search}` here", hint=hint)


def _expanded(document: Any, source: str) -> tuple[Iterable[dict[str, Any]], int]:
    from outlast.spec.sweep.expand import expansion

    found = expansion(document, source)
    return found, found.cell_count


def _searched(
    document: Any, source: str, search: str, trials: int | None, seed: int
) -> tuple[Iterable[dict[str, Any]], int]:
    from outlast.spec.sweep.space import space

    if trials is None:
        raise UsageError(
            "a search has no end of its own", hint=f"`outlast expand --search {search} --trials 20 {source}`"
        )
    found = space(document, source)
    point = found.random if search == "random" else found.sobol
    return (point(seed, index) for index in range(trials)), trials


def _flag_lines(cells: Iterable[dict[str, Any]]) -> Iterator[str]:
    from outlast.cli.typed import quoted
    from outlast.spec.sweep.flags import to_flags

    for cell in cells:
        yield quoted(to_flags(cell)) + "\n"


def _json_pieces(cells: Iterable[dict[str, Any]], pretty: bool) -> Iterator[str]:
    """One document, cell by cell."""
    import json

    indent = 2 if pretty else None
    before, between, after = ("[\n  ", ",\n  ", "\n]\n") if pretty else ("[", ", ", "]\n")
    first = True
    for cell in cells:
        # A value that is a list would be several when it is piped back: as the only one of a list it stays one.
        whole_values = {key: [value] if isinstance(value, list) else value for key, value in cell.items()}
        text = json.dumps(whole_values, indent=indent)
        yield (before if first else between) + (text.replace("\n", "\n  ") if pretty else text)
        first = False
    yield "[]\n" if first else after


def _put_all(pieces: Iterator[str]) -> None:
    from itertools import islice

    while some := list(islice(pieces, CELLS_AT_ONCE)):
        sys.stdout.write("".join(some))
