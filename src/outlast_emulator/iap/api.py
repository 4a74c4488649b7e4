"""`/v4/connect`: who may opens a port of a machine, if the network's rules let the proxy in.

gcloud is led here by its own `--iap-tunnel-url-override`. What is wrong with the machine or its port is told by the code that the
websocket closes with, as Google's does.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from outlast_emulator.clock import monotonic, pause
from outlast_emulator.compute.firewalls import lets_in
from outlast_emulator.compute.resources import Instance
from outlast_emulator.errors import ApiError, not_implemented
from outlast_emulator.iap.relay import SUBPROTOCOL, relay
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route
from outlast_emulator.wire.websocket import Websocket, accepting

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator

PROXY = "35.235.240.0/20"
"""Where its connections come from, which the machine's network must let in."""

NO_BACKEND, NO_INSTANCE = (4003, "failed to connect to backend"), (4047, "Failed to lookup instance")
LISTEN_SECONDS_MAX = 30.0
"""A machine that was asked to listen for ssh makes its keys first."""
LOOK_SECONDS = 0.05


def routes(emulator: Emulator) -> list[Route]:
    api = _Tunnels(emulator.compute)
    return [
        Route("iap.tunnelInstances.connect", "GET", "/v4/connect", api.connect, quick=False),
        Route("iap.tunnelInstances.reconnect", "GET", "/v4/reconnect", api.reconnect, quick=False),
    ]


class _Tunnels:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def connect(self, request: Request) -> Response:
        headers = accepting(request.headers, SUBPROTOCOL)
        place = request.query("project"), request.query("zone"), request.query("instance")
        port = request.number("port") or 0

        def serve(sock: socket.socket, begun: bytes) -> None:
            websocket = Websocket(sock, begun)
            instance = self._running(*place)
            backend = self._backend(instance, port) if instance is not None else None
            if backend is not None:
                relay(websocket, backend)
            else:
                websocket.close(*(NO_BACKEND if instance is not None else NO_INSTANCE))

        return Response(101, b"", headers, upgrade=serve)

    def reconnect(self, request: Request) -> Response:
        raise not_implemented(request.method_id)

    def _running(self, project: str, zone: str, name: str) -> Instance | None:
        try:
            instance = self._compute.instances.find(project, zone, name)
        except ApiError:
            return None
        return instance if instance.status == "RUNNING" else None

    def _backend(self, instance: Instance, port: int) -> socket.socket | None:
        if not lets_in(self._compute, instance, PROXY, port):
            return None
        until = monotonic() + LISTEN_SECONDS_MAX
        while True:
            guest = self._compute.instances.guest(instance)
            if guest is None:
                return None
            try:
                return guest.connect(port)
            except OSError:
                if not guest.will_listen(port) or monotonic() >= until:
                    return None
            pause(LOOK_SECONDS)
