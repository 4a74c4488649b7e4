"""The server's side of a websocket, by RFC 6455: its handshake, and binary messages over the connection that was HTTP's."""

from __future__ import annotations

import base64
import hashlib
import socket
import ssl
import struct
from collections.abc import Mapping

from outlast_emulator.errors import ApiError

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MESSAGE_BYTES_MAX = 1 << 20
CONTINUATION, BINARY, CLOSE, PING, PONG = 0x0, 0x2, 0x8, 0x9, 0xA
FINAL, MASKED = 0x80, 0x80
TOO_LARGE = 1009


class Closed(Exception):
    """The other side has closed it, or is gone."""


def accepting(headers: Mapping[str, str], subprotocol: str) -> dict[str, str]:
    """The headers of the answer that makes a websocket of the connection. ApiError: nobody asked for one."""
    key = headers.get("sec-websocket-key", "")
    offered = [word.strip() for word in headers.get("sec-websocket-protocol", "").split(",")]
    if headers.get("upgrade", "").lower() != "websocket" or not key or subprotocol not in offered:
        raise ApiError(400, "badRequest", f"A websocket with the subprotocol `{subprotocol}` is expected here.")
    digest = hashlib.sha1(key.encode() + GUID.encode()).digest()  # noqa: S324  the RFC asks for it; it guards nothing
    return {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-accept": base64.b64encode(digest).decode(),
        "sec-websocket-protocol": subprotocol,
    }


class Websocket:
    def __init__(self, sock: socket.socket, begun: bytes = b"") -> None:
        self.sock = sock
        self._buffer = begun

    @property
    def waiting(self) -> bool:
        """Something has come that the socket itself does not show any more."""
        return bool(self._buffer) or (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending() > 0)

    def receive(self) -> bytes:
        """The next message, whole. Pings are answered on the way."""
        message = b""
        while True:
            first, data = self._frame()
            kind = first & 0x0F
            if kind == CLOSE:
                raise Closed
            if kind == PING:
                self._send(PONG, data)
            elif kind in (BINARY, CONTINUATION):
                message += data
                if len(message) > MESSAGE_BYTES_MAX:
                    raise self._refuse_large()
                if first & FINAL:
                    return message

    def send(self, data: bytes) -> None:
        self._send(BINARY, data)

    def close(self, code: int, reason: str) -> None:
        """Says why, once; what is sent afterwards is lost."""
        try:
            self._send(CLOSE, struct.pack(">H", code) + reason.encode()[:123])
            self.sock.shutdown(socket.SHUT_RDWR)
        except (Closed, OSError):
            pass  # it knows already

    def _frame(self) -> tuple[int, bytes]:
        first, second = self._take(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self._take(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self._take(8))
        if length > MESSAGE_BYTES_MAX:
            raise self._refuse_large()
        mask = self._take(4) if second & MASKED else b"\0\0\0\0"
        data = self._take(length)
        repeated = (mask * (length // 4 + 1))[:length]
        plain = int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")
        return first, plain.to_bytes(length, "big")

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                data = self.sock.recv(1 << 16)
            except OSError as error:
                raise Closed from error
            if not data:
                raise Closed
            self._buffer += data
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", FINAL | kind, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", FINAL | kind, 126, size)
        else:
            head = struct.pack(">BBQ", FINAL | kind, 127, size)
        try:
            self.sock.sendall(head + data)
        except OSError as error:
            raise Closed from error

    def _refuse_large(self) -> Closed:
        self.close(TOO_LARGE, "message too big")
        return Closed()
