"""However the emulator ends, nothing of its machines is left: no process, no mount, no namespace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from outlast_emulator.machines import leftovers
from outlast_emulator.machines.host import MachineHost
from outlast_emulator.testing import Running, start_process
from tests.emulator_machines.conftest import TELL, Yard
from tests.waiting import until

HOLDER = """
import sys, threading
from pathlib import Path
from outlast_emulator.machines.host import Boot, MachineHost
from outlast_emulator.machines.metadata import Metadata

kind, data, mark = sys.argv[1:]
host = MachineHost(Path(data), kind=kind)
tree = {"instance/attributes/startup-script": sys.stdin.readline().encode().decode("unicode_escape")}
pids = []
for number in range(3):
    host.make_disk(f"d{number}")
    pids.append(host.boot(Boot(f"m{number}", f"d{number}", Metadata(tree), 0), lambda: None).pid)
print(*pids, flush=True)
threading.Event().wait()
"""


def _held(kind: str, data: Path, mark: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that holds three machines, and the machines' first processes."""
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), kind, str(data), mark]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None and holder.stdout is not None
    script = f"(trap '' HUP TERM; setsid sleep {mark} &) ; {TELL.partition(chr(10))[0]}\nsleep {mark}"
    holder.stdin.write(("#!/bin/bash\n" + script).encode("unicode_escape").decode() + "\n")
    holder.stdin.flush()
    pids = [int(word) for word in holder.stdout.readline().split()]
    until(lambda: len(_sleepers(mark)) == 6)
    return holder, pids


def _sleepers(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _mounts() -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - overlay machine" in line]


def _namespaces(where: str = "[0-9]*") -> set[str]:
    found = set()
    for path in Path("/proc").glob(f"{where}/ns/*"):
        try:
            found.add(os.readlink(path))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("kind", ["isolated", "plain"])
def test_killing_the_emulator_ends_its_machines(kind: str, yard: Yard, tmp_path: Path) -> None:
    mark = f"10{os.getpid()}1"
    holder, pids = _held(kind, tmp_path / "data", mark)
    theirs = set.union(*(_namespaces(str(pid)) for pid in pids)) - _namespaces("self")
    assert bool(theirs) == (kind == "isolated")
    assert not _mounts()
    holder.kill()
    holder.communicate()
    until(lambda: not _sleepers(mark) and not any(leftovers.started_at(pid) for pid in pids))
    until(lambda: not theirs & _namespaces())
    assert not _mounts()


@pytest.mark.parametrize("kind", ["isolated", "plain"])
def test_the_next_start_ends_what_could_not_end_itself(kind: str, yard: Yard, tmp_path: Path) -> None:
    mark = f"10{os.getpid()}2"
    data = tmp_path / "data"
    holder, pids = _held(kind, data, mark)
    launchers = [int(path.read_text().split()[0]) for path in data.glob("disks/*/launcher")]
    for pid in launchers:
        os.kill(pid, signal.SIGSTOP)
    holder.kill()
    holder.communicate()
    assert len(_sleepers(mark)) == 6
    host = MachineHost(data, kind=kind)
    assert not any(leftovers.started_at(pid) for pid in (*launchers, *pids))
    until(lambda: not _sleepers(mark))
    host.delete_disk("d0")
    host.close()


def test_a_number_that_another_process_has_got_is_not_killed(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    disk = tmp_path / "disks" / "d"
    disk.mkdir(parents=True)
    (disk / leftovers.NAME).write_text(f"{other.pid} 12345\n")
    leftovers.end(tmp_path)
    assert other.poll() is None
    other.communicate()


def test_closing_the_host_ends_all_machines(either: Yard) -> None:
    booted = [either.boot("sleep 1000") for _ in range(3)]
    either.host.close()
    assert not any(one.machine.alive() for one in booted) and either.host.machines() == []


def test_fifty_machines_run_at_once(yard: Yard) -> None:
    booted = [yard.boot("tell up yes; sleep 1000") for _ in range(50)]
    assert all(one.told("up") == "yes" for one in booted)
    assert sum(one.machine.alive() for one in booted) == 50
    yard.host.close()
    assert not any(one.machine.alive() for one in booted)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_emulator_that_is_ended_takes_its_instances_with_it(number: int, yard: Yard, tmp_path: Path) -> None:
    process = start_process(tmp_path / "data", time_scale=0.01)
    assert process.stdout is not None and process.stdin is not None
    emulator = Running(json.loads(process.stdout.readline())["url"], tmp_path / "data")
    disk = {"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}
    place = "zones/us-central1-a"
    body = {"name": "m1", "machineType": f"{place}/machineTypes/e2-standard-4", "disks": [disk]}
    body["networkInterfaces"] = [{"network": "global/networks/default"}]
    assert emulator.call("POST", f"/compute/v1/projects/emulated/{place}/instances", body).status == 200
    machine = until(
        lambda: [one for one in emulator.call("GET", "/_emulator/machines").json()["machines"] if one["pid"]]
    )
    process.send_signal(number)
    process.wait(30)
    until(lambda: not leftovers.started_at(machine[0]["pid"]))
    process.stdout.close()
    process.stdin.close()


@pytest.mark.parametrize("kind", ["isolated", "plain"])
def test_signals_that_the_emulator_blocks_reach_its_machines(kind: str, yard: Yard, plain_yard: Yard) -> None:
    """As the emulator's own process blocks them, to wait for one."""
    chosen = yard if kind == "isolated" else plain_yard
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        booted = chosen.boot('tell blocked "$(grep SigBlk /proc/self/status)"; sleep 1000')
        assert int(booted.told("blocked").split()[1], 16) == 0
        booted.machine.kill()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
