"""Sweeps: what ten thousand cells cost before one of them runs, and after."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, interleaved, milliseconds, ratio_row, wall

CALIBAN_SECONDS = 0.114
"""Its own program over ten thousand cells, measured once."""


def rows(scratch: Path) -> Iterator[Row]:
    yield from expand()


def expand() -> Iterator[Row]:
    """From the document to a list of all cells; both sides make dicts of four keys."""
    from outlast.spec.sweep.expand import expansion

    document = {
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
