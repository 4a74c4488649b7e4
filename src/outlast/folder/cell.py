"""A cell's folder: like a job's, but its spec and its launches are those of its sweep, and it begins at its first fence."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from outlast.dataclass import replace
from outlast.errors import KeyMissing, NotFound
from outlast.folder import life
from outlast.folder.cells import Cells
from outlast.folder.folder import Folder, HeadAt
from outlast.folder.layout import CellKeys, JobKeys, SweepKeys, cell_id
from outlast.folder.records import LaunchRecord, State
from outlast.folder.sweep_records import Grid, Trial
from outlast.spec.spec import Spec, Sweep
from outlast.store.store import Store


class CellFolder(Folder):
    def __init__(self, store: Store, sweep: str, cell: int, random: Random, turn: int = 0) -> None:
        """`turn` 0: the sweep's present one."""
        super().__init__(store, cell_id(sweep, cell), random)
        self.sweep = sweep
        self.cell = cell
        self._turn = turn
        self._sweep_keys = SweepKeys(sweep)
        self.keys = CellKeys(sweep, cell, turn or self._present_turn())

    def _present_turn(self) -> int:
        try:
            launch = Folder(self.store, self.sweep, self.random).read_head().head.launch
            record = self.read(LaunchRecord, JobKeys(self.sweep).launch(launch))
        except KeyMissing:
            return 1
        return record.cells.turn if record.cells is not None else 1

    def read_spec(self) -> Spec:
        spec = Folder(self.store, self.sweep, self.random).read_spec()
        if spec.cells is None:
            raise NotFound(f"job `{self.sweep}` is no sweep: it has no cell {self.cell}")
        grids = [self.read(Grid, entry.key) for entry in self.store.list(self._sweep_keys.grids)]
        cells = Cells(grids, spec.cells)
        if not 1 <= self.cell <= len(cells):
            raise NotFound(
                f"sweep `{self.sweep}` has no cell {self.cell}: it has {len(cells):,}",
                hint=f"`outlast show {self.sweep}` lists them",
            )
        return cell_spec(spec, cells, self.cell, self.read_trial())

    def read_trial(self) -> Trial | None:
        turn = self._turn or self._present_turn()
        return self._read_or_none(Trial, self._sweep_keys.trial(self.cell, turn))

    def read_launch(self, launch: int) -> LaunchRecord:
        return of_one_cell(super().read_launch(launch), Folder(self.store, self.sweep, self.random).read_spec().cells)

    def existing_head(self) -> HeadAt:
        try:
            return self.read_head()
        except KeyMissing:
            import shlex  # not on the way of a command that only lists

            spec = self.read_spec()  # there is no such sweep, or no such cell: this says so
            words = shlex.join([spec.target.value, *spec.args])
            raise NotFound(
                f"cell {self.cell} of sweep `{self.sweep}` has not begun",
                state=f"it is `{words}`" if words.isprintable() else "",
                hint=f"`outlast show {self.sweep}` tells how far it is",
            ) from None


class ClaimedCell(CellFolder):
    """As the worker that runs it sees it: what earlier launches have left of it belongs to this one as soon as it writes."""

    def __init__(self, store: Store, spec: Spec, launch: LaunchRecord, cell: int, random: Random) -> None:
        """`spec` and `launch` as they are for this cell."""
        assert launch.cells is not None
        super().__init__(store, spec.sweep, cell, random, launch.cells.turn)
        self._spec = spec
        self._launch = launch

    @property
    def launch(self) -> LaunchRecord:
        """As it is for this cell."""
        return self._launch

    def read_spec(self) -> Spec:
        return self._spec

    def read_launch(self, launch: int) -> LaunchRecord:
        return self._launch if launch == self._launch.launch else super().read_launch(launch)

    def read_head(self) -> HeadAt:
        """Of a cell that has not begun: how it would begin, with the generation of what is not there."""
        try:
            at = super().read_head()
        except KeyMissing:
            return HeadAt(life.begun(self.job, self._launch, ()), 0)
        if at.head.launch >= self._launch.launch or at.head.state is State.SUCCEEDED:
            return at
        if at.head.state.final:
            return HeadAt(life.relaunched(at.head, self._launch), at.generation)
        return HeadAt(life.moved(at.head, self._launch, self.store.now()), at.generation)


def cell_spec(spec: Spec, cells: Cells, cell: int, trial: Trial | None) -> Spec:
    """What a cell would say if it were a job of its own."""
    provenance, source = spec.provenance, cells.commit(cell)
    if source is not None:  # the sweep's own is that of its first commit
        url, _, behind = provenance.directory.rpartition("@")
        below = "".join(behind.partition(":")[1:])
        provenance = replace(provenance, commit=source.commit, directory=f"{url}@{source.ref}{below}")
    return replace(
        spec,
        job=cell_id(spec.job, cell),
        sweep=spec.job,
        cells=None,
        workers=1,
        args=cells.args(cell, trial.params if trial is not None else None),
        bundle=cells.bundle(cell) or spec.bundle,
        provenance=provenance,
        notify=(),
        env={**spec.env, "OUTLAST_SWEEP": spec.job, "OUTLAST_CELL": str(cell)},
    )


def of_one_cell(
    record: LaunchRecord, sweep: Sweep | None, *, bundle: str = "", share: Callable[[float], float] | None = None
) -> LaunchRecord:
    """A launch as one of its cells has it: one worker, its part of the machine's price, and `share` of the money."""
    parts = sweep.per_machine if sweep is not None else 1
    machine = record.machine
    if machine.rented is not None:
        rented = replace(
            machine.rented,
            usd_per_hour=machine.rented.usd_per_hour / parts,
            usd_per_hour_on_demand=machine.rented.usd_per_hour_on_demand / parts,
        )
        machine = replace(machine, rented=rented)
    limit = record.max_cost_usd
    return replace(
        record,
        workers=1,
        machine=machine,
        usd_per_hour=record.usd_per_hour / parts,
        bundle=bundle or record.bundle,
        max_cost_usd=share(limit) if share is not None and limit is not None else None,
        args=None,
    )
