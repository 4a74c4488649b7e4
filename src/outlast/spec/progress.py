"""How far something has come: the one hook by which a library tells whoever watches. The terminal's side is cli/progress.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol


class OnProgress(Protocol):
    """May be called as often as one likes: whoever shows it decides how often that is."""

    def __call__(self, doing: str, done: int, total: int, unit: str = "bytes") -> None:
        """`doing`: two or three words, such as `uploading`. `total` 0: nobody knows. `unit`: of both, a noun in the plural."""
        ...


def silent(doing: str, done: int, total: int, unit: str = "bytes") -> None:
    """Nobody watches."""


def counted(chunks: Iterable[bytes], doing: str, total: int, on_progress: OnProgress, done: int = 0) -> Iterator[bytes]:
    """The same chunks, each told of when the next one is asked for. `done`: what came before them."""
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        on_progress(doing, done, total)
