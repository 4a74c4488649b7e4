"""What is asked of `outlast init`, and one thing that it makes: is it there, how is it made, how does it go away."""

from __future__ import annotations

import re
from collections.abc import Callable

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.pattern import pattern

LEGAL = {
    "project": pattern(r"[a-z0-9][a-z0-9.:-]{0,99}", re.ASCII),
    "region": pattern(r"[a-z0-9-]{1,63}", re.ASCII),
    "bucket": pattern(r"[a-z0-9][a-z0-9._-]{1,221}", re.ASCII),
    "network": pattern(r"[a-z][a-z0-9-]{0,62}", re.ASCII),
    "member": pattern(r"[A-Za-z]+:[A-Za-z0-9@._%+/=-]{1,400}", re.ASCII),
}
"""What each value looks like, at most."""


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

    def __post_init__(self) -> None:
        """Every value stands in commands that somebody may type: none may hold what a shell would obey."""
        for name, values in (
            ("project", (self.project,)),
            ("region", (self.region,)),
            ("bucket", (self.bucket,) if self.bucket else ()),
            ("network", (self.network,)),
            ("member", self.members),
        ):
            for value in values:
                if not LEGAL[name].fullmatch(value):
                    raise UsageError(f"`{value}` is no {name}", hint="`outlast init --help`")


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
