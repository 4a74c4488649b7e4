"""A system that is not Linux, as far as one can be had on Linux: its own calls are gone, and so are its own files.

What no other Unix has is taken out of Python's modules in every process, and Python says that it runs on macOS; `/proc` and `/sys` cannot
be read, Linux's own programs are missed, and `ps` takes what POSIX says.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest

from tests.cli.user import SECONDS_MAX, User
from tests.project.project_files import LINUX_ALONE

SITE = f"""
import fcntl, importlib, sys
for name, attributes in {LINUX_ALONE!r}.items():
    module = importlib.import_module(name)
    for attribute in attributes:
        if hasattr(module, attribute):
            delattr(module, attribute)

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(("/proc", "/sys/", "/dev/shm")):
        raise FileNotFoundError(2, "there is no such thing elsewhere", arguments[0])

sys.addaudithook(refuse)
sys.platform = "darwin"
fcntl.F_FULLFSYNC = 51
"""

PS = """#!/bin/sh
# POSIX: what follows `=` is the heading, to the end of the argument. One keyword for each `-o`, then.
for word in "$@"; do
    case "$word" in *=*,*) echo "$word" >> {refused}; exit 2;; esac
done
exec {ps} "$@"
"""

PROGRAMS = (
    "setpriv",
    "setsid",
    "timeout",
    "nproc",
    "flock",
    "getent",
    "ldconfig",
    "lscpu",
    "free",
    "unshare",
    "nsenter",
    "pidof",
)
"""Of Linux, and not of a Mac."""

TRAIN = """
import os, time
import outlast
assert not hasattr(os, "pidfd_open"), "this is Linux"
state = outlast.State(total=0)
loop = outlast.steps(40, state, save_steps=5)
for step in loop:
    state.total += step
    outlast.log(total=state.total)
    while loop.attempt < 4 and step == 7 * loop.attempt and not outlast.should_stop():
        time.sleep(0.02)
print("the sum is", state.total)
"""

DRILLED = """
import os, random
import outlast
assert not hasattr(os, "pidfd_open"), "this is Linux"
random.seed(1)
state = outlast.State(total=0.0)
for step in outlast.steps(60, state, save_steps=5):
    state.total += random.random()
    outlast.log(total=state.total)
"""


@pytest.fixture
def stranger(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    ps = shutil.which("ps")
    assert ps is not None
    user.write("train.py", TRAIN)
    tools = user.root / "tools"
    tools.mkdir()
    (tools / "ps").write_text(PS.format(ps=ps, refused=tools / "refused"))
    for name in PROGRAMS:
        (tools / name).write_text(f"#!/bin/sh\necho {name} >> {tools / 'refused'}; exit 127\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    venv.create(user.root / "venv", symlinks=True)
    (site,) = (user.root / "venv/lib").glob("python*/site-packages")
    (site / "all.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (site / "sitecustomize.py").write_text(SITE)
    monkeypatch.setattr("tests.cli.user.OUTLAST", [str(user.root / "venv/bin/python"), "-m", "outlast.cli"])
    user.become = lambda: None  # a program each time: what is forked from this process is Linux
    user.env = {
        "OUTLAST_SYSTEM": "posix",
        "VIRTUAL_ENV": str(user.root / "venv"),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    return user


def until_held(user: User, attempt: int) -> None:
    """Until it stands at its step, and what it saved on the way is committed."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up_at:
        shown = user.outlast("show", "far", "--json").json
        assert shown["state"] != "failed", user.outlast("logs", "far").out
        saved = any(one["attempt"] == attempt for one in shown["checkpoints"])
        if saved and (shown["attempts"], shown["step"]) == (attempt, 7 * attempt):
            return
        time.sleep(0.05)
    raise AssertionError(f"attempt {attempt} never came there: {shown}")


def newest(user: User, name: str) -> Path:
    (path,) = sorted(user.outlast_dir.glob(f"local/machines/*/*/{name}"), key=lambda one: one.stat().st_mtime)[-1:]
    return path


def kill(path: Path) -> int:
    pid = int(json.loads(path.read_bytes())["pid"])
    os.kill(pid, signal.SIGKILL)
    return pid


def until_replaced(path: Path, pid: int, user: User) -> None:
    """Until somebody else has written down that it is there; a supervisor comes with the next command."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while int(json.loads(path.read_bytes())["pid"]) == pid:
        assert time.monotonic() < give_up_at, f"nobody came for {path.name}"
        user.outlast("jobs")
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="it is another system already")
def test_a_job_outlasts_all_that_keeps_it_going_and_a_stop_where_there_is_no_linux(stranger: User) -> None:
    started = stranger.outlast("run", "--detach", "--job-id", "far", "train.py")
    assert started.code == 0, started.err
    until_held(stranger, 1)
    kill(newest(stranger, "init.json"))
    until_held(stranger, 2)
    supervisor = stranger.outlast_dir / "local/supervisor.json"
    until_replaced(supervisor, kill(supervisor), stranger)
    agent = newest(stranger, "agent.json")
    until_replaced(agent, kill(agent), stranger)
    kill(newest(stranger, "trainer-2.pid.json"))
    until_held(stranger, 3)
    assert stranger.outlast("stop", "far").code == 0
    done = stranger.outlast("resume", "far")
    assert done.code == 0, done.err
    assert f"the sum is {sum(range(40))}" in done.out
    shown = stranger.outlast("show", "far", "--json").json
    assert [one["cause"] for one in shown["attempt_list"]] == ["preempted", "killed", "stopped", "succeeded"]
    assert all(one["resumed_from_step"] for one in shown["attempt_list"][1:])
    assert not (stranger.root / "tools/refused").exists()
    found = stranger.outlast("doctor", "--json")
    assert found.code == 0 and not [one for one in found.json if one["health"] == "bad"], found.out


@pytest.mark.skipif(sys.platform != "linux", reason="it is another system already")
def test_a_training_is_drilled_where_there_is_no_linux(stranger: User) -> None:
    stranger.write("drilled.py", DRILLED)
    done = stranger.outlast("drill", "drilled.py", "--kills", "3", "--seed", "1", "--json")
    assert (done.code, done.json["survived"], done.json["identical"]) == (0, True, True), done.out + done.err
    assert done.json["kills"] >= 3 and "in mid-save" in done.err and "without notice" in done.err
    assert not (stranger.root / "tools/refused").exists()
