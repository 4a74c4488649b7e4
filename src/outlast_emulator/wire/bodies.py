"""Bodies of requests: in memory, by length, or in chunks."""

from __future__ import annotations

import socket
from collections.abc import Callable

PIECE_BYTES = 1 << 20
LINE_BYTES_MAX = 4096
HEX = frozenset(b"0123456789abcdefABCDEF")


class BodyCut(ConnectionError):
    """The client went away, or the network was cut, in the middle of a body."""


class BadChunk(BodyCut):
    """What came is no chunk: nobody can tell where the next request begins."""


class MemoryBody:
    def __init__(self, data: bytes) -> None:
        self.length: int | None = len(data)
        self._data = data

    def read(self, size: int) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data


class SocketBody:
    """`length` bytes, of which the first are in `begun` already."""

    def __init__(self, sock: socket.socket, begun: bytes, length: int, watch: Callable[[], None]) -> None:
        self.length: int | None = length
        self._sock = sock
        self._begun = begun[:length]
        self.surplus = begun[length:]
        self._left = length
        self._watch = watch

    def read(self, size: int) -> bytes:
        if not self._left:
            return b""
        if self._begun:
            data, self._begun = self._begun[:size], self._begun[size:]
        else:
            self._watch()
            data = _received(self._sock, min(size, self._left, PIECE_BYTES))
        self._left -= len(data)
        return data


class ChunkedBody:
    def __init__(self, sock: socket.socket, begun: bytes, watch: Callable[[], None]) -> None:
        self.length: int | None = None
        self._sock = sock
        self.surplus = begun
        """What was received and not read yet; after the end, it belongs to the next request."""
        self._left = 0
        self._ended = False
        self._begun = False
        self._watch = watch

    def read(self, size: int) -> bytes:
        if not self._left and not self._ended:
            self._next_chunk()
        if self._ended:
            return b""
        if self.surplus:
            taken = min(size, self._left)
            data, self.surplus = self.surplus[:taken], self.surplus[taken:]
        else:
            self._watch()
            data = _received(self._sock, min(size, self._left, PIECE_BYTES))
        self._left -= len(data)
        return data

    def _next_chunk(self) -> None:
        if self._begun and self._line():
            raise BadChunk("a chunk that is longer than its length")
        self._begun = True
        text = self._line().split(b";")[0].strip()
        if not text or not set(text) <= HEX or len(text) > 16:
            raise BadChunk("a chunk without a length")
        self._left = int(text, 16)
        if self._left == 0:
            while self._line():
                pass
            self._ended = True

    def _line(self) -> bytes:
        while b"\n" not in self.surplus:
            if len(self.surplus) > LINE_BYTES_MAX:
                raise BadChunk("a chunk line that does not end")
            self._watch()
            self.surplus += _received(self._sock, LINE_BYTES_MAX)
        line, _, self.surplus = self.surplus.partition(b"\n")
        return line.rstrip(b"\r")


def _received(sock: socket.socket, size: int) -> bytes:
    try:
        data = sock.recv(size)
    except OSError as error:
        raise BodyCut("the connection broke") from error
    if not data:
        raise BodyCut("the client closed the connection")
    return data
