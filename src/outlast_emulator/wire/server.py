"""The HTTP server: one loop for small and quick requests, threads for all others.

The loop reads what clients send. A request that is small and quick is answered right there, without a change of thread,
which is what makes thousands of them a second possible in Python. Whatever is large, waits or is to be damaged goes with its
connection to a thread, and the connection comes back to the loop afterwards.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial

from outlast_emulator.clock import monotonic, pause
from outlast_emulator.emulator import Emulator
from outlast_emulator.errors import ApiError, json_error
from outlast_emulator.request import Request
from outlast_emulator.response import FileSlice, Response, pieces
from outlast_emulator.wire import head as heads
from outlast_emulator.wire import sending
from outlast_emulator.wire.bodies import MemoryBody
from outlast_emulator.wire.connection import CONTROL, Connection
from outlast_emulator.wire.crew import Crew
from outlast_emulator.wire.gate import Gate

SMALL_BYTES = 256 << 10
"""A body up to here is collected in memory by the loop."""

BACKLOG = 1024
TICK_SECONDS = 1.0
ACCEPT_PAUSE_SECONDS = 0.05
"""Before the next try when no more connections can be opened."""
RECEIVE_BYTES = 120 << 10
"""Memory for so much is asked for at each look, however little comes: of 128 KiB and more the system gives new pages each time, which
costs more than receiving a small request."""
TLS_FIRST_BYTE = b"\x16"


class Server:
    def __init__(
        self,
        emulator: Emulator,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self.emulator = emulator
        self._tls = tls
        self._crew = Crew()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((host, port), backlog=BACKLOG)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self._waker, self._wakes = socket.socketpair()
        self._wakes.setblocking(False)
        self._back: deque[Connection] = deque()
        self._held: list[Connection] = []
        self._calls: deque[Callable[[], object]] = deque()
        """For the loop to make: only it touches the selector's list of listeners."""
        self._stopping = False
        emulator.url = self.url
        emulator.compute.contents.listen = self.listen
        emulator.listen = self.listen

    def start(self) -> None:
        self._thread = threading.Thread(target=self.serve, name="emulator-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._wake()
        self._thread.join(10)

    def listen(self, listener: socket.socket, gate: Gate) -> Callable[[], None]:
        """Serves one more socket, which listens already, until what this returns is called."""
        listener.setblocking(False)
        accept = partial(self._accept, listener, gate)
        self._soon(lambda: self._selector.register(listener, selectors.EVENT_READ, accept))

        def end() -> None:
            gate.heal()
            if self._stopping:  # the loop does nothing for anybody any more
                listener.close()
            else:
                self._soon(partial(self._stop_listening, listener))

        return end

    def _stop_listening(self, listener: socket.socket) -> None:
        self._selector.unregister(listener)
        listener.close()

    def _soon(self, call: Callable[[], object]) -> None:
        self._calls.append(call)
        self._wake()

    def serve(self) -> None:
        """Until `stop`."""
        self._selector.register(self._listener, selectors.EVENT_READ, partial(self._accept, self._listener, None))
        self._selector.register(self._wakes, selectors.EVENT_READ, self._take_back)
        ticked_at = 0.0
        while not self._stopping:
            for key, _ in self._selector.select(1.0):
                if isinstance(key.data, Connection):
                    self._served(key.data)
                else:
                    key.data()
            if self._held and not self.emulator.faults.network_cut:
                for connection in self._held:
                    connection.close()
                self._held.clear()
            if monotonic() - ticked_at > TICK_SECONDS:
                ticked_at = monotonic()
                self.emulator.tick()
        self._listener.close()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Connection):
                key.data.close()
        self._selector.close()

    # ------------------------------------------------------------------------------------------------------ connections

    def _accept(self, listener: socket.socket, gate: Gate | None) -> None:
        for _ in range(BACKLOG):
            try:
                sock, _address = listener.accept()
            except BlockingIOError:
                return
            except OSError:
                pause(ACCEPT_PAUSE_SECONDS)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock, self.emulator, gate)
            self._selector.register(sock, selectors.EVENT_READ, connection)

    def _take_back(self) -> None:
        try:
            self._wakes.recv(4096)
        except BlockingIOError:
            pass
        while self._calls:
            self._calls.popleft()()
        while self._back:
            connection = self._back.popleft()
            try:
                connection.sock.setblocking(False)
                self._selector.register(connection.sock, selectors.EVENT_READ, connection)
            except (OSError, ValueError):
                continue
            if connection.buffer:
                self._advance(connection)

    def _wake(self) -> None:
        try:
            self._waker.send(b"!")
        except OSError:
            pass

    def _drop(self, connection: Connection) -> None:
        try:
            self._selector.unregister(connection.sock)
        except (KeyError, ValueError):
            pass
        connection.close()

    def _served(self, connection: Connection) -> None:
        try:
            self._readable(connection)
        except Exception:  # noqa: BLE001  the edge: whatever happens to one connection, the loop goes on
            if not self._stopping:
                sys.stderr.write(f"bug in the server: {traceback.format_exc()}")
            self._drop(connection)

    def _readable(self, connection: Connection) -> None:
        try:
            if connection.fresh and self._is_tls(connection):
                return
            data = connection.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        connection.buffer += data
        self._advance(connection)

    def _is_tls(self, connection: Connection) -> bool:
        """One port for both: the first byte of a TLS connection is the first of no verb."""
        connection.fresh = False
        if self._tls is None or connection.sock.recv(1, socket.MSG_PEEK) != TLS_FIRST_BYTE:
            return False
        self._selector.unregister(connection.sock)
        self._crew.do(partial(connection.serve_tls, self._tls))
        return True

    def _advance(self, connection: Connection) -> None:
        """Answers what is complete in the buffer, or hands the connection over."""
        while connection.buffer:
            try:
                if connection.head is None and not connection.find_head():
                    return
            except heads.BadHead as error:
                self._refuse(connection, error)
                return
            head = connection.head
            assert head is not None
            if self._cut(connection, head):
                return
            request = self._quick(head)
            if request is None:
                self._hand_over(connection)
                return
            if head.length and len(connection.buffer) < head.length:
                if head.expects and not connection.told_to_go_on:
                    connection.go_on()
                return  # the rest of a small body is on its way
            if not self._answer(connection, head, request):
                return

    def _quick(self, head: heads.Head) -> Request | None:
        """The request, if it may be answered in the loop."""
        if head.length is None or head.length > SMALL_BYTES or not self.emulator.calm:
            return None
        request = Request(head.verb, head.path, head.query, head.headers, MemoryBody(b""))
        wrong = self.emulator.find(request)
        route = None if wrong is not None else request.route
        return None if route is not None and not (route.quick and request.method_id not in route.slow) else request

    def _answer(self, connection: Connection, head: heads.Head, request: Request) -> bool:
        """True: all was sent, and the connection is ready for the next request."""
        if head.length:
            request.body = MemoryBody(bytes(connection.buffer[: head.length]))
            del connection.buffer[: head.length]
        connection.head = None
        response = self.emulator.dispatch(request)
        body = response.payload()
        if isinstance(body, FileSlice) and body.length <= SMALL_BYTES:
            file = body.file
            body = b"".join(pieces(body))
            file.close()
        if response.wire is not None or not isinstance(body, bytes):
            self._selector.unregister(connection.sock)
            self._crew.do(partial(self._finish, connection, head, response))
            return False
        date = self.emulator.clock.http_date()
        data = sending.head_bytes(response, len(body), date, keep_alive=head.keep_alive)
        if head.verb != "HEAD" and response.status not in (204, 304):
            data += body
        try:
            sent = connection.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(connection)
            return False
        if sent < len(data):
            self._selector.unregister(connection.sock)
            self._crew.do(partial(self._finish_bytes, connection, head, data[sent:]))
            return False
        if not head.keep_alive:
            self._drop(connection)
        return head.keep_alive

    # ---------------------------------------------------------------------------------------------------------- threads

    def _hand_over(self, connection: Connection) -> None:
        self._selector.unregister(connection.sock)
        self._crew.do(partial(self._serve_one, connection))

    def _serve_one(self, connection: Connection) -> None:
        if connection.serve_one():
            self._return(connection)

    def _finish(self, connection: Connection, head: heads.Head, response: Response) -> None:
        if connection.send(head, response) and head.keep_alive:
            self._return(connection)
        else:
            connection.close()

    def _finish_bytes(self, connection: Connection, head: heads.Head, data: bytes) -> None:
        if connection.send_bytes(data) and head.keep_alive:
            self._return(connection)
        else:
            connection.close()

    def _return(self, connection: Connection) -> None:
        self._back.append(connection)
        self._wake()

    # --------------------------------------------------------------------------------------------------------- refusing

    def _cut(self, connection: Connection, head: heads.Head) -> bool:
        if connection.gate is not None and connection.is_held:
            self._selector.unregister(connection.sock)
            connection.gate.hold(connection.sock)
            return True
        how = self.emulator.faults.network_cut
        if not how or head.path.startswith(CONTROL):
            return False
        self._selector.unregister(connection.sock)
        if how == "silent":
            self._held.append(connection)
        else:
            sending.reset(connection.sock)
        return True

    def _refuse(self, connection: Connection, error: heads.BadHead) -> None:
        response = json_error(ApiError(error.status, "badRequest", f"Bad request: {error}."))
        body = response.payload()
        assert isinstance(body, bytes)
        head = sending.head_bytes(response, len(body), self.emulator.clock.http_date(), keep_alive=False)
        try:
            connection.sock.send(head + body)
        except OSError:
            pass
        self._drop(connection)
