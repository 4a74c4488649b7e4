"""A builder's log as it comes: the lines of its serial port that are our script's."""

from __future__ import annotations

from collections.abc import Callable

from outlast.engines.imaging import Say
from outlast.google.errors import ApiError

PREFIX = "outlast-image: "
REFUSED = (400, 403, 404)
"""The machine is not up yet or gone already, or nobody may look: the end of the log comes another way then."""


class BuilderLog:
    def __init__(self, read_from: Callable[[int], tuple[str, int]], say: Say) -> None:
        self._read_from = read_from
        self._say = say
        self._at = 0
        self._half = ""
        self._told = False
        self._refused = False

    def read(self) -> None:
        try:
            text, self._at = self._read_from(self._at)
        except ApiError as error:
            if error.status not in REFUSED:
                raise
            if error.status == 403 and not self._refused:
                self._refused = True
                self._say(f"its log cannot be shown: {error.message}")
            return
        *lines, self._half = (self._half + text).split("\n")
        for line in lines:
            _, found, words = line.partition(PREFIX)
            if found:
                self._told = True
                self._say(words.rstrip("\r"))

    def tell_end(self, end: str) -> None:
        """What the builder has told of it, where nothing came over the serial port."""
        if not self._told:
            for line in end.splitlines():
                self._say(line)
