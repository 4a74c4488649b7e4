"""One JSON object per line over a socket, with open files beside it: how emulator, launcher and init talk."""

from __future__ import annotations

import array
import json
import socket
from collections.abc import Sequence
from typing import Any

FILES_MAX = 4
CLOSED_BY_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Closed(Exception):
    """The other side is gone."""


class Lines:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.files: list[int] = []
        """Open files that came along, oldest first: for the reader to take."""
        self._buffer = b""

    def send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            if files:
                sent = socket.send_fds(self.sock, [data], list(files))
                data = data[sent:]
            self.sock.sendall(data)
        except OSError as error:
            raise Closed from error

    def receive(self) -> dict[str, Any]:
        """Waits for one; Closed at the end."""
        while b"\n" not in self._buffer:
            self._fill()
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    @property
    def waiting(self) -> bool:
        """`receive` will not block: there is one in the buffer."""
        return b"\n" in self._buffer

    def _fill(self) -> None:
        size = array.array("i").itemsize * FILES_MAX
        try:
            data, ancillary, _, _ = self.sock.recvmsg(1 << 16, socket.CMSG_SPACE(size), CLOSED_BY_EXEC)
        except OSError as error:
            raise Closed from error
        for level, kind, raw in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(raw[: len(raw) - len(raw) % found.itemsize])
                self.files.extend(found)
        if not data:
            raise Closed
        self._buffer += data
