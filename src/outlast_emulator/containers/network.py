"""The network of one job: a loopback of its own that its replicas share, with the metadata server and the emulator's port on it.

A thread makes the namespace and the sockets in it, and ends; an open file keeps it. When the emulator is gone and the last
replica with it, so is the namespace. Without root there is none, and the computer's own loopback serves.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

from outlast_emulator.machines.host import Listen
from outlast_emulator.machines.metadata import Metadata
from outlast_emulator.machines.metadata_server import MetadataServer
from outlast_emulator.wire.gate import Gate

METADATA_ADDRESS = "169.254.169.254"
BACKLOG = 256


class Network:
    def __init__(self, metadata: Metadata, api_port: int, listen: Listen | None, *, isolated: bool) -> None:
        self.metadata = metadata
        self.gate = Gate()
        self.file = -1
        """Of the namespace; -1: there is none."""
        self.metadata_host = METADATA_ADDRESS
        self._closers: list[Callable[[], None]] = []
        if isolated:
            sockets = self._made(api_port)
        else:
            sockets = [socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)]
            self.metadata_host = f"127.0.0.1:{sockets[0].getsockname()[1]}"
        self._closers.append(MetadataServer(metadata, sockets[0]).close)
        for sock in sockets[1:]:
            self._closers.append(listen(sock, self.gate) if listen is not None else sock.close)

    def close(self) -> None:
        closers, self._closers = self._closers, []
        for close in closers:
            close()
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def _made(self, api_port: int) -> list[socket.socket]:
        found: list[socket.socket] = []
        wrong: list[OSError] = []

        def make() -> None:
            try:
                found.extend(self._inside(api_port))
            except OSError as error:
                wrong.append(error)

        thread = threading.Thread(target=make, name="network")
        thread.start()
        thread.join()
        if wrong:
            raise wrong[0]
        return found

    def _inside(self, api_port: int) -> list[socket.socket]:
        """In a thread of its own, which stays in the new namespace until it ends."""
        from outlast_emulator.machines import linux

        linux.unshare(linux.CLONE_NEWNET)
        self.file = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        linux.raise_loopback(METADATA_ADDRESS)
        places = [(METADATA_ADDRESS, 80)] + ([("127.0.0.1", api_port)] if api_port else [])
        return [socket.create_server(place, backlog=BACKLOG) for place in places]
