"""Compute Engine's state survives SIGKILL: what was under way goes on, what ran died with its host, and nothing is forgotten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outlast_emulator.testing import Running, start_process
from tests.emulator_compute.conftest import ZONE, Api, body
from tests.waiting import until

HERE = f"zones/{ZONE}/instances"
SPOT = {"provisioningModel": "SPOT"}


class Emulators:
    """One after another on the same data; `kill` ends the present one as a power cut of its process does."""

    def __init__(self, data: Path, time_scale: float) -> None:
        self._data = data
        self._time_scale = time_scale
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, **switches: object) -> Api:
        self._child = start_process(self._data, time_scale=self._time_scale)
        assert self._child.stdout is not None
        found = Running(json.loads(self._child.stdout.readline())["url"], self._data, pid=self._child.pid)
        if switches:
            found.switch(**switches)
        return Api(found)

    def kill(self) -> None:
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait(60)
        for pipe in (self._child.stdout, self._child.stdin):
            if pipe is not None:
                pipe.close()
        self._child = None

    def close(self) -> None:
        if self._child is not None:
            self.kill()


@contextmanager
def emulators(data: Path, time_scale: float = 0.01) -> Iterator[Emulators]:
    found = Emulators(data, time_scale)
    try:
        yield found
    finally:
        found.close()


def test_what_was_under_way_goes_on_after_a_kill(tmp_path: Path) -> None:
    with emulators(tmp_path) as those:
        api = those.start(machines=False, boot_seconds=300.0, image_seconds=300.0, delete_seconds=300.0)
        made = api.post(HERE, body("made"))
        disk = api.done(api.post(f"zones/{ZONE}/disks", {"name": "d", "sizeGb": "20"}))
        image = api.post("global/images", {"name": "i", "sourceDisk": disk["targetLink"]})
        api.control("POST", "capacity", {"zone": "us-east1-b"})
        api.control("POST", "quotas", {"metric": "CPUS", "limit": 7, "region": "us-east1"})
        assert api.instance("made")["status"] == "PROVISIONING"
        those.kill()
        api = those.start(machines=False)
        assert "error" not in api.done(made) and "error" not in api.done(image)
        assert api.instance("made")["status"] == "RUNNING"
        assert api.get("global/images/i")["status"] == "READY"
        assert api.control("GET", "capacity")["rules"][0]["zone"] == "us-east1-b"
        limits = {one["metric"]: one["limit"] for one in api.get("regions/us-east1")["quotas"]}
        assert limits["CPUS"] == 7


def test_a_delete_that_was_begun_ends_after_a_kill(tmp_path: Path) -> None:
    with emulators(tmp_path) as those:
        api = those.start(machines=False, delete_seconds=300.0)
        api.make()
        gone = api.delete(f"{HERE}/vm")
        those.kill()
        api = those.start(machines=False)
        api.done(gone)
        assert api.refused("GET", f"{HERE}/vm")[0] == 404
        assert api.control("GET", "ledger")["alive"] == []


def test_running_machines_died_with_their_host(tmp_path: Path) -> None:
    with emulators(tmp_path) as those:
        api = those.start()
        script = "#!/bin/bash\necho x >> /boots\necho boot $(wc -l < /boots)\n"
        items = {"items": [{"key": "startup-script", "value": script}]}
        api.make("standard", metadata=items)
        api.make("spot", scheduling=SPOT, metadata=items)
        before = {one["instance"]: one["pid"] for one in api.control("GET", "machines")["machines"]}
        until(lambda: "boot 1" in api.get(f"{HERE}/standard/serialPort").get("contents", ""))
        those.kill()
        api = those.start()
        until(lambda: api.instance("spot")["status"] == "TERMINATED")
        until(lambda: api.instance("standard")["status"] == "RUNNING")
        until(lambda: "boot 2" in api.get(f"{HERE}/standard/serialPort").get("contents", ""))
        kinds = [one["operationType"] for one in api.get(f"zones/{ZONE}/operations")["items"]]
        assert "compute.instances.hostError" in kinds and "compute.instances.automaticRestart" in kinds
        now = {one["instance"]: one["pid"] for one in api.control("GET", "machines")["machines"]}
        assert now["standard"] not in (0, before["standard"])
        assert not any(Path(f"/proc/{pid}").exists() for pid in before.values() if pid != now["standard"])
        alive = [line["name"] for line in api.control("GET", "ledger")["alive"] if line["kind"] == "compute.instance"]
        assert alive == ["standard"]
