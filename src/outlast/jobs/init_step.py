"""What is asked of `outlast init`, and one thing that it makes: is it there, how is it made, how does it go away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Setup:
    """What was asked for, whole."""

    project: str
    region: str
    bucket: str
    members: tuple[str, ...] = ()
    """`user:ann@example.com`: who may run jobs."""

    ssh: bool = False
    network: str = "default"


@dataclass(frozen=True)
class Step:
    """Each function may be called any number of times, by any number of people, after any death of an earlier call."""

    name: str
    """`apis`, `bucket`, `role`: what `doctor` calls its check."""

    wanted: str
    """What is true once it is there."""

    is_there: Callable[[], bool]
    make: Callable[[], None]
    commands: tuple[str, ...] = ()
    """What an admin types who does it without outlast."""

    undo: Callable[[], str] = _nothing
    """Takes it away, and says what became of it; empty: nothing was there."""

    undo_commands: tuple[str, ...] = ()
    undone: str = ""
    """What `undo` would do; empty: it stays as it is."""

    of_bucket: bool = False
    """It is the home's bucket, or about it."""

    settles: bool = False
    """Once made, it takes Google a while to know it everywhere."""
