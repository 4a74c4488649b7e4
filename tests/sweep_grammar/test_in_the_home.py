"""The cells that machines see are those that were printed: a record of a sweep keeps the order of its document."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from outlast.folder.cells import Cells
from outlast.folder.sweep_records import Grid, Source, as_text
from outlast.spec.record import decode, encode
from outlast.spec.spec import Sweep
from tests.sweep_grammar import plain
from tests.sweep_grammar.plain import UNHURRIED


@UNHURRIED
@given(plain.DOCUMENTS)
def test_a_record_gives_back_the_cells_in_their_order_with_the_scripts_arguments_first(document: Any) -> None:
    wanted = plain.expand(document)
    written = Grid(1, 1, len(wanted), as_text(document), ("--base", "1"))
    read = decode(Grid, encode(written), "jobs/s/grids/000001.json")
    cells = Cells([read], Sweep())
    assert [list(cells.args(cell)) for cell in cells] == [["--base", "1", *plain.flags(cell)] for cell in wanted]


def test_keys_that_are_not_in_the_order_of_the_alphabet_stay_as_they_are() -> None:
    document = {"z": [1, 2], "[m,b]": [[3, 4], [5, 6]], "a": True}
    read = decode(Grid, encode(Grid(1, 1, 4, as_text(document))), "k")
    cells = Cells([read], Sweep())
    assert cells.args(2) == ("--z", "2", "--m", "3", "--b", "4", "--a")
    assert cells.args(3) == ("--z", "1", "--m", "5", "--b", "6", "--a")


def test_a_search_tries_each_point_with_every_commit() -> None:
    document = {"lr": {"log": [1e-5, 1e-1]}, "seed": 1}
    sources = (Source("v1", "1" * 40, "a" * 64), Source("v2", "2" * 40, "b" * 64))
    fewer, more = (
        Cells([Grid(1, 1, count, as_text(document), sources=sources)], Sweep(search="random")) for count in (4, 6)
    )
    assert [fewer.params(cell)["ref"] for cell in fewer] == ["v1", "v2", "v1", "v2"]
    assert [fewer.bundle(cell)[0] for cell in fewer] == ["a", "b", "a", "b"]
    assert fewer.args(1) == fewer.args(2) != fewer.args(3) == fewer.args(4)
    assert [more.params(cell) for cell in fewer] == [fewer.params(cell) for cell in fewer]
    grid = Cells([Grid(1, 1, 4, as_text({"z": [1, 2]}), sources=sources)], Sweep())
    assert [(grid.params(cell)["ref"], grid.args(cell)[1]) for cell in grid] == [
        ("v1", "1"),
        ("v1", "2"),
        ("v2", "1"),
        ("v2", "2"),
    ]
