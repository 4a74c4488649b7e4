"""What the generators were before the draws of an epoch, where a loader and the loop's bodies draw from the same one.

A loader with a memory (a buffer in which it shuffles) has in it what all its draws have put there. Drawn again without the bodies between
them they would be other draws, and so would be all that follow, although the generators are put right in the end.
"""

from __future__ import annotations

from typing import Any

from outlast.training import generators

DRAWS_MAX = 200
"""A state takes some 7 KB of every save, and two hundred of them some 30 ms. In an epoch with more such draws none is kept: a resume may
find another batch next, and says so."""

States = dict[str, dict[str, Any]]
"""Of generators, by where they are from (`global`, `own`) and by name."""


class Draws:
    """One epoch's. Only what matters is kept: generators that the draw itself moved, and a body since the draw before it."""

    def __init__(self, kept: dict[str, States] | None = None) -> None:
        """`kept` by an earlier life; None: there were too many."""
        self.kept = kept
        self._after: States = {}

    def add(self, number: int, before: States, after: States) -> None:
        """The draw of that number has been made."""
        if self.kept is None:
            return
        moved = {
            where: {name: state for name, state in states.items() if self._matters(where, name, state, after)}
            for where, states in before.items()
        }
        self._after = after
        if any(moved.values()):
            self.kept[str(number)] = moved
        if len(self.kept) > DRAWS_MAX:
            self.kept = None

    def _matters(self, where: str, name: str, state: Any, after: States) -> bool:
        last, next_ = (states.get(where, {}).get(name) for states in (self._after, after))
        if last is None or next_ is None or generators.same_state(last, state):
            return False  # nobody drew from it in between: it is right by itself
        return not generators.same_state(state, next_)

    def before(self, number: int) -> States | None:
        """What has to be set before that draw is made again, if anything has."""
        return None if self.kept is None else self.kept.get(str(number))
