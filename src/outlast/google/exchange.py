"""HTTP/1.1 on a connected socket: one request, one answer, and not a byte more than is needed.

Ten thousand small objects are ten thousand of these, and the standard library's way of reading one answer's head costs more than
all the rest of a request together.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping

from outlast.google.wire import Answer, Request, Stream, body_bytes

HEAD_BYTES_MAX = 256 << 10
RECEIVE_BYTES = 64 << 10
"""Memory for so much is asked for before anybody knows how little comes: where it is larger, the system gives it page by page, each time
anew, and a small answer costs a third more. Large ones are received where they stay."""

JOINED_BYTES_MAX = 64 << 10
"""A body up to so long goes out with its head."""

BODY_BYTES_MAX = 4 << 30
"""Far more than anybody asks for at once; what says so is no server of ours."""

BODILESS = (204, 304)


class Broken(Exception):
    """What came is no answer, or not all of one."""


def exchange(sock: socket.socket, request: Request, host: str, target: str) -> tuple[Answer, bool]:
    """(the answer, whether the connection can be used again). `Broken`, or the socket's own errors."""
    reader = _Reader(sock)
    try:
        _send(sock, request, host, target)
    except OSError:
        # A server that refuses a body answers before it has read it, and hangs up: the answer says more than the error.
        answer, _ = reader.answer(request.method, request.place)
        return answer, False
    return reader.answer(request.method, request.place)


def _send(sock: socket.socket, request: Request, host: str, target: str) -> None:
    body = request.body
    chunks: Iterable[bytes | memoryview] = () if body is None else (body,) if isinstance(body, bytes) else body
    size = 0 if body is None else body_bytes(body)
    headers: dict[str, str] = {"Host": host, **request.headers}
    if body is not None or request.method in ("POST", "PUT"):
        headers["Content-Length"] = str(size)
    head = _head(request.method, target, headers)
    if size <= JOINED_BYTES_MAX and not isinstance(body, Stream):
        sock.sendall(b"".join((head, *chunks)))
        return
    sock.sendall(head)
    for chunk in chunks:
        sock.sendall(chunk)


def _head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    if not target.isascii() or not target.isprintable() or " " in target:
        raise Broken(f"`{target[:80]}` is no address")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not value.isprintable():
            raise Broken(f"the header `{name}` has a line end in it")
        lines.append(f"{name}: {value}")
    return "\r\n".join((*lines, "\r\n")).encode("latin-1")


class _Reader:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._held = b""

    def answer(self, method: str, place: Callable[[int], bytearray]) -> tuple[Answer, bool]:
        while True:
            version, status, headers = self._head()
            if status >= 200:
                break  # 1xx: the answer is still to come
        keeps = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        body: bytes | bytearray = b""
        if status in BODILESS or method == "HEAD":
            pass
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._chunked()
        elif "content-length" in headers:
            body = self._exactly(_number(headers["content-length"], 10), place)
        else:
            keeps = False
            body = self._rest()
        return Answer(status, headers, body), keeps and not self._held

    def _head(self) -> tuple[str, int, dict[str, str]]:
        first, *lines = self._until(b"\r\n\r\n", HEAD_BYTES_MAX).decode("latin-1").split("\r\n")
        words = first.split(None, 2)
        if len(words) < 2 or words[0] not in ("HTTP/1.1", "HTTP/1.0") or len(words[1]) != 3:
            raise Broken("what came is not HTTP")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise Broken("what came is not HTTP")
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return words[0], _number(words[1], 10), headers

    def _chunked(self) -> bytes:
        pieces: list[bytes | bytearray] = []
        while True:
            line = self._until(b"\r\n", HEAD_BYTES_MAX)
            size = _number(line.partition(b";")[0].strip().decode("latin-1"), 16)
            if size == 0:
                break
            pieces.append(self._exactly(size))
            if self._exactly(2) != b"\r\n":
                raise Broken("a piece of the answer has no end")
        while self._until(b"\r\n", HEAD_BYTES_MAX):
            continue  # what trails the body is nobody's concern
        return b"".join(pieces)

    def _until(self, end: bytes, bytes_max: int) -> bytes:
        while (at := self._held.find(end)) < 0:
            if len(self._held) > bytes_max:
                raise Broken("the head of the answer has no end")
            self._held += self._more()
        found, self._held = self._held[:at], self._held[at + len(end) :]
        return found

    def _exactly(self, size: int, place: Callable[[int], bytearray] = bytearray) -> bytes | bytearray:
        """What is large is received where it stays: copying it once more costs as much as receiving it."""
        if len(self._held) >= size:
            found, self._held = self._held[:size], self._held[size:]
            return found
        if size > BODY_BYTES_MAX:
            raise Broken(f"an answer of {size} bytes was not asked for")
        whole = place(size) if size > JOINED_BYTES_MAX else bytearray(size)
        at = len(self._held)
        whole[:at] = self._held
        self._held = b""
        with memoryview(whole) as view:
            while at < size:
                received = self._sock.recv_into(view[at:])
                if not received:
                    raise Broken(f"the answer broke off, {size - at} bytes before its end")
                at += received
        return whole if size > JOINED_BYTES_MAX else bytes(whole)

    def _rest(self) -> bytes:
        pieces = [self._held]
        self._held = b""
        while piece := self._sock.recv(RECEIVE_BYTES):
            pieces.append(piece)
        return b"".join(pieces)

    def _more(self) -> bytes:
        piece = self._sock.recv(RECEIVE_BYTES)
        if not piece:
            raise Broken("the connection was closed without an answer")
        return piece


def _number(text: str, base: int) -> int:
    """Digits only: `int` takes signs, spaces and underscores too."""
    if not text or not text.isascii() or not text.isalnum():
        raise Broken(f"`{text[:20]}` is no number")
    try:
        return int(text, base)
    except ValueError:
        raise Broken(f"`{text[:20]}` is no number") from None
