"""One HTTP exchange: the seam that the simulation and tests replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from outlast.dataclass import dataclass


class SourceFailed(Exception):
    """Whoever gives the bytes of a `Stream` has raised the error that is this one's cause: it is not the network's."""


class Stream:
    """Bytes that are read while they are sent, once: nothing is held of them."""

    def __init__(self, size: int, chunks: Iterable[bytes | memoryview]) -> None:
        self.size = size
        """So many come, no more and no less."""

        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes | memoryview]:
        try:
            yield from self._chunks
        except Exception as error:
            raise SourceFailed from error


Body = bytes | Sequence[bytes] | Stream
"""Whole, in pieces that are sent one after the other without being joined, or read on the way."""


def body_bytes(body: Body) -> int:
    if isinstance(body, Stream):
        return body.size
    return len(body) if isinstance(body, bytes) else sum(map(len, body))


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    """Whole, with every name in it percent-encoded once."""

    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body | None = None
    place: Callable[[int], bytearray] = bytearray
    """Gives the memory, exactly so many bytes, in which a large answer is received: its contents do not matter."""


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
