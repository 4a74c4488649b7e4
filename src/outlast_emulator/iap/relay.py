"""The subprotocol of a tunnel, as gcloud speaks it: tagged frames between a websocket and a port of a machine."""

from __future__ import annotations

import secrets
import selectors
import socket
import struct

from outlast_emulator.wire.websocket import Closed, Websocket

SUBPROTOCOL = "relay.tunnel.cloudproxy.app"
CONNECTED, DATA, ACK = 0x0001, 0x0004, 0x0007
DATA_BYTES_MAX = 16384
NORMAL = 1000


def relay(websocket: Websocket, backend: socket.socket) -> None:
    """Until one of the two ends; then both have. By one thread: an encrypted connection is not for two."""
    name = secrets.token_urlsafe(16).encode()
    with backend, selectors.DefaultSelector() as selector:
        selector.register(websocket.sock, selectors.EVENT_READ, True)
        selector.register(backend, selectors.EVENT_READ, False)
        try:
            websocket.send(struct.pack(">HI", CONNECTED, len(name)) + name)
            _carry(websocket, backend, selector)
        except (Closed, OSError):
            pass
        websocket.close(NORMAL, "")


def _carry(websocket: Websocket, backend: socket.socket, selector: selectors.BaseSelector) -> None:
    received = 0
    while True:
        waiting = websocket.waiting
        ready = [key.data for key, _ in selector.select(0 if waiting else None)]
        if waiting or True in ready:
            message = websocket.receive()
            if len(message) >= 6 and message[:2] == struct.pack(">H", DATA):
                (size,) = struct.unpack(">I", message[2:6])
                backend.sendall(message[6 : 6 + size])
                received += size
                websocket.send(struct.pack(">HQ", ACK, received))
            # else its acknowledgements: nothing is kept here that they would free
        if False in ready:
            data = backend.recv(DATA_BYTES_MAX)
            if not data:
                return
            websocket.send(struct.pack(">HI", DATA, len(data)) + data)
