"""Keys as names of objects: the same, but for line ends, which Cloud Storage takes in no name.

Two bytes stand for each of four characters, chosen so that names sort as keys do and that each is a name's only reading:

    \\t -> \\t 01    \\n -> \\t 02    \\f -> \\f 01    \\r -> \\f 02
"""

from __future__ import annotations

import re

from outlast.pattern import pattern

NAME_BYTES_MAX = 1024
"""Cloud Storage's limit."""

_TO_NAME = {"\t": "\t\x01", "\n": "\t\x02", "\f": "\f\x01", "\r": "\f\x02"}
_TO_KEY = {name: key for key, name in _TO_NAME.items()}
_ODD = pattern(r"[\t\n\f\r]")
_CODED = pattern(r"[\t\f](.?)", re.DOTALL)


class Names:
    def __init__(self, base: str) -> None:
        """`base`: what all names begin with; empty, or ending in `/`."""
        self.base = base

    def of(self, key: str) -> str:
        """ValueError: too long for a name."""
        name = self.base + encoded(key)
        if len(name.encode()) > NAME_BYTES_MAX:
            raise ValueError(f"key {key[:40]!r}... makes a name of more than {NAME_BYTES_MAX} bytes in `{self.base}`")
        return name

    def prefix(self, prefix: str) -> str:
        return self.base + encoded(prefix)

    def key(self, name: str) -> str | None:
        """None: an object that is not ours, since no key has this name."""
        return decoded(name.removeprefix(self.base)) if name.startswith(self.base) else None


def encoded(key: str) -> str:
    return _ODD.sub(lambda found: _TO_NAME[found[0]], key) if _ODD.search(key) else key


def decoded(name: str) -> str | None:
    if not _ODD.search(name):
        return name
    if any(found[0] not in _TO_KEY for found in _CODED.finditer(name)):
        return None
    return _CODED.sub(lambda found: _TO_KEY[found[0]], name)
