"""Which computer this is, and who runs on it, where there is no Linux: its own programs are asked."""

from __future__ import annotations

import errno
import math
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast.host import health, programs, system
from outlast.host.process import Process

IOREG = """#!/bin/sh
echo '+-o Mac14,2  <class IOPlatformExpertDevice>'
echo '    {'
echo '      "IOPlatformUUID" = "%s"'
echo '    }'
"""


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A computer without /etc/machine-id whose `ioreg` knows it; its name is what `named` says."""
    monkeypatch.setattr(system, "LINUX", False)
    monkeypatch.setattr(system, "MACHINE_ID", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield tmp_path
    monkeypatch.undo()
    system._computer.cache_clear()


def place(mac: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, uuid: str) -> str:
    (mac / "ioreg").write_text(IOREG % uuid)
    (mac / "ioreg").chmod(0o755)
    uname = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((uname[0], name, *uname[2:])))
    system._computer.cache_clear()
    return system.place(mac)


def test_a_mac_that_another_network_calls_otherwise_is_the_same_computer(
    mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home = place(mac, monkeypatch, name="anna.local", uuid="A1")
    at_work = place(mac, monkeypatch, name="dhcp-17.example.org", uuid="A1")
    other = place(mac, monkeypatch, name="anna.local", uuid="B2")
    assert system.same_place(at_home, at_work)
    assert not system.same_place(at_home, other)
    assert not system.same_place("", at_home)


def test_a_laptop_in_another_time_zone_finds_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LINUX", False)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    before = system.start_time(os.getpid())
    monkeypatch.setenv("TZ", "America/New_York")
    assert before
    assert system.same_start(before, system.start_time(os.getpid()))
    assert programs.ask("sh", "-c", "echo $TZ")[1].strip() == "UTC0"


def test_the_programs_of_the_system_are_found_where_the_path_does_not_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/opt/bin")
    assert programs.ask("sh", "-c", "echo $PATH")[1].strip() == "/opt/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class Crowded:
    """No room for another process of this user, for the first few who ask."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refusals: float) -> None:
        self.refusals = refusals
        self._start = subprocess.Popen
        monkeypatch.setattr(system, "LINUX", False)
        monkeypatch.setattr(programs, "ROOM_SECONDS", 0.001)
        monkeypatch.setattr(subprocess, "Popen", self)

    def __call__(self, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
        self.refusals -= 1
        if self.refusals >= 0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return self._start(*arguments, **options)


def test_who_cannot_be_asked_about_at_once_is_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded = Crowded(monkeypatch, refusals=3)
    assert system.start_time(os.getpid())
    assert crowded.refusals < 0


def test_who_cannot_be_asked_about_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    me = Process.me()
    Crowded(monkeypatch, refusals=math.inf)
    monkeypatch.setattr(programs, "ASK_SECONDS_MAX", 0.01)
    for ask in (me.alive, lambda: system.children(me.pid), lambda: system.members([me.pid])):
        with pytest.raises(BlockingIOError):
            ask()


def test_who_may_not_be_asked_about_is_not_taken_for_dead(mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a sandbox of macOS, in which `ps` may not be executed."""
    me = Process.me()
    monkeypatch.setenv("PATH", str(mac))
    monkeypatch.setattr(programs, "SYSTEM_PATHS", ())
    for name in ("ps", "ioreg"):
        (mac / name).write_text("#!/bin/sh\n")
        (mac / name).chmod(0o600)
    with pytest.raises(PermissionError):
        me.alive()
    assert system.place(mac).startswith(f"{os.uname().nodename}:")


def test_a_program_that_hangs_has_said_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "ASK_SECONDS_MAX", 0.05)
    with pytest.raises(TimeoutError, match="`sleep` has not answered"):
        programs.ask("sleep", "60")
    assert programs.ask("no-such-program") == (0, "")


@pytest.mark.parametrize(
    ("count", "most", "set_to"),
    [(300, 4096, 300), (9999, 4096, 4096), (-1, 4096, 4096), (300, resource.RLIM_INFINITY, 300)],
)
@pytest.mark.parametrize("endless", [-1, 2**63 - 1])
def test_no_more_files_are_asked_for_than_may_be(
    monkeypatch: pytest.MonkeyPatch, endless: int, count: int, most: int, set_to: int
) -> None:
    """On Linux -1 is without end, on macOS the largest number that there is."""
    most = endless if most == resource.RLIM_INFINITY else most
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "RLIM_INFINITY", endless)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, most))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append((kind, limits)))
    health.allow_files(count)
    assert asked == [(resource.RLIMIT_NOFILE, (set_to, most))]


def test_all_that_is_below_a_process_is_asked_for_at_once(mac: Path) -> None:
    """Each call of `ps` takes a hundredth of a second, and an agent asks again and again."""
    (mac / "ps").write_text(f'#!/bin/sh\necho >> {mac}/asked\nexec /bin/ps "$@"\n')
    (mac / "ps").chmod(0o755)
    tree = "sleep 60 & (sleep 60 & sleep 60 & echo; wait) & wait"
    with subprocess.Popen(["sh", "-c", tree], stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        try:
            assert len(system.descendants(parent.pid)) == 4
            assert (mac / "asked").read_text() == "\n"
            assert len(system.children(parent.pid)) == 2
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_a_process_with_very_many_children_is_known_with_all_of_them() -> None:
    """The kernel tells of them in pieces, none of which is full."""
    program = "i=0; while [ $i -lt 1000 ]; do sleep 60 & i=$((i+1)); done; echo; wait"
    with subprocess.Popen(["sh", "-c", program], stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        try:
            assert len(system.children(parent.pid)) == 1000
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
