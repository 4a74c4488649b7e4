"""The names of a group's machines: random suffixes, or numbers in a row."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass

BASE_CHARS_MAX = 58
SUFFIX_CHARS = "0123456789bcdfghjklmnpqrstvwxz"
SUFFIX_LENGTH = 4

_NUMBERED = re.compile(r"([a-z][-a-z0-9]{0,51})-(#{1,10})(?:\[([0-9]{1,10})\])?")
_PLAIN = re.compile(r"[a-z][-a-z0-9]{0,57}")

PATTERN = r"[a-z](([-a-z0-9]{0,57})|([-a-z0-9]{0,51}-#{1,10}(\\[[0-9]{1,10}\\])?))"
"""As Google prints it when a name does not fit."""


@dataclass(frozen=True)
class BaseName:
    """`worker` gives `worker-x7kd`; `worker-##` gives `worker-01`, `worker-02`; `worker-#[0]` begins with `worker-0`."""

    prefix: str
    digits: int = 0
    """How many figures a number has at least; 0: the suffix is random."""
    first: int = 1

    def next_name(self, taken: Collection[str], choose: Callable[[str], str] = secrets.choice) -> str:
        """The lowest number that is free, or a suffix that nobody has."""
        if not self.digits:
            while True:
                name = f"{self.prefix}-{''.join(choose(SUFFIX_CHARS) for _ in range(SUFFIX_LENGTH))}"
                if name not in taken:
                    return name
        number = self.first
        while (name := f"{self.prefix}-{number:0{self.digits}d}") in taken:
            number += 1
        return name


def parse(text: str) -> BaseName | None:
    """None: not a name that Google takes."""
    numbered = _NUMBERED.fullmatch(text)
    if numbered is not None:
        prefix, hashes, first = numbered.groups()
        return BaseName(prefix, len(hashes), 1 if first is None else int(first))
    if _PLAIN.fullmatch(text) is not None:
        return BaseName(text)
    return None


def default_for(group: str) -> str:
    """The base of a group that was made without one."""
    return group[:BASE_CHARS_MAX].rstrip("-")
