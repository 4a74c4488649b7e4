"""What a sweep's folder knows of its cells: grids, claims and rows. Nothing here is read once per cell."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing
from outlast.folder.cells import Cells
from outlast.folder.folder import Folder
from outlast.folder.home import names_written_once
from outlast.folder.layout import SweepKeys, claim_parts
from outlast.folder.records import LaunchRecord, State, SweepLaunch
from outlast.folder.sweep_records import CellClaim, Grid, Row, Trial
from outlast.spec.record import plain
from outlast.spec.spec import Sweep

ROWS_MAX = 1000
"""So many rows are in one segment, which is rewritten until it is full."""

EARLY = "early"
"""The state of a cell that was ended because others did better."""

GOOD = frozenset({State.SUCCEEDED.value, EARLY})


class SweepFolder:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.store = folder.store
        self.keys = SweepKeys(folder.job)

    def grids(self) -> list[Grid]:
        return [self.folder.read(Grid, entry.key) for entry in self.store.list(self.keys.grids)]

    def cells(self, sweep: Sweep, grids: int | None = None) -> Cells:
        """Of the first so many grids; None: of all."""
        return Cells(self.grids()[:grids], sweep)

    # Claims.

    def claims(self, launch: int) -> dict[int, int]:
        """Cell -> how often it was claimed in that launch, by one list."""
        before = len(self.keys.claims(launch))
        found: dict[int, int] = {}
        for key in names_written_once(self.store, self.keys.claims(launch)):
            parts = claim_parts(key[before:])
            if parts is not None:
                found[parts[0]] = max(parts[1], found.get(parts[0], 0))
        return found

    def claim(self, launch: int, cell: int, number: int, claim: CellClaim) -> bool:
        """False: somebody else has it."""
        return self.folder.create(self.keys.claim(launch, cell, number), claim)

    def read_claim(self, launch: int, cell: int, number: int) -> CellClaim:
        return self.folder.read(CellClaim, self.keys.claim(launch, cell, number))

    # Rows.

    def rows(self, turn: int) -> dict[int, Row]:
        """Cell -> its newest row of that turn."""
        return {cell: row for (one, cell), row in self.newest_rows().items() if one == turn}

    def newest_rows(self) -> dict[tuple[int, int], Row]:
        """(turn, cell) -> its newest row."""
        found: dict[tuple[int, int], Row] = {}
        for entry in self.store.list(self.keys.rows):
            try:
                data = self.store.get(entry.key).data
            except KeyMissing:
                continue
            for row in decode_rows(data, entry.key):
                known = found.get((row.turn, row.cell))
                if known is None or _order(known) <= _order(row):
                    found[row.turn, row.cell] = row
        return found

    def write_rows(self, machine: str, number: int, rows: Iterable[Row]) -> None:
        self.write_encoded(machine, number, map(encode_row, rows))

    def write_encoded(self, machine: str, number: int, rows: Iterable[bytes]) -> None:
        """What `encode_row` has made of each."""
        self.store.put(self.keys.row_segment(machine, number), b"".join(rows))

    def segments(self, machine: str) -> dict[int, list[Row]]:
        """What a machine has written so far."""
        keys = {number: self.keys.row_segment(machine, number) for number in self.segment_numbers(machine)}
        return {number: decode_rows(self.store.get(key).data, key) for number, key in keys.items()}

    def segment_numbers(self, machine: str) -> list[int]:
        before = f"{self.keys.rows}{machine}-"
        return [int(entry.key[len(before) :]) for entry in self.store.list(before)]

    # Trials.

    def read_trial(self, cell: int, turn: int) -> Trial | None:
        try:
            return self.folder.read(Trial, self.keys.trial(cell, turn))
        except KeyMissing:
            return None

    def trials(self, turn: int) -> dict[int, Trial]:
        if not turn:
            return {}
        suffix = self.keys.trial(0, turn)[len(self.keys.trials) + 6 :]
        found = [
            self.folder.read(Trial, entry.key)
            for entry in self.store.list(self.keys.trials)
            if entry.key[len(self.keys.trials) + 6 :] == suffix
        ]
        return {trial.cell: trial for trial in found}


@dataclass(frozen=True)
class Progress:
    """How far a sweep is, in the present turn of one launch."""

    cells: int
    rows: dict[int, Row]
    claims: Mapping[int, int]
    launch: int
    failed_too: bool = True

    def settled(self, cell: int) -> bool:
        """There is nothing to do for it in this launch any more."""
        row = self.rows.get(cell)
        return row is not None and (row.state in GOOD or row.launch == self.launch or not self.failed_too)

    def unfinished(self) -> list[int]:
        """Claimed in this launch, and without a row."""
        return [cell for cell in sorted(self.claims) if not self.settled(cell)]

    @property
    def to_do(self) -> int:
        return self.cells - sum(1 for cell in self.rows if self.settled(cell))


def read_progress(sweep: SweepFolder, record: LaunchRecord, cells: int) -> Progress:
    """Claims first: a cell that was claimed and has ended since then is found to have ended."""
    asked = record.cells or SweepLaunch(1)
    claims = sweep.claims(record.launch)
    return Progress(cells, sweep.rows(asked.turn), claims, record.launch, asked.failed_too)


_USUAL: dict[str, Any] = {
    one.name: {} if one.default is dataclasses.MISSING else one.default
    for one in dataclasses.fields(Row)
    if one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING
}
_DEFAULTS = {one.name: one.default for one in dataclasses.fields(Row) if one.default is not dataclasses.MISSING}
_NAMES = frozenset(one.name for one in dataclasses.fields(Row))
_NEEDED = _NAMES - _USUAL.keys()


def encode_row(row: Row) -> bytes:
    """One line of JSON, without what is as it usually is."""
    document = {
        name: value
        for name, value in plain(row).items()
        if value != {} and (name not in _DEFAULTS or value != _DEFAULTS[name])
    }
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def decode_rows(data: bytes, key: str) -> list[Row]:
    """Fields of a later version are passed over."""
    try:
        return [_row(one) for one in json.loads(f"[{','.join(data.decode().splitlines())}]")]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"`{key}` is damaged: {error}") from error


def _row(document: Any) -> Row:
    """As the class makes one, in a third of the time: a table of ten thousand is looked at while somebody waits."""
    row = object.__new__(Row)
    fields = row.__dict__
    fields.update(_USUAL)
    fields.update(document)
    for name in _NEEDED:
        if name not in fields:
            raise TypeError(f"a row lacks `{name}`")
    if len(fields) != len(_NAMES):
        for name in fields.keys() - _NAMES:
            del fields[name]
    return row


def _order(row: Row) -> tuple[int, float]:
    return row.launch, row.ended_at or 0.0
