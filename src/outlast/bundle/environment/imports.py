"""What a file of Python imports, and how surely: by its syntax alone, nothing is run."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Surely(enum.IntEnum):
    """How surely an import is carried out when the file is."""

    YES = 0
    PERHAPS = 1
    """Inside of a function, or under a condition."""

    GUARDED = 2
    """The file goes on without it."""


class Import(NamedTuple):
    module: str
    """Dotted; a relative one begins with its dots."""

    names: tuple[str, ...]
    """What is taken from it: each may be a module of its own."""

    line: int
    surely: Surely


def imports_of(source: bytes, *, is_target: bool) -> list[Import]:
    if b"import" not in source:
        return []
    from outlast.bundle.environment.syntax import (
        imports_in,
    )  # and with it Python's own parser: most files were read before

    return imports_in(source, is_target=is_target)
