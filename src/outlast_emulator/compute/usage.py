"""What machines, disks and images cost while they are there: lines in the database, which the ledger adds up."""

from __future__ import annotations

from outlast_emulator.clock import Clock
from outlast_emulator.compute.database import Database
from outlast_emulator.compute.resources import Instance


class Usage:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin_machine(self, instance: Instance) -> None:
        """It runs: from now on it is paid for."""

    def end_machine(self, instance: Instance, *, preempted: bool = False) -> None:
        """It is off. One that was preempted within a minute of its creation was free."""
