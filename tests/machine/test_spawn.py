"""A trainer is started without a copy of its parent where that can be done, and finds itself as if it had been forked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.host import spawn, system
from outlast.testing.engine_place import until
from tests.machine.conftest import Bench

LOOK = """
import json, os, signal
mask = os.umask(0)
print(json.dumps({
    "group": os.getpgid(0) == os.getpid(), "umask": mask, "cwd": os.path.basename(os.getcwd()),
    "default": [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)],
    "open": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")),
}))
"""


@pytest.fixture(params=["spawned", "forked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By fork where the kernel cannot be asked to kill it."""
    if request.param == "forked":
        monkeypatch.setattr(system, "can_kill_with_me", lambda: False)
    else:
        assert system.can_kill_with_me(), "Linux does so wherever these tests run"
    return str(request.param)


def test_a_trainer_cannot_tell_how_it_was_started(bench: Bench, way: str) -> None:
    child, exit = bench.finish(LOOK)
    assert exit.code == 0
    found = json.loads(child.stream_read("log", 0, 10_000))
    assert found == {
        "group": True,
        "umask": 0o022,
        "cwd": "work",
        "default": [True, True, True],
        "open": [0, 1, 2],
    }


def test_a_trainer_dies_with_its_parent(bench: Bench, way: str) -> None:
    child = bench.run("import time; time.sleep(600)")
    until(lambda: Path(bench.paths.trainer_process(1)).exists(), "it is started")
    trainer = json.loads(Path(bench.paths.trainer_process(1)).read_text())["pid"]
    os.kill(bench.pid, signal.SIGKILL)
    until(lambda: not _alive(trainer), "it is gone")
    assert child.started(1)


FAMILY = """
import os, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(600)"])
print(below.pid, flush=True)
time.sleep(600)
"""


def test_what_a_spawned_trainer_has_started_dies_with_it(bench: Bench) -> None:
    """Of one machine after another: the process below is the second trainer's, and its parent is init's second child."""
    bench.finish("")
    child = bench.run(FAMILY, attempt=2)
    until(lambda: child.stream_bytes("log") > 0, "it has said who is below it")
    below = int(child.stream_read("log", 0, 100))
    assert _alive(below)
    os.kill(bench.pid, signal.SIGKILL)
    until(lambda: not _alive(below), "it is gone")


def test_a_trainer_before_is_let_go() -> None:
    """What a process kills with itself is the newest group, and no other one that may have its number by now."""
    program = """
import os, sys
from outlast.host.spawn import spawn
sleep = (sys.executable, "-c", "import time; time.sleep(600)")
print(*(spawn(sleep, dict(os.environ), "/", os.devnull, umask=0o22, signals=()) for _ in "ab"))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    first, second = map(int, done.stdout.split())
    try:
        until(lambda: not _alive(second), "it is gone")
        assert _alive(first)
    finally:
        os.kill(first, signal.SIGKILL)


@pytest.mark.parametrize("argv", [("./absent",), ("/",), (sys.executable, "absent.py")])
def test_what_cannot_be_started_says_so_either_way(tmp_path: Path, way: str, argv: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    pid = spawn.spawn(argv, dict(os.environ), str(tmp_path), str(log), umask=0o022, signals=())
    if way == "forked" or argv[0] != sys.executable:
        assert pid is None, "the caller forks, and has the words"
        return
    assert pid is not None
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"absent.py" in log.read_bytes()


def test_a_directory_that_is_gone_is_left_to_the_other_way(tmp_path: Path) -> None:
    before = os.getcwd()
    mask = os.umask(0o027)
    try:
        assert (
            spawn.spawn(
                (sys.executable, "-c", ""),
                dict(os.environ),
                str(tmp_path / "gone"),
                str(tmp_path / "log"),
                umask=0,
                signals=(),
            )
            is None
        )
        assert os.getcwd() == before
    finally:
        assert os.umask(mask) == 0o027, "what was borrowed is given back"


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False
