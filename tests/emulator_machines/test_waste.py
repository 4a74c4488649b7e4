"""Machines later the emulator is as it was: no open files, threads or directories are left of them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from outlast_emulator.testing import running
from tests.emulator_machines.conftest import Yard
from tests.waiting import until


def test_nothing_is_left_of_machines_that_are_gone(yard: Yard, tmp_path: Path) -> None:
    with running(tmp_path / "emulator") as emulator:
        assert emulator.inside is not None
        yard.host._listen = emulator.inside.listen
        port = int(emulator.url.rpartition(":")[2])

        def live(disk: str) -> None:
            booted = yard.boot(
                f"curl -s http://127.0.0.1:{port}/storage/v1/b?project=emulated; tell up yes; sleep 1000",
                disk=disk,
                api_port=port,
            )
            booted.told("up")
            booted.machine.cut(True)
            booted.machine.kill()
            yard.host.delete_disk(disk)

        live("first")
        until(lambda: not [one for one in threading.enumerate() if "machine" in one.name or "metadata" in one.name])
        files = len(os.listdir("/proc/self/fd"))
        for number in range(6):
            live(f"d{number}")
        until(lambda: not [one for one in threading.enumerate() if "machine" in one.name or "metadata" in one.name])
        until(lambda: len(os.listdir("/proc/self/fd")) <= files)
        for name in ("disks", "layers", "gone", "images"):
            assert list((yard.host.data / name).iterdir()) == []
