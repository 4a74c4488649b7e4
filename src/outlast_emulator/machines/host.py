"""The computer that machines run on: disks, images, and machines that boot from them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outlast_emulator.machines import furniture, leftovers, world
from outlast_emulator.machines.disks import Disks
from outlast_emulator.machines.errors import DiskInUse
from outlast_emulator.machines.launcher import started
from outlast_emulator.machines.machine import Machine
from outlast_emulator.machines.metadata import Metadata
from outlast_emulator.machines.metadata_server import MetadataServer
from outlast_emulator.wire.gate import Gate

START = "import sys; sys.path.insert(0, sys.argv[1]); from outlast_emulator.machines import launch; launch.main(int(sys.argv[2]))"

NOT_ISOLATED = (
    "note: machines are plain processes of yours, not isolated: their scripts can do what you can\n"
    "hint: as root on Linux each has a disk and a network of its own\n"
)

Listen = Callable[[socket.socket, Gate], Callable[[], None]]
"""Serves the emulator's APIs on one more socket; returns what ends that."""


@dataclass(frozen=True)
class Boot:
    name: str
    disk_id: str
    metadata: Metadata
    api_port: int
    """The emulator's, which answers inside at 127.0.0.1 too; 0: at none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of its scripts, besides PATH and LANG. A real machine has none."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """Path inside -> directory of this computer, which the machine may read there; besides what `world` shows to all."""


class MachineHost:
    """`kind` is `isolated`, as root on Linux, or `plain` elsewhere (see `plain`). One host per data directory: an emulator's data
    has one owner. As root there is no way to `plain` but to ask for it: scripts of machines turn off whatever they run on."""

    def __init__(self, data: Path, listen: Listen | None = None, *, kind: str = "") -> None:
        self.data = data.resolve()
        self.kind = kind or ("isolated" if sys.platform == "linux" and os.geteuid() == 0 else "plain")
        self._listen = listen
        self._has_said = False
        self._lock = threading.Lock()
        self._machines: dict[str, Machine] = {}
        self.disks = Disks(self.data, flat=self.kind == "plain")
        leftovers.end(self.data)
        self.disks.clean()
        self._hidden = furniture.to_hide(self.data)

    # ------------------------------------------------------------------------------------------------- disks and images

    def make_disk(self, disk_id: str, image_id: str | None = None) -> None:
        """Of an image, or as a fresh system. One that is there already is left as it is."""
        self.disks.make(disk_id, image_id)

    def copy_image(self, disk_id: str, image_id: str) -> None:
        """Saves a disk as an image; a machine that runs on it stands still meanwhile."""
        machine = self._machines.get(disk_id)
        if machine is None:
            self.disks.save(disk_id, image_id)
            return
        with machine.frozen():
            self.disks.save(disk_id, image_id)

    def delete_disk(self, disk_id: str) -> None:
        """DiskInUse while a machine runs on it; one that is gone is not an error."""
        if disk_id in self._machines:
            raise DiskInUse(f"machine `{self._machines[disk_id].name}` runs on disk `{disk_id}`")
        self.disks.delete(disk_id)

    def delete_image(self, image_id: str) -> None:
        """Disks that were made of it keep what they need of it."""
        self.disks.delete_image(image_id)

    def has_image(self, image_id: str) -> bool:
        return self.disks.has_image(image_id)

    def disk_bytes(self, disk_id: str) -> int:
        return self.disks.bytes(disk_id)

    # --------------------------------------------------------------------------------------------------------- machines

    def boot(self, boot: Boot, on_exit: Callable[[], None]) -> Machine:
        """Returns when it is up, before its startup script has done anything. `on_exit` is called once, by a thread of the
        machine's own, when it ends by itself or by `soft_off`; not after `kill`."""
        disk = self.disks.path(boot.disk_id)
        if self.kind == "plain" and not self._has_said:
            self._has_said = True
            sys.stderr.write(NOT_ISOLATED)
        with self._lock:
            if boot.disk_id in self._machines:
                raise DiskInUse(f"machine `{self._machines[boot.disk_id].name}` runs on disk `{boot.disk_id}`")
            machine = self._launch(boot, disk)
            self._machines[boot.disk_id] = machine
        machine.on_end = lambda: self._forget(boot.disk_id, machine)
        try:
            sockets = machine.handshake()
        except BaseException:
            machine.abandon()
            self._forget(boot.disk_id, machine)
            raise
        self._serve(machine, boot, sockets)
        machine.go(on_exit)
        return machine

    def machines(self) -> list[Machine]:
        return list(self._machines.values())

    def close(self) -> None:
        """Ends all machines, as pulling the plug does."""
        for machine in self.machines():
            machine.kill()

    def _launch(self, boot: Boot, disk: Path) -> Machine:
        launcher, lines = started(START, disk, stdout=subprocess.DEVNULL)
        around = world.read(self.data)
        machine = Machine(boot.name, self.kind, launcher, lines, disk)
        machine.tell(
            {
                "kind": self.kind,
                "name": boot.name,
                "directory": str(self.data),
                "disk": boot.disk_id,
                "hidden": self._hidden,
                "layers": self.disks.layers(boot.disk_id),
                "room_bytes": around.room_bytes,
                "api_port": boot.api_port,
                "environment": {**boot.environment, **around.environment},
                "shown": {**around.shown, **boot.shown},
            }
        )
        return machine

    def _serve(self, machine: Machine, boot: Boot, sockets: list[socket.socket]) -> None:
        server = MetadataServer(boot.metadata, sockets[0])
        machine.closers.append(server.close)
        for sock in sockets[1:]:
            machine.closers.append(self._listen(sock, machine.gate) if self._listen is not None else sock.close)

    def _forget(self, disk_id: str, machine: Machine) -> None:
        with self._lock:
            if self._machines.get(disk_id) is machine:
                del self._machines[disk_id]
