"""What every check is given, and the job's head as a plain document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast.testing.simulation.history import Event, Write

if TYPE_CHECKING:
    from outlast.testing.simulation.world import World

Document = dict[str, Any]
FINAL = frozenset({"succeeded", "failed", "stopped", "expired"})


class Check:
    """Each method is called as things happen; whatever it finds wrong it hands to `violated`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.history = world.history
        self.options = world.options

    def violated(self, text: str) -> None:
        self.history.violated(f"{type(self).__name__.lower()}: {text}")

    def head_written(self, old: Document | None, new: Document, write: Write) -> None: ...

    def written(self, write: Write) -> None: ...

    def forget(self, write: Write) -> None:
        """The job was deleted; what comes now is another one's."""
        self.__init__(self.world)  # type: ignore[misc]

    def happened(self, event: Event) -> None: ...

    def look(self) -> None:
        """Every half minute."""

    def ended(self) -> None:
        """The schedule has come to its end without a violation."""


def machine_of(by: str) -> str:
    """The machine's own name out of an actor's; empty for a laptop's."""
    return "" if by.startswith("laptop") else by.split("/", 1)[0]


def rank_of(machine: str) -> int:
    return int(machine.rpartition("-")[2].split("#")[0])


def launch_id_of(machine: str) -> str:
    return machine.rpartition("-")[0]


def newest(head: Document) -> Document | None:
    return head["checkpoints"][-1] if head["checkpoints"] else None
