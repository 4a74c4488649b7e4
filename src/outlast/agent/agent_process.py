"""The agent's process as its parent makes it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process

EXIT_AGENT_DONE = 0
EXIT_AGENT_AGAIN = 10
"""How the agent tells init that the launch, or only this machine, has nothing left to do."""

EXIT_FAILED = 1


def be(paths: MachineDir, boot: Callable[[Path], int], parent: int) -> None:
    """The agent's process; never returns."""
    code = EXIT_FAILED
    try:
        system.die_with(parent)
        # Before it does anything that is seen: whoever takes this machine away must know whose death to wait for.
        files.put(paths.agent, Process.me().encode())
        system.name_process("outlast-agent")
        system.close_from(3)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Init is told when the machine must leave, and tells the agent.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        gc.enable()
        code = boot(paths.path)
    except BaseException:  # noqa: BLE001  the edge of a process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
