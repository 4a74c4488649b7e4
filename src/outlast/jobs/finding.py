"""What a check of `doctor` has found."""

from __future__ import annotations

import enum
from collections.abc import Callable

from outlast.dataclass import dataclass


class Health(enum.Enum):
    GOOD = "good"
    WARNING = "warning"
    """Jobs run, and something may go wrong that need not."""

    BAD = "bad"
    """Jobs cannot run, or what they need is not safe."""


@dataclass(frozen=True)
class Finding:
    check: str
    health: Health
    fact: str
    mend: str = ""
    """The command that mends it; empty where nothing is to be done."""


@dataclass(frozen=True)
class Diagnosis:
    """A finding, and what `--fix` does about it."""

    finding: Finding
    fix: Callable[[], None] | None = None
    """None: nothing is wrong, or it cannot be mended from here."""

    mended: str = ""
    """What is true afterwards."""


def good(check: str, fact: str) -> Finding:
    return Finding(check, Health.GOOD, fact)


def warning(check: str, fact: str, mend: str) -> Finding:
    return Finding(check, Health.WARNING, fact, mend)


def bad(check: str, fact: str, mend: str) -> Finding:
    return Finding(check, Health.BAD, fact, mend)
