"""The rows of a worker reach the home whole, whatever becomes of the answers to its writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outlast.agent import sweep_rows
from outlast.agent.sweep_rows import Rows
from outlast.errors import StoreUnavailable
from outlast.folder.sweep_records import Row
from outlast.spec.spec import Sweep
from outlast.store.memory import MemoryStore
from tests.sweep_search.parts import HandClock, Home

MACHINE = "1a2b-0-1"


class Late(MemoryStore):
    """A write that it is told to hold back arrives when the test likes; whoever sent it has no answer."""

    hold = False
    late: Callable[[], object] = staticmethod(lambda: None)

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if self.hold:
            self.hold = False
            self.late = lambda: MemoryStore.put(self, key, data, if_generation=if_generation)
            raise StoreUnavailable("lost")
        return super().put(key, data, if_generation=if_generation)


@pytest.fixture
def store() -> Late:
    return Late(clock=HandClock())


@pytest.fixture
def home(store: Late) -> Home:
    return Home(Sweep(), 9, store=store)


def written(rows: Rows, *cells: int) -> None:
    for cell in cells:
        rows.add(Row(cell, "succeeded", 1, 1))
    rows.write()


def test_a_write_that_arrives_late_takes_no_row_away(home: Home, store: Late) -> None:
    rows = Rows(home.sweep, MACHINE, home.clock)
    written(rows, 1, 2)
    store.hold = True
    with pytest.raises(StoreUnavailable):
        written(rows, 3)
    written(rows, 4)
    written(rows, 5)
    store.late()
    assert sorted(home.sweep.rows(1)) == [1, 2, 3, 4, 5]


def test_the_next_life_of_an_agent_leaves_the_last_ones_rows_alone(home: Home, store: Late) -> None:
    written(Rows(home.sweep, MACHINE, home.clock), 1, 2)
    written(Rows(home.sweep, MACHINE, home.clock), 3)
    assert sorted(home.sweep.rows(1)) == [1, 2, 3]
    assert sorted(home.sweep.segment_numbers(MACHINE)) == [1, 2]


def test_a_full_segment_is_not_written_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_rows, "ROWS_MAX", 2)
    rows = Rows(home.sweep, MACHINE, home.clock)
    for cell in range(1, 6):
        written(rows, cell)
    segments = home.sweep.segments(MACHINE)
    assert {number: [row.cell for row in segment] for number, segment in segments.items()} == {
        1: [1, 2],
        2: [3, 4],
        3: [5],
    }
