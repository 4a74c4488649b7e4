"""Where the connections of one machine come in, and where they end while its network is cut."""

from __future__ import annotations

import socket
import threading


class Gate:
    """While it is cut, whatever is sent through it is neither answered nor refused, as if the wire had been pulled out."""

    def __init__(self) -> None:
        self.is_cut = False
        self._held: list[socket.socket] = []
        self._lock = threading.Lock()

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True

    def heal(self) -> None:
        """Connections that were used meanwhile end: no end of them knows what the other has received."""
        with self._lock:
            self.is_cut = False
            held, self._held = self._held, []
        for sock in held:
            sock.close()

    def hold(self, sock: socket.socket) -> None:
        with self._lock:
            if self.is_cut:
                self._held.append(sock)
                return
        sock.close()
