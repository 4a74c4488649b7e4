"""How far something has come: the one hook by which a library tells whoever watches. The terminal's side is cli/progress.py."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""(what is being done, how much of it is done, how much there is or 0 where that is not known). May be called as often as one likes."""


def silent(doing: str, done: int, total: int) -> None:
    """Nobody watches."""
