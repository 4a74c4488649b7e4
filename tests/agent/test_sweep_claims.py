"""Which cell is next: nearly in the order of the grid, none left out; and the end of a sweep, which is written over nobody's words."""

from __future__ import annotations

from outlast.agent.bench import Leaving
from outlast.agent.sweep_claims import Claims
from outlast.folder import life
from outlast.folder.folder import Folder
from outlast.folder.records import State
from outlast.store.memory import MemoryStore
from tests.agent.test_sweep_worker import run, station_of, sweep_of
from tests.sweep_search.parts import HandClock

CELLS = 40


def test_a_worker_takes_the_first_cells_that_are_free_nearly_in_order_and_leaves_none_out() -> None:
    home = sweep_of(CELLS)
    claims = Claims(station_of(home))
    claims.learn()
    taken = []
    while (held := claims.next()) is not None:
        taken.append(held.cell)
    assert sorted(taken) == list(range(1, CELLS + 1))
    begun: set[int] = set()
    for cell in taken:
        before = set(range(1, cell)) - begun
        assert len(before) < home.launch.workers, f"{cell} was taken, and {sorted(before)} were free"
        begun.add(cell)


class Overtaken(MemoryStore):
    """Somebody writes the sweep's head in the moment before its worker does."""

    folder: Folder | None = None

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if (folder := self.folder) is not None and key == folder.keys.head:
            self.folder = None
            at = folder.read_head()
            assert folder.swap(at, life.edited(at.head, "1", at.head.bundle, 0), "by another") is not None
        return super().put(key, data, if_generation=if_generation)


def test_a_worker_whose_last_word_came_too_late_looks_again_before_it_ends_the_launch() -> None:
    store = Overtaken(clock=HandClock())
    home = sweep_of(2, store=store)
    store.folder = home.folder
    assert run(home) is Leaving.DONE
    head = home.folder.read_head().head
    assert (head.state, head.edit) == (State.SUCCEEDED, "1")
