"""What is on disks and images, and the machines that boot from them: the model's side of whoever runs machines."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from outlast_emulator.compute import machine_metadata
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.hosting import Guest, Silence
from outlast_emulator.compute.resources import Instance
from outlast_emulator.machines.errors import DiskInUse, MachineError
from outlast_emulator.machines.host import Boot, Listen, MachineHost
from outlast_emulator.machines.machine import Machine
from outlast_emulator.machines.metadata import Identity, Metadata, Token
from outlast_emulator.machines.serial import read_serial

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

DIRECTORY = "machines"
DROP_AGAIN_SECONDS = 10.0
"""Until a disk that is still in use is looked at again."""


class MachineGuest:
    """A machine that really runs, and its metadata."""

    def __init__(self, machine: Machine, metadata: Metadata) -> None:
        self.machine = machine
        self.metadata = metadata

    def alive(self) -> bool:
        return self.machine.alive()

    def ended(self) -> str:
        return self.machine.ended

    def soft_off(self, seconds: float) -> None:
        self.machine.soft_off(seconds)

    def kill(self) -> None:
        self.machine.kill()

    def cut(self, cut: bool) -> None:
        self.machine.cut(cut)

    def serial(self) -> tuple[int, bytes]:
        return self.machine.serial()

    def tell(self, path: str, value: str) -> None:
        self.metadata.set(path, value)

    def attributes(self, values: dict[str, str]) -> None:
        self.metadata.set("instance/attributes", values)

    def guest_attributes(self) -> dict[str, str]:
        found = self.metadata.guest_attributes()
        return {f"{space}/{key}": value for space, keys in found.items() for key, value in keys.items()}

    def connect(self, port: int) -> socket.socket:
        return self.machine.connect(port)

    def will_listen(self, port: int) -> bool:
        return self.machine.will_listen(port)


class Contents:
    """Disks are known to the host by their numbers, images too; one of Google's is a fresh system."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._host: MachineHost | None = None
        self.listen: Listen | None = None
        """Serves the emulator's APIs inside machines; set by the server."""
        self.port: Callable[[], int] = lambda: 0
        self.environment: Callable[[], Mapping[str, str]] = dict
        self.token: Token | None = None
        self.identity: Identity | None = None
        compute.scheduler.on("disks.copy", self._copy_disk, slow=True)
        compute.scheduler.on("disks.drop", self._drop_disk, slow=True)
        compute.scheduler.on("images.drop", self._drop_image, slow=True)

    def start(self) -> None:
        """What machines of a killed emulator left behind is cleaned up, if there were any."""
        if (self._compute.root / DIRECTORY).exists():
            self._machines()

    def boot(self, instance: Instance) -> Guest:
        """A machine for an instance, running when this returns. MachineError: it cannot be had."""
        host = self._machines()
        disk = self._compute.disks.boot_disk(instance)
        if host is None or disk is None:
            return Silence()
        host.make_disk(str(disk.id), self._image_id(disk.state.get("image", 0)))
        from outlast_emulator.compute.api_project import items

        known = machine_metadata.tree(instance, items(self._compute))
        metadata = Metadata(known, token=self.token, identity=self.identity)
        number = instance.id
        asked = Boot(instance.name, str(disk.id), metadata, self.port(), self.environment())
        machine = host.boot(asked, lambda: self._exited(number))
        return MachineGuest(machine, metadata)

    def _exited(self, number: int) -> None:
        try:
            self._compute.instances.exited(number)
        except sqlite3.ProgrammingError:  # the emulator ended at the same moment
            return

    def serial(self, instance: Instance) -> tuple[int, bytes] | None:
        """None: nothing can be read now."""
        guest = self._compute.instances.guest(instance)
        if guest is not None:
            return guest.serial()
        if instance.status == "TERMINATED" and not self._compute.switches.serial_after_stop:
            return None
        host, disk = self._machines(), self._compute.disks.boot_disk(instance)
        if host is None or disk is None or not instance.state.get("boots"):
            return None
        return read_serial(host.disks.path(str(disk.id)))

    def copy_image(self, source: int, source_kind: str, image: int) -> int:
        """A disk, or another image, saved as an image; how many bytes it has."""
        host = self._machines()
        if host is None:
            return 0
        disk_id = str(source)
        if source_kind == "images":
            disk_id = f"of-image-{image}"
            host.make_disk(disk_id, self._image_id(source))
        else:
            disk = self._compute.resources.by_id(source)
            host.make_disk(disk_id, self._image_id(disk.state.get("image", 0)) if disk is not None else None)
        host.copy_image(disk_id, str(image))
        size = host.disk_bytes(disk_id)
        if source_kind == "images":
            host.delete_disk(disk_id)
        return size

    def _copy_disk(self, number: int, operation: int) -> None:
        """A disk that is a copy begins with an image of its own number, which goes with it."""
        compute, failure = self._compute, None
        disk, running = compute.resources.by_id(number), compute.resources.by_id(operation)
        if disk is not None:
            try:
                self.copy_image(disk.state["copied"], "disks", number)
            except (OSError, MachineError) as error:
                failure = Failure("RESOURCE_OPERATION_FAILED", f"The disk could not be copied: {error}", 503)
        if running is not None:
            compute.operations.end(running, failure)

    def project_changed(self, items: list[dict[str, str]]) -> None:
        """The project's metadata, which every machine sees."""
        values = {one["key"]: one["value"] for one in items}
        for instance in self._compute.instances.all():
            guest = self._compute.instances.guest(instance)
            if isinstance(guest, MachineGuest):
                guest.metadata.set("project/attributes", values)

    def close(self) -> None:
        if self._host is not None:
            self._host.close()

    @property
    def kind(self) -> str:
        """`isolated`, `plain`, or "" where nothing runs."""
        host = self._machines()
        return host.kind if host is not None else ""

    def _machines(self) -> MachineHost | None:
        if not self._compute.switches.machines:
            return None
        with self._lock:
            if self._host is None:
                self._host = MachineHost(self._compute.root / DIRECTORY, self.listen)
            return self._host

    def _image_id(self, number: int) -> str | None:
        """None: a fresh system, for Google's images."""
        host = self._machines()
        known = host is not None and number and host.has_image(str(number))
        return str(number) if known else None

    def _drop_disk(self, number: int) -> None:
        if self._host is None:
            return
        try:
            self._host.delete_disk(str(number))
        except DiskInUse:  # by a machine that outlives its instance (`zombies`)
            self._compute.scheduler.later(DROP_AGAIN_SECONDS, "disks.drop", number=number)

    def _drop_image(self, number: int) -> None:
        if self._host is not None:
            self._host.delete_image(str(number))
