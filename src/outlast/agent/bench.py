"""What a worker of a sweep needs of its machine: a place for one cell after another, and ways to leave it."""

from __future__ import annotations

import enum
from typing import Protocol

from outlast.agent.child import Child
from outlast.dataclass import dataclass
from outlast.folder.records import LaunchRecord
from outlast.spec.spec import Spec


class Leaving(enum.Enum):
    DONE = "done"
    """The launch is over."""

    AGAIN = "again"
    """This machine is going; another one shall take its place."""

    SPARE = "spare"
    """This machine is not needed any more; the launch goes on without it."""


@dataclass(frozen=True)
class Held:
    """A cell that this machine runs, and by which of its claims."""

    cell: int
    number: int


class Bench(Protocol):
    """A machine's place for one cell after another."""

    def held(self) -> Held | None:
        """What an earlier life of this agent was at; None: nothing."""
        ...

    def take_up(self, held: Held) -> None:
        """Clears away what the cell before has left; on disk before it returns."""
        ...

    def put_down(self) -> None:
        """The cell has ended, or is another machine's."""
        ...

    def child(self, spec: Spec, launch: LaunchRecord) -> Child: ...

    def close(self, child: Child) -> None: ...

    def paid_until(self) -> float | None:
        """What was last given to `note_paid`, by an earlier life of this agent too."""
        ...

    def note_paid(self, until: float) -> None:
        """Until when this machine's bill in the home pays for it, by its own clock."""
        ...

    def notice(self) -> float | None:
        """Seconds until this machine is taken away, if it was told so."""
        ...
