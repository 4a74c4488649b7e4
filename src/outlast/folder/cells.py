"""The cells of a sweep: which parameters, which arguments, which code each of them has. Computed from the grids, never stored."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outlast.folder.sweep_records import Grid, Source
from outlast.spec.spec import Sweep
from outlast.spec.sweep.expand import Expansion, expansion
from outlast.spec.sweep.flags import to_flags
from outlast.spec.sweep.space import Space, space

CHOSEN = "tpe"
"""The search whose parameters depend on what other cells have found: they are written down when they are chosen."""


class Cells:
    """Counted from 1, over all grids."""

    def __init__(self, grids: Sequence[Grid], sweep: Sweep) -> None:
        self._grids = tuple(grids)
        self._firsts = [grid.first for grid in self._grids]
        self._sweep = sweep
        self._expansions: dict[int, Expansion] = {}
        self._spaces: dict[int, Space] = {}

    def __len__(self) -> int:
        return sum(grid.cells for grid in self._grids)

    def __iter__(self) -> Any:
        return iter(range(1, len(self) + 1))

    @property
    def grids(self) -> tuple[Grid, ...]:
        return self._grids

    @property
    def chosen(self) -> bool:
        """Parameters are chosen while the sweep runs."""
        return self._sweep.search == CHOSEN

    def params(self, cell: int, trial: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """`trial`: what the search has chosen, where it depends on other cells."""
        grid, index = self._place(cell)
        if not self._sweep.search:
            found: Mapping[str, Any] = self._expansion(grid)[index % self._width(grid)]
        elif self.chosen:
            found = {name: trial[name] for name in self.space(grid).names() if name in trial} if trial else {}
        else:
            sample = getattr(self.space(grid), self._sweep.search)
            found = sample(self._sweep.seed, index // max(1, len(grid.sources)))
        return {**found, "ref": self._source(grid, index).ref} if grid.sources else found

    def args(self, cell: int, trial: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """The script's arguments first."""
        grid, _ = self._place(cell)
        params = dict(self.params(cell, trial))
        if grid.sources:
            del params["ref"]
        return (*grid.args, *to_flags(params))

    def bundle(self, cell: int) -> str:
        """Empty: the launch's."""
        grid, index = self._place(cell)
        return self._source(grid, index).bundle if grid.sources else ""

    def commit(self, cell: int) -> Source | None:
        """Which of several commits is the cell's."""
        grid, index = self._place(cell)
        return self._source(grid, index) if grid.sources else None

    def words(self) -> list[str]:
        """For labels: `--key=value` of what all cells are given alike, `--key` of what differs from one to another."""
        configs = 0
        times: dict[str, int] = {}
        flags: dict[str, set[tuple[str, ...]]] = {}
        for grid in self._grids:
            for names in self._alternatives(grid):
                configs += 1
                for name, values in names.items():
                    times[name] = times.get(name, 0) + 1
                    flags.setdefault(name, set()).update(to_flags({name: value}) for value in values)
        found = []
        for name, each in flags.items():
            alike = next(iter(each)) if len(each) == 1 and times[name] == configs else (f"--{name}",)
            found += ["=".join(alike)] if alike else []
        return found

    def _alternatives(self, grid: Grid) -> Iterator[dict[str, Sequence[Any]]]:
        """What each of a grid's configurations gives its keys; of a range its ends."""
        refs: dict[str, Sequence[Any]] = {"ref": [source.ref for source in grid.sources]} if grid.sources else {}
        if self._sweep.search:
            dimensions = self.space(grid).dimensions
            tuples = [one.choices or ((one.low,), (one.high,)) for one in dimensions]
            chosen = zip(dimensions, tuples, strict=True)
            yield {name: [each[i] for each in some] for one, some in chosen for i, name in enumerate(one.names)} | refs
            return
        for one in self._expansion(grid).grids:
            if one.cell_count:
                yield {name: one.values(name) for name in one.names()} | refs

    def space(self, grid: Grid | None = None) -> Space:
        grid = grid or self._grids[0]
        if grid.number not in self._spaces:
            self._spaces[grid.number] = space(grid.meant, _where(grid))
        return self._spaces[grid.number]

    def search_point(self, cell: int) -> tuple[Space, int]:
        """What a search chooses the cell's parameters from, and its number among those, from 0."""
        grid, index = self._place(cell)
        return self.space(grid), index

    def _place(self, cell: int) -> tuple[Grid, int]:
        """The cell's grid, and its index in what that grid's document means."""
        grid = self._grids[max(0, bisect_right(self._firsts, cell) - 1)]
        index = cell - grid.first
        if not 0 <= index < grid.cells:
            raise IndexError(f"there is no cell {cell} among {len(self)}")
        return grid, grid.only[index] if grid.only is not None else index

    def _expansion(self, grid: Grid) -> Expansion:
        if grid.number not in self._expansions:
            self._expansions[grid.number] = expansion(grid.meant, _where(grid))
        return self._expansions[grid.number]

    def _width(self, grid: Grid) -> int:
        """How many cells the document means for one commit."""
        return max(1, len(self._expansion(grid)))

    def _source(self, grid: Grid, index: int) -> Source:
        if self._sweep.search:  # each trial with every commit in turn, so that trials may be added
            return grid.sources[index % len(grid.sources)]
        return grid.sources[(index // self._width(grid)) % len(grid.sources)]


def _where(grid: Grid) -> str:
    return f"grid {grid.number}"
