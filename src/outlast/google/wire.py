"""One HTTP exchange: the seam that the simulation and tests replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Body = bytes | Sequence[bytes]
"""Whole, or in pieces that are sent one after the other without being joined."""


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    """Whole, with every name in it percent-encoded once."""

    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By lower-case name."""

    body: bytes | bytearray = b""
    uncertain: bool = False
    """An earlier try of the same call had no answer: it may have been done before this one came."""


class NoAnswer(Exception):
    """The exchange broke off. `sent`: the server may have got the request, and done what it asks."""

    def __init__(self, why: str, *, sent: bool, trust: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.sent = sent
        self.trust = trust
        """The server's certificate was refused: asking again does not help."""


class Wire(Protocol):
    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        """One exchange: the answer whatever its status, with all of its body, or `NoAnswer`.

        `stall_seconds` is how long the connection may stand still. Never follows a redirection, never decodes a body. May be
        called by several threads, and after a fork.
        """
        ...
