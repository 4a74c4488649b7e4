"""What a script may ask of a loop, and tell it, whichever of the two it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from outlast.training.loop import Loop

T = TypeVar("T")


class Walk(Iterator[T]):
    """An iterator that also tells where it stands."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._begun = False
        self._stopping = False
        self._start: int | None = None
        self._step = 0

    @property
    def start(self) -> int:
        """The first step of this attempt: 0, or where the restored checkpoint was made."""
        if self._start is not None:
            return self._start
        past = self._loop.past()
        return past.step if past is not None else 0

    @property
    def resumed(self) -> bool:
        """Whether a checkpoint of this loop was there."""
        return self._loop.resumed or (not self._begun and self._loop.past() is not None)

    @property
    def attempt(self) -> int:
        """Which life of the trainer this is, from 1."""
        return self._loop.context.history.attempt

    def save(self) -> None:
        """Saves at the end of the step that is running."""
        self._loop.wanted = True

    def stop(self) -> None:
        """Ends the loop after the step that is running, and saves it as complete."""
        self._stopping = True

    def close(self) -> None:
        """What `break` does: leaves the loop without a save."""
        self._loop.leave()
