"""Groups of machines that really run: told, killed, replaced, haunting; and an emulator that is killed itself."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.testing import Running, start_process
from tests.emulator_groups.conftest import REGION, group_body, spot, template_body
from tests.waiting import until

ROOT = f"/compute/v1/projects/emulated/regions/{REGION}"
GROUP = f"{ROOT}/instanceGroupManagers/g"
SCRIPT = """#!/bin/bash
url='http://169.254.169.254/computeMetadata/v1/instance/preempted'
[ -n "$GCE_METADATA_HOST" ] && url="http://$GCE_METADATA_HOST/computeMetadata/v1/instance/preempted"
echo "begun as $HOSTNAME"
until [ "$(curl -s -H 'Metadata-Flavor: Google' "$url")" = TRUE ]; do sleep 0.05; done
echo 'the notice was heard'
sleep 1000
"""


class Process:
    """An emulator in a process of its own, which can be killed and started again with the same data."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.child: subprocess.Popen[bytes]
        self.running: Running
        self.start()

    def start(self) -> None:
        self.child = start_process(self.data, 0, 0.02)
        assert self.child.stdout is not None
        self.running = Running(json.loads(self.child.stdout.readline())["url"], self.data, pid=self.child.pid)

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def call(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = self.running.call(verb, path, body)
        assert answer.status == 200, answer.body
        return answer.json()

    def make(self, size: int = 1, **scheduling: Any) -> None:
        items = {"items": [{"key": "startup-script", "value": SCRIPT}]}
        self.call("POST", f"{ROOT}/instanceTemplates", template_body(metadata=items, scheduling=spot(**scheduling)))
        self.call("POST", f"{ROOT}/instanceGroupManagers", group_body(size=size))

    def members(self) -> list[dict[str, Any]]:
        return list(self.call("POST", f"{GROUP}/listManagedInstances")["managedInstances"])

    def stable(self, *, without: frozenset[str] | set[str] = frozenset()) -> list[dict[str, Any]]:
        def look() -> list[dict[str, Any]]:
            found = self.members()
            resting = all(one["currentAction"] == "NONE" and one.get("instanceStatus") == "RUNNING" for one in found)
            return found if found and resting and not without & {one["id"] for one in found} else []

        return until(look, "the group is never stable")

    def machines(self) -> list[dict[str, Any]]:
        return list(self.call("GET", "/_emulator/machines")["machines"])

    def serial(self, member: dict[str, Any]) -> str:
        path = member["instance"].split("/compute/v1/")[1]
        return str(self.call("GET", f"/compute/v1/{path}/serialPort").get("contents", ""))


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path / "emulator")
    try:
        yield made
    finally:
        made.child.terminate()
        made.child.wait()


def test_a_machine_hears_the_notice_dies_and_comes_back_under_its_name(emulator: Process) -> None:
    emulator.make(preemptionNoticeDuration={"seconds": "120"}, instanceTerminationAction="DELETE")
    (first,) = emulator.stable()
    until(lambda: "begun as" in emulator.serial(first))
    (machine,) = emulator.machines()
    emulator.call("POST", "/_emulator/preempt", {"instance": "g-0"})
    until(lambda: "the notice was heard" in emulator.serial(first))
    (second,) = emulator.stable(without={first["id"]})
    assert second["name"] == first["name"] == "g-0"
    assert not Path(f"/proc/{machine['pid']}").exists()


def test_a_machine_whose_host_dies_is_made_again_with_a_new_disk(emulator: Process) -> None:
    emulator.make()
    (first,) = emulator.stable()
    emulator.call("POST", "/_emulator/machines/kill", {"instance": "g-0"})
    (second,) = emulator.stable(without={first["id"]})
    until(lambda: emulator.serial(second).count("begun as") == 1)


def test_a_killed_emulator_takes_its_groups_up_again_and_leaves_no_machine(emulator: Process) -> None:
    emulator.make(size=2)
    before = {one["id"] for one in emulator.stable()}
    pids = [one["pid"] for one in emulator.machines()]
    emulator.kill()
    emulator.start()
    after = emulator.stable(without=before)
    assert [one["name"] for one in after] == ["g-0", "g-1"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_deletion_goes_on_after_a_kill_and_its_operation_ends(emulator: Process) -> None:
    emulator.make(size=2)
    emulator.stable()
    operation = emulator.call("DELETE", GROUP)
    emulator.kill()
    emulator.start()
    until(lambda: emulator.running.call("GET", GROUP).status == 404)
    ended = emulator.call("GET", f"{ROOT}/operations/{operation['name']}")
    assert ended["status"] == "DONE" and "error" not in ended
    assert emulator.machines() == []
    assert emulator.call("GET", "/_emulator/ledger")["usd_per_hour"] == 0


def test_a_machine_that_google_lost_sight_of_goes_on_beside_its_successor(emulator: Process) -> None:
    emulator.make()
    (first,) = emulator.stable()
    (machine,) = emulator.machines()
    zombie = Path(f"/proc/{machine['pid']}")
    emulator.call("POST", "/_emulator/machines/lose", {"instance": "g-0", "frozen_seconds": 100, "seconds": 350})
    (second,) = emulator.stable(without={first["id"]})
    assert second["name"] == "g-0"
    assert zombie.exists(), "it was to be alive still"
    until(lambda: not zombie.exists(), "it was to be gone by now")
    assert len(emulator.machines()) == 1
