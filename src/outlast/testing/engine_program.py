"""A machine's program for the engine contract: does what the launch's label `do` says, and writes down that it was there.

It stands where the agent stands otherwise. In the launch's home, a directory or a bucket, are then:

    <launch id>.events/...    one per thing that happened: what, machine, process, when (monotonic)
    <launch id>.go            whoever waits for it may finish
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable

from outlast.agent.agent_process import EXIT_AGENT_AGAIN, EXIT_AGENT_DONE, EXIT_AGENT_SPARE
from outlast.clock import SYSTEM
from outlast.host import files
from outlast.host.machine_dir import MARK, Assignment, MachineDir
from outlast.store.registry import open_store

LOOK_SECONDS = 0.01
SECONDS_MAX = 120.0
"""No program of a test outlives this, whatever went wrong."""

STRAY = "import time; time.sleep(120)"


def boot(directory: str, on_up: Callable[[], None] = lambda: None) -> int:
    paths = MachineDir(directory)
    told = paths.read_assignment()
    what, _, number = told.labels["do"].partition(":")
    _event(told, "boot", os.getpid())
    if what == "fail":
        sys.stderr.write("this program cannot start\n")
        return 1
    on_up()
    files.create(paths.up)
    if what in ("again", "die") and told.boot < int(number):
        if what == "again":
            return EXIT_AGENT_AGAIN
        os.kill(os.getppid(), signal.SIGKILL)
        SYSTEM.sleep(SECONDS_MAX)
    if what == "ail":
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    if what == "spare" and told.rank > 0:
        _event(told, "spare", os.getpid())
        return EXIT_AGENT_SPARE
    if what == "alone" and told.rank == 0 and told.boot < int(number):
        _wait_for_neighbours(told, int(told.labels.get("neighbours", "0")))
        os.kill(os.getppid(), signal.SIGKILL)
        SYSTEM.sleep(SECONDS_MAX)
    if what == "stray":
        _start_stray(told)
    if "neighbours" in told.labels:
        _event(told, "up", os.getpid())
    if what in ("wait", "stray", "leave", "spare", "alone"):
        return _wait(paths, told, leaves=what in ("leave", "alone"))
    return EXIT_AGENT_DONE


def _wait(paths: MachineDir, told: Assignment, *, leaves: bool) -> int:
    store, go = open_store(told.home), f"{told.launch_id}.go"
    look_seconds = max(LOOK_SECONDS, store.poll_seconds)
    noticed = False
    give_up_at = SYSTEM.monotonic() + SECONDS_MAX
    while SYSTEM.monotonic() < give_up_at:
        if any(store.list(go, limit=1)):
            _event(told, "done", os.getpid())
            return EXIT_AGENT_DONE
        if not noticed and os.path.exists(paths.notice):
            noticed = True
            _event(told, "notice", os.getpid())
            if leaves:
                return EXIT_AGENT_AGAIN
        SYSTEM.sleep(look_seconds)
    return 1


def _wait_for_neighbours(told: Assignment, count: int) -> None:
    """Until so many others of the launch are up."""
    store, give_up_at = open_store(told.home), SYSTEM.monotonic() + SECONDS_MAX
    while sum(1 for one in store.list(f"{told.launch_id}.events/") if one.key.endswith("-up")) < count:
        if SYSTEM.monotonic() >= give_up_at:
            return
        SYSTEM.sleep(LOOK_SECONDS)


def _start_stray(told: Assignment) -> None:
    """A process that has left the machine's session and group, as a daemon does."""
    child = subprocess.Popen(
        [sys.executable, "-c", STRAY], env={MARK: told.machine}, start_new_session=True, stdin=subprocess.DEVNULL
    )
    _event(told, "stray", child.pid)


def _event(told: Assignment, what: str, process: int) -> None:
    key = f"{told.launch_id}.events/{SYSTEM.now():020.6f}-{told.rank}-{what}"
    open_store(told.home).put(key, f"{what} {told.machine} {process} {SYSTEM.monotonic():.9f}".encode())
