"""Identity-Aware Proxy's tunnel to a port of a machine: who may, which machine, what its network lets in; a client by RFC 6455."""

from __future__ import annotations

import socket
import struct
from urllib.parse import urlencode

from tests.emulator_compute.conftest import PROJECT, ZONE, Api
from tests.emulator_compute.test_permissions import login
from tests.waiting import until

ROLE = "roles/iap.tunnelResourceAccessor"
PROXY = "35.235.240.0/20"
SERVE = "#!/bin/sh\ncd /srv && echo inside > word && exec python3 -m http.server 8000 --bind 127.0.0.1\n"
CONNECTED, DATA = 1, 4
BINARY, CLOSE = 2, 8


class Tunnel:
    """Its handshake is done, and was taken; or `status` says how it was refused."""

    def __init__(self, api: Api, port: int, instance: str = "vm") -> None:
        host, _, number = api.emulator.url.split("://")[1].partition(":")
        self.sock = socket.create_connection((host, int(number)), 60)
        self.file = self.sock.makefile("rb")
        asked = {"project": PROJECT, "zone": ZONE, "instance": instance, "interface": "nic0", "port": port}
        lines = [
            f"GET /v4/connect?{urlencode(asked)} HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: relay.tunnel.cloudproxy.app",
            *(f"{name}: {value}" for name, value in api.headers.items()),
        ]
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode())
        self.status = int(self.file.readline().split()[1])
        heads = dict(line.decode().strip().lower().split(": ", 1) for line in iter(self.file.readline, b"\r\n"))
        if self.status == 101:
            assert heads["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".lower()

    def receive(self) -> tuple[int, bytes]:
        first, size = self.file.read(2)
        if size == 126:
            (size,) = struct.unpack(">H", self.file.read(2))
        return first & 15, self.file.read(size)

    def closed_with(self) -> int:
        kind, data = self.receive()
        assert kind == CLOSE, data
        return int(struct.unpack(">H", data[:2])[0])

    def send(self, data: bytes) -> None:
        framed = struct.pack(">HI", DATA, len(data)) + data
        mask = b"\x11\x22\x33\x44"
        hidden = bytes(byte ^ mask[at % 4] for at, byte in enumerate(framed))
        self.sock.sendall(struct.pack(">BB", 0x80 | BINARY, 0x80 | len(framed)) + mask + hidden)

    def data(self) -> bytes:
        """All that comes until the machine's side ends."""
        found = b""
        while True:
            kind, frame = self.receive()
            if kind == CLOSE:
                return found
            if frame[:2] == struct.pack(">H", DATA):
                found += frame[6:]


def allow(api: Api, name: str, kind: str = "allowed", **more: object) -> None:
    rule = {"name": name, kind: [{"IPProtocol": "tcp", "ports": ["7000-8000"]}], "sourceRanges": [PROXY], **more}
    api.done(api.post("global/firewalls", rule))


def test_a_port_of_a_machine_is_reached_where_its_network_lets_the_proxy_in(real: Api) -> None:
    real.make(script=SERVE)
    assert Tunnel(real, 8000).closed_with() == 4003, "no rule lets it in"
    allow(real, "tunnel")

    def fetched() -> bytes:
        tunnel = Tunnel(real, 8000)
        kind, first = tunnel.receive()
        if kind == CLOSE:  # it does not listen yet
            return b""
        assert first[:2] == struct.pack(">H", CONNECTED)
        tunnel.send(b"GET /word HTTP/1.0\r\n\r\n")
        return tunnel.data()

    assert until(fetched, "its port is never served").endswith(b"\r\n\r\ninside\n")
    assert Tunnel(real, 7999).closed_with() == 4003, "nobody listens"
    allow(real, "wall", "denied", priority=10)
    assert Tunnel(real, 8000).closed_with() == 4003, "a rule of a higher priority keeps it out"


def test_only_who_may_gets_to_a_machine_that_runs(api: Api) -> None:
    assert Tunnel(api, 22, "nobody").closed_with() == 4047
    api.make()
    assert Tunnel(api, 22).closed_with() == 4003, "where machines are records only, nothing listens"
    plain = api.emulator.call("GET", "/v4/connect?instance=vm")
    assert plain.status == 400 and b"relay.tunnel" in plain.body
    assert api.emulator.call("GET", "/v4/reconnect?sid=x").status == 501
    login(api, "roles/compute.admin")
    assert Tunnel(api, 22).status == 403
    login(api, "roles/compute.admin", ROLE)
    assert Tunnel(api, 22).closed_with() == 4003
