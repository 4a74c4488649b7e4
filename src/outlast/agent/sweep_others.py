"""Looks at the cells that other workers run: which are alive, and which have lost their worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlast.agent.station import Station
from outlast.dataclass import replace
from outlast.errors import Damaged, NewerFormat
from outlast.folder.cell import ClaimedCell

STILL_SECONDS = 180.0
"""A cell whose head and beat have not changed for so long has lost its worker."""

STILL_SECONDS_MIN = 20.0
"""However short an emulator's seconds are: a beat takes its time."""

RING_SECONDS = 30.0
"""How often a worker that has nothing to do asks those that have for a beat, where beats are rare."""

LOOK_SECONDS = (0.2, 5.0)
"""How often a worker that has nothing to do looks at the others."""


class Others:
    """From the moment when a worker has nothing left to begin."""

    def __init__(self, station: Station, time_scale: float = 1.0) -> None:
        """`time_scale`: of an emulator whose seconds are shorter."""
        self.station = station
        self.still_seconds = STILL_SECONDS if time_scale >= 1 else max(STILL_SECONDS_MIN, STILL_SECONDS * time_scale)
        billed = station.store.write_seconds > 0
        self._ring_at = station.clock.monotonic() + (0.0 if billed else self.still_seconds)
        self._marks: dict[int, tuple[object, float]] = {}
        self._alive: set[int] = set()
        self._look_seconds, self._look_seconds_max = LOOK_SECONDS

    def look(self, unfinished: Iterable[int], claims: Mapping[int, int]) -> int | None:
        """One that has stood still for too long; None: there is none, or none yet."""
        now = self.station.clock.monotonic()
        for cell in unfinished:
            mark = (claims[cell], self._mark(cell))
            before, since = self._marks.setdefault(cell, (mark, now))
            if before != mark:
                self._alive.add(cell)
            elif cell not in self._alive and now - since >= self.still_seconds:
                return cell
        return None

    def all_alive(self, unfinished: Iterable[int]) -> bool:
        return self._alive.issuperset(unfinished)

    def wait(self) -> None:
        """Until it is time to look again; asks for a beat before, now and then."""
        now = self.station.clock.monotonic()
        if now >= self._ring_at:
            self.station.folder.ring()
            self._ring_at = now + RING_SECONDS
        self.station.clock.sleep(max(self._look_seconds, self.station.store.poll_seconds))
        self._look_seconds = min(self._look_seconds_max, self._look_seconds * 1.5)

    def _mark(self, cell: int) -> object:
        """Changes as long as somebody runs the cell."""
        station = self.station
        spec = replace(station.spec, sweep=station.spec.job)
        folder = ClaimedCell(station.store, spec, station.launch, cell, station.random)
        try:
            at = folder.read_head()
        except (Damaged, NewerFormat):
            return None  # whoever takes it up says so
        beat = folder.read_beat(at.head.attempt) if at.head.attempt else None
        return at.generation, beat
