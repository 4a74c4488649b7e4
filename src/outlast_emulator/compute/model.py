"""Compute Engine without HTTP: what its API, groups, the control surface and the ledger all speak to."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from outlast_emulator.clock import Clock
from outlast_emulator.compute.builder import Builder
from outlast_emulator.compute.capacity import Capacity
from outlast_emulator.compute.contents import Contents
from outlast_emulator.compute.database import Database
from outlast_emulator.compute.deadlines import Deadlines
from outlast_emulator.compute.disks import Disks
from outlast_emulator.compute.groups import Groups
from outlast_emulator.compute.images import Images
from outlast_emulator.compute.instances import Instances
from outlast_emulator.compute.networks import Networks
from outlast_emulator.compute.operations import Operations
from outlast_emulator.compute.preemption import Preemption
from outlast_emulator.compute.resources import Resources
from outlast_emulator.compute.scheduler import Scheduler
from outlast_emulator.compute.templates import Templates
from outlast_emulator.compute.traces import Traces
from outlast_emulator.compute.usage import Usage
from outlast_emulator.compute.zombies import Zombies
from outlast_emulator.iam.state import DEFAULT_ACCOUNT, PROJECT
from outlast_emulator.storage.model import BUSY, InUse
from outlast_emulator.switches import Switches


class Compute:
    """The parts stand in the order in which they need one another. Safe for any number of threads."""

    def __init__(self, root: Path, clock: Clock, switches: Switches) -> None:
        os.makedirs(root, mode=0o700, exist_ok=True)
        try:
            self.database = Database(root / "compute.db")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", BUSY) == BUSY:
                raise InUse(root) from error
            raise OSError(0, f"the database cannot be opened: {error}", str(root)) from error
        self.root = root
        self.clock = clock
        self.switches = switches
        self.default_account = DEFAULT_ACCOUNT
        self.resources = Resources(self.database)
        self.scheduler = Scheduler(self.database, clock)
        self.operations = Operations(self.database, self.resources, self.scheduler, clock)
        self.usage = Usage(self.database, clock)
        self.capacity = Capacity(self)
        self.contents = Contents(self)
        self.images = Images(self)
        self.disks = Disks(self)
        self.networks = Networks(self, PROJECT)
        self.builder = Builder(self)
        self.instances = Instances(self)
        self.preemption = Preemption(self)
        self.templates = Templates(self)
        self.groups = Groups(self)
        self.deadlines = Deadlines(self)
        self.traces = Traces(self)
        self.zombies = Zombies(self)
        self._started = False

    def start(self) -> None:
        """Once the emulator is served: what a killed emulator left undone goes on. May be called again and again."""
        if not self._started:
            self._started = True
            self.contents.start()
            self.instances.recover()
            self.preemption.recover()
            self.groups.controller.recover()
            self.scheduler.start()

    def close(self) -> None:
        self.scheduler.close()
        self.instances.close()
        self.contents.close()
        self.database.close()
