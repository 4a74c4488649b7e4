"""Disks: made with an instance or alone, kept or dropped with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Disks:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def let_go(self, instance: Instance) -> None:
        """Of an instance that is being deleted: `autoDelete` ones are removed, the others have one user less."""
