"""Which cell a worker takes next: claims, made by create-only writes, and what is known of those of others.

A claim says who is likely to run a cell and never decides: the cell's head does, as any job's. So a wrong guess about a dead worker
costs a restart from a checkpoint and nothing else.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from outlast.agent.bench import Held
from outlast.agent.station import Station
from outlast.folder.sweep import Progress, read_progress
from outlast.folder.sweep_records import CellClaim, Row


class Claims:
    def __init__(self, station: Station) -> None:
        self.station = station
        self._launch = station.launch.launch
        self.progress = Progress(len(station.cells), {}, {}, self._launch)
        self.newest: dict[int, int] = {}
        """Cell -> how often it was claimed in this launch, as far as this worker knows."""

        self._read: dict[tuple[int, int], CellClaim] = {}
        """They never change."""

        self._unsure: Held | None = None
        """A claim whose answer was lost."""

        self._from = 1
        """No cell before it is free."""

    def learn(self) -> None:
        """Anew, from the home."""
        self.progress = read_progress(self.station.sweep, self.station.launch, len(self.station.cells))
        self.newest = dict(self.progress.claims)
        self._from = 1

    def ended(self, row: Row) -> None:
        self.progress.rows[row.cell] = row

    def inherited(self) -> Held | None:
        """A cell of this worker's that it does not know of: of a machine that died in its place, or of a claim whose answer was lost."""
        if (held := self._sure()) is not None:
            return held
        for cell in self.progress.unfinished():
            number = self.newest[cell]
            claim = self._claimed(cell, number)
            if claim.worker != self.station.worker:
                continue
            if claim.machine == self.station.machine:
                return Held(cell, number)
            if (held := self._claim(cell, number + 1)) is not None:
                return held
        return None

    def _sure(self) -> Held | None:
        """A claim whose answer was lost may arrive yet, when this worker has left: asked for again, it is its own now or never."""
        if (asked := self._unsure) is None:
            return None
        if self.newest.get(asked.cell, 0) < asked.number and not self.progress.settled(asked.cell):
            return self._claim(asked.cell, asked.number)
        self._unsure = None
        return None

    def next(self) -> Held | None:
        """One of the first that nobody is known to have: each worker tries another one, and the order is kept nearly."""
        while window := self._free():
            held = self._claim(self.station.random.choice(window), 1)
            if held is not None:
                return held
        return None

    def again(self, cell: int) -> Held | None:
        """One whose worker is gone; None: somebody was faster."""
        return self._claim(cell, self.newest[cell] + 1)

    def orphan(self, unfinished: Iterable[int], gone: Container[int]) -> int | None:
        """One whose worker has left for good, so that nobody comes for it: its claim arrived too late to be known to it."""
        for cell in unfinished:
            if self._claimed(cell, self.newest[cell]).worker in gone:
                return cell
        return None

    def lost(self, held: Held) -> bool:
        """Another machine has the cell. True: one in this worker's own place, which has none any more then."""
        newest = self.station.sweep.claims(self._launch).get(held.cell, held.number)
        self.newest[held.cell] = newest
        if newest <= held.number:
            return False
        claim = self._claimed(held.cell, newest)
        return claim.worker == self.station.worker and claim.machine != self.station.machine

    def _claimed(self, cell: int, number: int) -> CellClaim:
        if (cell, number) not in self._read:
            self._read[cell, number] = self.station.sweep.read_claim(self._launch, cell, number)
        return self._read[cell, number]

    def _free(self) -> list[int]:
        found: list[int] = []
        cell = self._from
        while cell <= len(self.station.cells) and len(found) < self.station.workers:
            if cell not in self.newest and not self.progress.settled(cell):
                found.append(cell)
            elif not found:
                self._from = cell + 1
            cell += 1
        return found

    def _claim(self, cell: int, number: int) -> Held | None:
        station = self.station
        claim = CellClaim(station.machine, station.worker, station.store.now())
        self.newest[cell] = max(number, self.newest.get(cell, 0))
        self._unsure = Held(cell, number)
        claimed = station.sweep.claim(self._launch, cell, number, claim)
        self._unsure = None
        return Held(cell, number) if claimed else None
