"""What is computed of a sweep's records: counts, states, cost, order; with few reads, however many cells there are."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from outlast.errors import Damaged
from outlast.folder.folder import Folder
from outlast.folder.layout import SweepKeys
from outlast.folder.records import LaunchRecord, SweepLaunch
from outlast.folder.sweep import SweepFolder, decode_rows, encode_row
from outlast.folder.sweep_records import CellClaim, Grid, Row, Source, as_text
from outlast.results.sweep import Cell, best_of, counts_words, names_of, ranked, see, table
from outlast.spec.spec import Machine, Provenance, Spec, Sweep, Target, TargetKind
from outlast.store.memory import MemoryStore
from outlast.store.store import Stored

SPEC = Spec("lr", "lr", Target(TargetKind.SCRIPT, "train.py"), "b", "local", Provenance("/w"), 1.0, cells=Sweep())
LAUNCH = LaunchRecord(2, "id", "local", 1, Machine(), 1.0, 2.0, "b", cells=SweepLaunch(grids=1))


class Counting(MemoryStore):
    """Counts what is read."""

    reads = 0

    def get(self, key: str) -> Stored:
        self.reads += 1
        return super().get(key)


def folder_of(cells: int) -> Folder:
    folder = Folder(Counting(), "lr", Random(1))
    assert folder.create(SweepKeys("lr").grid(1), Grid(1, 1, cells, as_text({"lr": list(range(cells))})))
    return folder


def fill(folder: Folder, rows: list[Row], claims: list[int]) -> None:
    sweep = SweepFolder(folder)
    for start in range(0, len(rows), 1000):
        sweep.write_rows("m", start // 1000 + 1, rows[start : start + 1000])
    for cell in claims:
        assert sweep.claim(LAUNCH.launch, cell, 1, CellClaim("m", 0, 1.0))


def row(cell: int, state: str = "succeeded", launch: int = 2, **more: Any) -> Row:
    return Row(cell, state, launch, **more)


def test_nothing_is_read_per_cell() -> None:
    reads = []
    for cells in (20, 2000):
        folder = folder_of(cells)
        fill(folder, [row(cell, metrics={"loss": 1.0 / cell}) for cell in range(1, cells + 1)], [])
        assert isinstance(folder.store, Counting)
        folder.store.reads = 0
        seen = see(folder, SPEC, LAUNCH, final=True)
        assert len(table(seen, {})) == cells
        assert seen.counts().done == cells
        reads.append(folder.store.reads)
    assert reads == [2, 3], "the grid, and a segment for each thousand rows"


def test_states_follow_from_rows_and_claims() -> None:
    folder = folder_of(7)
    rows = [
        row(1),
        row(2, "failed"),
        row(3, "failed", launch=1),  # to be done again in this launch, and not begun yet
        row(4, "failed", launch=1),  # begun again
        row(5, "early", launch=1),
    ]
    fill(folder, rows, [1, 2, 4, 6])
    seen = see(folder, SPEC, LAUNCH, final=False)
    states = [seen.state(cell) for cell in range(1, 8)]
    assert states == ["succeeded", "failed", "waiting", "running", "early", "running", "waiting"]
    assert seen.counts().document() == {
        "total": 7,
        "done": 2,
        "failed": 1,
        "stopped": 0,
        "running": 2,
        "waiting": 2,
    }
    assert counts_words(seen.counts()) == "2 of 7 cells done, 1 failed, 2 running"
    ended = see(folder, SPEC, LAUNCH, final=True)
    assert [ended.state(cell) for cell in (3, 4, 6, 7)] == ["failed", "failed", "missing", "missing"]
    assert ended.counts().running == 0


def test_what_a_search_has_chosen_is_shown_in_the_order_of_its_file_also_by_commit() -> None:
    folder = Folder(Counting(), "lr", Random(1))
    document = {"zeta": {"float": [0, 1]}, "[mid,beta]": [[1, 2], [3, 4]], "alpha": "x"}
    source = Source("v1", "1" * 40, "b" * 64)
    assert folder.create(SweepKeys("lr").grid(1), Grid(1, 1, 2, as_text(document), sources=(source,)))
    chosen = {"alpha": "x", "beta": 2, "mid": 1, "zeta": 0.5}
    fill(folder, [row(1, params=chosen)], [])
    spec = replace(SPEC, cells=Sweep(search="tpe", metric="loss"))
    cells = table(see(folder, spec, LAUNCH, final=True), {})
    assert list(cells[0].params.items()) == [("zeta", 0.5), ("mid", 1), ("beta", 2), ("alpha", "x"), ("ref", "v1")]


def test_the_best_is_the_first_of_those_that_succeeded_and_logged_it() -> None:
    cells = [cell(1, loss=2.0), cell(2, loss=1.0), cell(3), cell(4, "failed", loss=0.1), cell(5, loss=float("nan"))]
    best = best_of(cells, "loss", "")
    assert best is not None and best.number == 2
    assert best_of(cells, "accuracy", "") is None


def test_with_rerun_none_what_has_failed_before_stays_so() -> None:
    folder = folder_of(2)
    fill(folder, [row(1, "failed", launch=1)], [])
    kept = replace(LAUNCH, cells=SweepLaunch(grids=1, failed_too=False))
    assert see(folder, SPEC, kept, final=False).state(1) == "failed"


def test_the_newest_row_of_a_cell_counts() -> None:
    folder = folder_of(2)
    fill(folder, [row(1, "failed", launch=1, usd=0.5), row(1, usd=0.75), row(2, turn=2, usd=2.0)], [])
    seen = see(folder, SPEC, LAUNCH, final=True)
    assert table(seen, {})[0].state == "succeeded"
    second = see(folder, SPEC, replace(LAUNCH, cells=SweepLaunch(grids=1, turn=2)), final=True)
    assert [cell.state for cell in table(second, {})] == ["missing", "succeeded"]


def test_cells_of_grids_that_the_launch_does_not_know_are_not_its_own() -> None:
    folder = folder_of(2)
    assert folder.create(SweepKeys("lr").grid(2), Grid(2, 3, 1, as_text({"lr": [9]})))
    assert see(folder, SPEC, LAUNCH, final=True).counts().cells == 2
    assert see(folder, SPEC, replace(LAUNCH, cells=SweepLaunch(grids=2)), final=True).counts().cells == 3


def cell(number: int, state: str = "succeeded", **metrics: float) -> Cell:
    return Cell(number, {}, state, metrics)


def test_the_best_come_first_by_the_metrics_name_or_as_said() -> None:
    cells = [cell(1, loss=2.0), cell(2, loss=1.0), cell(3), cell(4, "failed", loss=0.1), cell(5, loss=float("nan"))]
    assert [one.number for one in ranked(cells, "loss", "")] == [2, 1, 3, 5, 4]
    assert [one.number for one in ranked(cells, "loss", "max")] == [1, 2, 3, 5, 4]
    assert [one.number for one in ranked([cell(1, accuracy=0.1), cell(2, accuracy=0.9)], "accuracy", "")] == [2, 1]
    assert [one.number for one in ranked(cells, "", "")] == [1, 2, 3, 5, 4]


def test_names_come_in_the_order_in_which_they_are_met() -> None:
    assert names_of([{"b": 1}, {"b": 1, "a": 2}, {"c": 3}]) == ["b", "a", "c"]


def test_rows_are_read_as_they_were_written_and_fields_of_later_versions_are_passed_over() -> None:
    rows = [row(1, metrics={"z": 1.0, "a": 2.0}, reason="a\u2028b\nc"), row(2, "early", usd=0.5)]
    data = b"".join(map(encode_row, rows))
    assert decode_rows(data, "k") == rows
    assert list(decode_rows(data, "k")[0].metrics) == ["z", "a"]
    assert decode_rows(b'{"cell":3,"state":"failed","launch":1,"later":[1]}\n', "k") == [row(3, "failed", launch=1)]
    assert decode_rows(b"", "k") == []
    for torn in (data[:-20], b"[1]\n", b'{"cell":3}\n', b"\xff\n", b'{"cell":3,"state":"failed","launch":1},\n'):
        with pytest.raises(Damaged):
            decode_rows(torn, "jobs/lr/rows/m-1")
