"""A trainer is started without a copy of its parent where that can be done, and finds itself as if it had been forked."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from outlast.host import spawn
from outlast.testing.engine_place import until
from tests.machine.conftest import Bench

LOOK = """
import ctypes, json, os, signal
pdeathsig = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(pdeathsig), 0, 0, 0)
mask = os.umask(0)
print(json.dumps({
    "group": os.getpgid(0) == os.getpid(), "dies with": pdeathsig.value, "umask": mask, "cwd": os.path.basename(os.getcwd()),
    "default": [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)],
    "open": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")),
}))
"""


@pytest.fixture(params=["spawned", "forked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By fork where the small program is not there."""
    if request.param == "forked":
        monkeypatch.setattr(spawn, "keeper", lambda: "")
    else:
        assert spawn.keeper(), "`setpriv` of util-linux is there wherever these tests run"
    return str(request.param)


def test_a_trainer_cannot_tell_how_it_was_started(bench: Bench, way: str) -> None:
    child, exit = bench.finish(LOOK)
    assert exit.code == 0
    found = json.loads(child.stream_read("log", 0, 10_000))
    assert found == {
        "group": True,
        "dies with": signal.SIGKILL,
        "umask": 0o022,
        "cwd": "work",
        "default": [True, True, True],
        "open": [0, 1, 2],
    }


def test_a_trainer_dies_with_its_parent(bench: Bench, way: str) -> None:
    child = bench.run("import time; time.sleep(600)")
    until(lambda: bench.paths.trainer_process(1).exists(), "it is started")
    trainer = json.loads(bench.paths.trainer_process(1).read_text())["pid"]
    os.kill(bench.pid, signal.SIGKILL)
    until(lambda: not _alive(trainer), "it is gone")
    assert child.started(1)


@pytest.mark.parametrize("argv", [("./absent",), ("/",), (sys.executable, "absent.py")])
def test_what_cannot_be_started_says_so_either_way(tmp_path: Path, way: str, argv: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    pid = spawn.spawn(argv, dict(os.environ), str(tmp_path), log, umask=0o022, signals=())
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
                tmp_path / "log",
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
