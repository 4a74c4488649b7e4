"""The wire to a server on this computer, without TLS, proxies and all that must be loaded for them."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

from outlast.google.exchange import Broken, exchange
from outlast.google.wire import Answer, NoAnswer, Request

IDLE_MAX = 8


class Loopback:
    def __init__(self) -> None:
        self._idle: dict[str, list[socket.socket]] = {}
        self._lock = threading.Lock()

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        parts = urlsplit(request.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sock = self._connected(parts.netloc, parts.hostname or "", parts.port or 80, connect_seconds)
        keeps = False
        try:
            sock.settimeout(stall_seconds)
            answer, keeps = exchange(sock, request, parts.netloc, target)
            return answer
        except (Broken, OSError) as error:
            raise NoAnswer(str(error) or type(error).__name__, sent=True) from error
        finally:
            self._leave(parts.netloc, sock, keeps=keeps)

    def _connected(self, netloc: str, host: str, port: int, seconds: float) -> socket.socket:
        with self._lock:
            idle = self._idle.get(netloc)
            if idle:
                return idle.pop()
        try:
            # As bytes: a text is looked up by rules for all the world's names, which take longer to load than the whole exchange.
            sock = socket.create_connection((host.encode("ascii"), port), timeout=seconds)  # type: ignore[arg-type]
        except OSError as error:
            raise NoAnswer(error.strerror or str(error), sent=False) from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def _leave(self, netloc: str, sock: socket.socket, *, keeps: bool) -> None:
        with self._lock:
            idle = self._idle.setdefault(netloc, [])
            if keeps and len(idle) < IDLE_MAX:
                idle.append(sock)
                return
        sock.close()
