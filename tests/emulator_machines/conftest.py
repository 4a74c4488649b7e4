"""Machines for tests: a host in a scratch directory, and one call that boots a machine with a script."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.machines.host import Boot, MachineHost
from outlast_emulator.machines.machine import Machine
from outlast_emulator.machines.metadata import Metadata
from tests.waiting import until

ENABLED = {"instance/attributes/enable-guest-attributes": "TRUE"}
TELL = """#!/bin/bash
server=http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1
tell() { curl -sf -X PUT --data-binary "$2" -H 'Metadata-Flavor: Google' "$server/instance/guest-attributes/test/$1"; }
"""
"""How a script tells its test something: `tell KEY VALUE`."""


class Booted:
    """A machine, and what its test wants to know of it."""

    def __init__(self, machine: Machine, metadata: Metadata, exits: list[str]) -> None:
        self.machine = machine
        self.metadata = metadata
        self.exits = exits
        """One entry per call of `on_exit`: why the machine said that it had ended."""

    def told(self, key: str) -> str:
        """What its script told."""
        found = until(
            lambda: self.metadata.guest_attributes().get("test", {}).get(key), lambda: f"{key}\n{self.serial}"
        )
        return str(found)

    @property
    def serial(self) -> str:
        return self.machine.serial()[1].decode(errors="replace").replace("\r\n", "\n")


class Yard:
    """A host and the machines that a test boots on it."""

    def __init__(self, host: MachineHost) -> None:
        self.host = host
        self._numbers = itertools.count(1)

    def boot(self, script: str, *, disk: str = "", image: str | None = None, api_port: int = 0, **more: Any) -> Booted:
        number = next(self._numbers)
        disk = disk or f"disk-{number}"
        self.host.make_disk(disk, image)
        tree = {**ENABLED, "instance/attributes/startup-script": TELL + script, "instance/name": f"m{number}"}
        metadata = Metadata({**tree, **more.pop("tree", {})})
        exits: list[str] = []
        ready = threading.Event()
        machine = self.host.boot(
            Boot(f"m{number}", disk, metadata, api_port, **more), lambda: (ready.wait(), exits.append(machine.ended))[1]
        )
        ready.set()
        return Booted(machine, metadata, exits)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """Machines as root has them."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("isolated machines need root on Linux: `sudo make lane-emulator_machines`")
    host = MachineHost(tmp_path / "machines", kind="isolated")
    yield Yard(host)
    host.close()


@pytest.fixture
def plain_yard(tmp_path: Path) -> Iterator[Yard]:
    """Machines as everybody else has them."""
    host = MachineHost(tmp_path / "plain machines", kind="plain")
    yield Yard(host)
    host.close()


@pytest.fixture(params=["isolated", "plain"])
def either(request: pytest.FixtureRequest) -> Yard:
    """What both kinds promise."""
    found: Yard = request.getfixturevalue("yard" if request.param == "isolated" else "plain_yard")
    return found
