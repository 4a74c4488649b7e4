"""The computer that containers run on: starts them, and cleans up what those of a killed emulator left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from outlast_emulator.containers.container import Container, OnLine
from outlast_emulator.containers.images import Image, Images
from outlast_emulator.containers.network import METADATA_ADDRESS, Network
from outlast_emulator.machines import furniture, leftovers
from outlast_emulator.machines.launcher import started

START = "import sys; sys.path.insert(0, sys.argv[1]); from outlast_emulator.containers import launch; launch.main(int(sys.argv[2]))"
NOT_ISOLATED = (
    "note: containers are plain processes of yours, not isolated: what they run can do what you can\n"
    "hint: as root on Linux each has the image's own file system and a network of its job's\n"
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Start:
    name: str
    """Of the replica, which is also its host's."""
    disk: str
    """What it writes is in a directory of this name, until it ends."""
    image: Image
    network: Network
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    hosts: Mapping[str, str]
    """Name -> address, of the other replicas."""
    shown: Mapping[str, str]
    """Path inside -> directory of this computer, which may be read there."""


class ContainerHost:
    """`kind` is `isolated`, as root on Linux, or `plain` elsewhere."""

    def __init__(self, data: Path, *, kind: str = "") -> None:
        self.data = data.resolve()
        self.kind = kind or ("isolated" if sys.platform == "linux" and os.geteuid() == 0 else "plain")
        self.images = Images(self.data, flat=self.kind == "plain")
        self._has_said = False
        disks = self.data / "disks"
        disks.mkdir(mode=0o700, exist_ok=True)
        leftovers.end(self.data)
        for path in disks.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        self._hidden = furniture.to_hide(self.data)

    def start(self, asked: Start, on_line: OnLine, on_exit: Callable[[Container], None]) -> Container:
        """Returns when its launcher runs; what happens then, `on_exit` tells."""
        if self.kind == "plain" and not self._has_said:
            self._has_said = True
            sys.stderr.write(NOT_ISOLATED)
        disk = self.data / "disks" / asked.disk
        disk.mkdir(mode=0o700, exist_ok=True)
        launcher, lines = started(START, disk, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        container = Container(asked.name, launcher, lines)

        def ended(one: Container) -> None:
            shutil.rmtree(disk, ignore_errors=True)
            on_exit(one)

        container.watch(on_line, ended)
        files = [asked.network.file] if asked.network.file >= 0 else []
        container.begin(self._spec(asked), files)
        return container

    def _spec(self, asked: Start) -> dict[str, object]:
        config = asked.image.config
        own = dict(one.partition("=")[::2] for one in config.get("Env") or ())
        words = [*(asked.command or config.get("Entrypoint") or ())]
        if asked.arguments or not asked.command:
            words += asked.arguments or config.get("Cmd") or ()
        named = {"metadata.google.internal": METADATA_ADDRESS, "metadata": METADATA_ADDRESS, **asked.hosts}
        hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in named.items())
        environment = {"PATH": PATH, "HOSTNAME": asked.name, **own, **asked.environment}
        if self.kind == "plain":
            environment["GCE_METADATA_HOST"] = environment["GCE_METADATA_IP"] = asked.network.metadata_host
        return {
            "kind": self.kind,
            "name": asked.name,
            "directory": str(self.data),
            "disk": asked.disk,
            "layers": list(asked.image.layers),
            "flat": asked.image.flat,
            "on_computer": asked.image.on_computer,
            "hidden": self._hidden,
            "hosts": hosts,
            "shown": dict(asked.shown),
            "words": words,
            "environment": environment,
            "user": str(config.get("User") or ""),
            "work_directory": str(config.get("WorkingDir") or "/"),
        }
