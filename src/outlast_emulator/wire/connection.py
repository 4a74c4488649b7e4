"""One connection, and how a thread serves it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable

from outlast_emulator.emulator import Emulator
from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.wire import head as heads
from outlast_emulator.wire import sending
from outlast_emulator.wire.bodies import PIECE_BYTES, BadChunk, BodyCut, ChunkedBody, SocketBody
from outlast_emulator.wire.gate import Gate

CONTROL = "/_emulator/"
"""What a cut network does not cut."""

SILENCE_SECONDS_MAX = 600.0
"""A client that sends or takes nothing for so long, in the middle of a request, is gone."""


class Connection:
    def __init__(self, sock: socket.socket, emulator: Emulator, gate: Gate | None = None) -> None:
        self.sock = sock
        self.gate = gate
        """Of the machine that it comes from, if it does."""
        self.buffer = bytearray()
        self.head: heads.Head | None = None
        """Parsed, and taken from the buffer; its body may still be on its way."""
        self.fresh = True
        self.told_to_go_on = False
        self._emulator = emulator
        self._scheme = "http"

    def find_head(self) -> bool:
        found = heads.parse(self.buffer)
        if found is None:
            return False
        self.head, used = found
        del self.buffer[:used]
        self.told_to_go_on = False
        return True

    def go_on(self) -> None:
        self.told_to_go_on = True
        self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def serve_one(self) -> bool:
        """The request whose head was found, by this thread; True: the connection may be used for the next."""
        head = self.head
        assert head is not None
        self.head = None
        self.sock.settimeout(SILENCE_SECONDS_MAX)
        begun = bytes(self.buffer)
        self.buffer.clear()
        try:
            if self.is_held or not head.path.startswith(CONTROL):
                self._watch()
            if head.expects and not self.told_to_go_on and not begun:
                self.go_on()
            body: SocketBody | ChunkedBody
            if head.length is None:
                body = ChunkedBody(self.sock, begun, self._watch)
            else:
                body = SocketBody(self.sock, begun, head.length, self._watch)
            request = Request(head.verb, head.path, head.query, head.headers, body, self._scheme)
            response = self._emulator.dispatch(request)
            _drain(body)
            date = self._emulator.clock.http_date()
            if response.upgrade is not None:
                self._become_other(response, response.upgrade, date, body.surplus)
                return False
            sending.send(self.sock, head.verb, response, date, self._watch, keep_alive=head.keep_alive)
        except BadChunk as error:
            self.send(
                head._replace(keep_alive=False), json_error(ApiError(400, "badRequest", f"Bad request: {error}."))
            )
            self.close()
            return False
        except sending.Gone:
            self.close()  # in order, so that what was sent arrives
            return False
        except OSError:
            if self.gate is not None and self.is_held:
                self.gate.hold(self.sock)
            else:
                sending.reset(self.sock)
            return False
        if not head.keep_alive:
            self.close()
            return False
        self.buffer += body.surplus
        return True

    def _become_other(
        self, response: Response, upgrade: Callable[[socket.socket, bytes], None], date: str, begun: bytes
    ) -> None:
        """No request follows on this connection: whoever upgrades it has it to its end, however long nothing is said."""
        self.sock.sendall(sending.head_bytes(response, None, date, keep_alive=True))
        self.sock.settimeout(None)
        upgrade(self.sock, begun)
        self.close()

    def serve_tls(self, context: Callable[[], ssl.SSLContext]) -> None:
        """All requests of an encrypted connection, until it ends."""
        self.sock.settimeout(SILENCE_SECONDS_MAX)
        try:
            self.sock = context().wrap_socket(self.sock, server_side=True)
            self._scheme = "https"
            while True:
                while not self.find_head():
                    data = self.sock.recv(1 << 16)
                    if not data:
                        self.close()
                        return
                    self.buffer += data
                if not self.serve_one():
                    return
        except (OSError, heads.BadHead):
            self.close()

    def send(self, head: heads.Head, response: Response) -> bool:
        self.sock.settimeout(SILENCE_SECONDS_MAX)
        try:
            sending.send(
                self.sock,
                head.verb,
                response,
                self._emulator.clock.http_date(),
                self._watch,
                keep_alive=head.keep_alive,
            )
        except OSError:
            return False
        return True

    def send_bytes(self, data: bytes) -> bool:
        self.sock.settimeout(SILENCE_SECONDS_MAX)
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        return True

    def close(self) -> None:
        self.sock.close()

    @property
    def is_held(self) -> bool:
        """The network of its machine is cut."""
        return self.gate is not None and self.gate.is_cut

    def _watch(self) -> None:
        """Called between two pieces of a body: a cut network cuts transfers that are under way."""
        if self._emulator.faults.network_cut or self.is_held:
            raise BodyCut("the network was cut")


def _drain(body: SocketBody | ChunkedBody) -> None:
    """Reads what nobody wanted: a client that is still sending does not look for the answer."""
    while body.read(PIECE_BYTES):
        pass
