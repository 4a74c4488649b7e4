"""A container that several workers of a sweep share: as a shared machine (see `shared`), told by the service that runs it."""

from __future__ import annotations

from outlast.machine.contained import Container, InContainer
from outlast.machine.shared import SharedLife, SlotLife


class ContainedSlotLife(InContainer, SlotLife):
    """One of the workers."""

    def __init__(self, container: Container, number: int, slot: int) -> None:
        SlotLife.__init__(self, container.told, container.base, container.rank, number, slot)
        self.move_in(container)


class ContainedSharedLife(InContainer, SharedLife):
    def __init__(self, container: Container, number: int) -> None:
        self.container = container
        SharedLife.__init__(self, container.told, container.base, container.rank, number)

    def _slot(self, slot: int) -> SlotLife:
        return ContainedSlotLife(self.container, self.assignment.boot, slot)

    def _left(self) -> int:
        if all(slot.paths.left_spare() for slot in self.slots):
            self.say_spare()
        return super()._left()

    def last_words(self) -> str:
        """Of one that died by itself, if any did."""
        self.paths = next((slot.paths for slot in self._failed), self.paths)
        return super().last_words()
