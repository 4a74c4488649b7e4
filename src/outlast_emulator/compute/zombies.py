"""Machines that Google believes to be dead and that are not: frozen for a while, then going on beside their successors."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from outlast_emulator.clock import pause
from outlast_emulator.compute import instances
from outlast_emulator.compute.contents import MachineGuest
from outlast_emulator.compute.hosting import Guest
from outlast_emulator.compute.instances import not_ready
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


class Zombies:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def lose(self, instance: Instance, *, frozen_seconds: float = 0.0, seconds: float = 120.0) -> None:
        """To the API the machine's host is gone at once, and its group makes another one of its name.

        The machine itself stands still for `frozen_seconds`, knowing nothing of it, then goes on until `seconds` of Google's time
        have passed since now.
        """
        compute = self._compute
        with compute.database.write():
            found = compute.resources.by_id(instance.id)
            guest = compute.instances.guest(instance)
            if found is None or guest is None or found.status != "RUNNING" or "ending" in found.state:
                raise not_ready(found or instance)
            compute.instances.let_go(found)
            compute.operations.done("compute.instances.hostError", found)
            compute.instances.end(found, instances.HOST_ERROR, grace_seconds=0)
        stack = ExitStack()
        if frozen_seconds > 0 and isinstance(guest, MachineGuest):
            stack.enter_context(guest.machine.frozen())
        haunting = (guest, stack, frozen_seconds, max(0.0, seconds - frozen_seconds))
        threading.Thread(target=self._haunt, args=haunting, name="zombie", daemon=True).start()

    def _haunt(self, guest: Guest, frozen: ExitStack, frozen_seconds: float, seconds: float) -> None:
        pause(self._compute.clock.scaled(frozen_seconds))
        frozen.close()
        pause(self._compute.clock.scaled(seconds))
        guest.kill()
