"""Sweeps: what ten thousand cells cost before one of them runs, and after."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from bench.measure import (
    ROUNDS,
    Row,
    clean_environment,
    command,
    excess_cpu_row,
    interleaved,
    limit_row,
    milliseconds,
    ratio_row,
    wall,
)
from outlast.folder.home import Home
from outlast.folder.sweep import ROWS_MAX, SweepFolder
from outlast.folder.sweep_records import CellClaim
from outlast.folder.sweep_records import Row as SweepRow
from outlast.store.registry import open_store

CELLS = 10_000
EMPTY_CELLS = 1000
CALIBAN_SECONDS = 0.114
"""Its own program over ten thousand cells, measured once."""


def rows(scratch: Path) -> Iterator[Row]:
    yield from expand()
    yield from one_thing(scratch)
    yield empty_cells(scratch / "empty")


def expand() -> Iterator[Row]:
    """From the document to a list of all cells; both sides make dicts of four keys."""
    from outlast.spec.sweep.expand import expansion

    document: dict[str, list[object]] = {
        "learning_rate": [x / 10 for x in range(10)],
        "depth": list(range(10)),
        "act": list("abcdefghij"),
        "seed": list(range(10)),
    }

    def plain() -> list[dict[str, object]]:
        return [dict(zip(document, chosen, strict=True)) for chosen in itertools.product(*document.values())]

    assert len(list(expansion(document, "grid.json"))) == len(plain()) == 10_000
    taken = interleaved({"ours": wall(lambda: list(expansion(document, "grid.json"))), "plain": wall(plain)}, rounds=30)
    yield ratio_row("expand 10,000 cells", taken["ours"], taken["plain"], "`itertools.product` to dicts", 2)
    share = taken["ours"] / CALIBAN_SECONDS
    yield Row(
        "expand 10,000 cells",
        milliseconds(taken["ours"]),
        f"caliban's, once: {milliseconds(CALIBAN_SECONDS)}",
        f"{share:.2f}x",
        "1/7",
        share <= 1 / 7,
    )


def one_thing(scratch: Path) -> Iterator[Row]:
    """Submitted in a directory home, and looked at when all of its cells have ended."""
    work = scratch / "work"
    work.mkdir()
    (work / "train.py").write_text("print('trained')\n")
    (work / "grid.json").write_text(json.dumps({"lr": [x / 1000 for x in range(100)], "depth": list(range(100))}))
    environment = clean_environment(scratch)
    names = [f"cells-{number}" for number in range(ROUNDS)]
    outlast = [sys.executable, "-m", "outlast.cli"]

    def call(*words: str) -> Callable[[], object]:
        return command([*outlast, *words], cwd=work, env=environment)

    taken = []
    for name in names:
        submit = call("run", "--detach", "--yes", "--sweep", "grid.json", "--name", name, "train.py")
        taken.append(wall(submit)())
        call("stop", name)()
    yield limit_row("submit 10,000 cells, directory home", statistics.median(taken), 0.5, milliseconds)

    fill(str(scratch / "outlast" / "home"), names[0], CELLS)
    for words in (
        ("show", names[0]),
        ("show", names[0], "--json"),
        ("results", names[0]),
        ("results", names[0], "--csv"),
    ):
        seconds = interleaved({"ours": wall(call(*words))})["ours"]
        yield limit_row(f"`{' '.join([words[0], *words[2:]])}` of 10,000 cells", seconds, 0.5, milliseconds)


def empty_cells(work: Path) -> Row:
    """On two cores, with a supervisor of their own: one that is there already would not be counted."""
    work.mkdir()
    (work / "empty.py").write_text("")
    (work / "grid.json").write_text(json.dumps({"n": list(range(EMPTY_CELLS))}))
    environment = {**clean_environment(work), "OUTLAST_SUPERVISOR_IDLE_SECONDS": "1"}
    sweep = ["run", "--yes", "--sweep", "grid.json", "--parallel", "2", "--name", "empty", "empty.py"]
    return excess_cpu_row(
        f"{EMPTY_CELLS:,} empty cells on two cores, CPU per cell",
        [sys.executable, "-m", "outlast.cli", *sweep],
        EMPTY_CELLS,
        work,
        environment,
    )


def fill(home: str, name: str, cells: int) -> None:
    """As if a machine had claimed all cells, and brought them to their end."""
    folder = Home(open_store(home), Random(1)).folder(name)
    sweep, launch, now = SweepFolder(folder), folder.read_head().head.launch, folder.store.now()
    begun = sweep.claims(launch)
    for first in range(1, cells + 1, ROWS_MAX):
        sweep.write_rows(
            "filled-0-1", first // ROWS_MAX + 1, [ended(cell, launch, now) for cell in range(first, first + ROWS_MAX)]
        )
    for cell in range(1, cells + 1):
        if cell not in begun:
            sweep.claim(launch, cell, 1, CellClaim("filled-0-1", 0, now))


def ended(cell: int, launch: int, now: float) -> SweepRow:
    metrics = {"loss": 1 / cell, "accuracy": 1 - 1 / cell}
    return SweepRow(
        cell,
        "succeeded",
        launch,
        started_at=now - 60,
        ended_at=now,
        seconds=60.0,
        attempts=1,
        step=100,
        exit_code=0,
        usd=0.01,
        metrics=metrics,
    )
