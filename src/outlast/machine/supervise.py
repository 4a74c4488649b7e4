"""The supervisor's program: `python -m outlast.machine.supervise DIRECTORY BOOT SPAWN_LOCK`.

Everything that a machine needs is imported here, once: machines are forked warm.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from outlast.agent import init
from outlast.clock import SYSTEM
from outlast.engines.local.capacity import this_machine
from outlast.engines.local.layout import LocalDir
from outlast.engines.local.supervisor import IDLE_SECONDS, Supervisor
from outlast.host import system

IDLE = "OUTLAST_SUPERVISOR_IDLE_SECONDS"
FALLS = "OUTLAST_SUPERVISOR_FALLS"
FALLS_MAX = 10
FALL_SECONDS = 5.0
"""A supervisor that fell (a full disk, say) begins again after so long, finding everything on disk; so often at most, in a row."""

STEADY_SECONDS = 600.0
"""Who has worked for so long has not fallen for what the one before it fell for."""


def main(arguments: list[str]) -> int:
    directory, boot, lock = arguments
    os.umask(0o077)
    run_boot = load(boot, Path(directory).parent)
    gc.collect()
    gc.freeze()  # what is there now is never looked at again: the pages stay shared with all machines
    supervisor = Supervisor(
        LocalDir(Path(directory)),
        lambda path, follower: init.run(path, run_boot, follower, program=agent_program(boot)),
        SYSTEM,
        this_machine(os.environ),
        float(os.environ.get(IDLE) or IDLE_SECONDS),
    )
    began_at = SYSTEM.monotonic()
    try:
        supervisor.run(int(lock) if lock else None)
    except Exception:  # noqa: BLE001  the edge of a process
        traceback.print_exc()
        if not os.path.isdir(directory):
            return 1  # it was removed, with all that there was to do
        steady = SYSTEM.monotonic() - began_at >= STEADY_SECONDS
        falls = 1 if steady else int(os.environ.get(FALLS) or 0) + 1
        if falls > FALLS_MAX:
            return 1
        sys.stderr.flush()
        SYSTEM.sleep(FALL_SECONDS)
        environ = {**os.environ, FALLS: str(falls)}
        os.execve(sys.executable, [sys.executable, "-m", "outlast.machine.supervise", directory, boot, ""], environ)
    return 0


def agent_program(boot: str) -> tuple[str, ...]:
    """What an agent becomes where it may not be a forked copy: a Mac kills one that asks for an address, as a home in a bucket needs."""
    return () if system.LINUX else (sys.executable, "-m", "outlast.machine.agent_program", boot)


def load(boot: str, user_dir: Path) -> Callable[[str], int]:
    """`module:function`, after whatever its module's `warm` wants to have done before the first fork."""
    module_name, _, function = boot.partition(":")
    module = importlib.import_module(module_name)
    warm = getattr(module, "warm", None)
    if warm is not None:
        warm(user_dir)
    run_boot: Callable[[str], int] = getattr(module, function)
    return run_boot


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
