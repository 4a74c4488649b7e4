"""Where a worker of a sweep stands: what was asked for, which of the launch's workers it is, and on which machine."""

from __future__ import annotations

from random import Random

from outlast.agent.standing import OFFLINE_SECONDS_MAX
from outlast.clock import Clock
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord
from outlast.folder.sweep import SweepFolder
from outlast.spec.spec import Spec
from outlast.store.store import Store


class Station:
    """Nothing here changes while the worker lives."""

    def __init__(
        self,
        folder: Folder,
        spec: Spec,
        launch: LaunchRecord,
        worker: int,
        machine: str,
        clock: Clock,
        random: Random,
        born_at: float | None = None,
        offline_seconds_max: float = OFFLINE_SECONDS_MAX,
    ) -> None:
        assert spec.cells is not None and launch.cells is not None
        self.folder = folder
        self.sweep = SweepFolder(folder)
        self.spec = spec
        self.asked = spec.cells
        self.launch = launch
        self.turn = launch.cells.turn
        self.cells = self.sweep.cells(self.asked, launch.cells.grids)
        self.worker = worker
        self.workers = launch.workers * self.asked.per_machine
        """Of all machines together."""

        self.machine = machine
        self.clock = clock
        self.born_at = clock.monotonic() if born_at is None else born_at
        """Since when this machine is up, by its own clock."""

        self.offline_seconds_max = offline_seconds_max
        """How long it goes on without the store."""

        self.random = random

    @property
    def store(self) -> Store:
        return self.folder.store
