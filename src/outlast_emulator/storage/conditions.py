"""Preconditions: what a caller knows about an object, and what happens if it is not so.

| sent | object is there | object is not there |
| --- | --- | --- |
| ifGenerationMatch=0 | 412 | goes on |
| ifGenerationMatch=g | goes on if its generation is g, else 412 | 412 where something would be written, else 404 |
| ifGenerationNotMatch=g | goes on if it is not g, else 304 for a read, 412 for a write | goes on |
| ifMetageneration... | the same, by its metageneration | 412 where something would be written, else 404 |
"""

from __future__ import annotations

from typing import NamedTuple

from outlast_emulator.errors import ApiError, condition_not_met
from outlast_emulator.request import Request


class Conditions(NamedTuple):
    generation_match: int | None = None
    generation_not_match: int | None = None
    metageneration_match: int | None = None
    metageneration_not_match: int | None = None

    def check(self, generation: int, metageneration: int, *, reading: bool = False) -> None:
        """Raises 412 (or 304 for a read) unless all hold. Generation and metageneration are 0 where there is no object."""
        if self.generation_match is not None and generation != self.generation_match:
            raise condition_not_met()
        if self.metageneration_match is not None and metageneration != self.metageneration_match:
            raise condition_not_met()
        unwanted = self.generation_not_match is not None and generation == self.generation_not_match
        if unwanted or (
            self.metageneration_not_match is not None
            and metageneration == self.metageneration_not_match
            and metageneration != 0
        ):
            raise ApiError(304, "notModified", "Not Modified") if reading else condition_not_met("If-None-Match")


NONE = Conditions()

_NAMES = (
    "ifGenerationMatch",
    "ifGenerationNotMatch",
    "ifMetagenerationMatch",
    "ifMetagenerationNotMatch",
)


def asked(request: Request, suffix: str = "") -> Conditions:
    """The preconditions in a JSON API query; `suffix="Source"` reads `ifSourceGenerationMatch` and its like."""
    if not request.query_text or "Match" not in request.query_text:
        return NONE
    names = (name.replace("if", f"if{suffix}", 1) for name in _NAMES)
    return Conditions(*(request.number(name) for name in names))
