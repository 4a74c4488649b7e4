"""The agent's process as its parent makes it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.host.series import Follower, keep

EXIT_AGENT_DONE = 0
EXIT_AGENT_AGAIN = 10
EXIT_AGENT_SPARE = 20
"""How the agent tells init that the launch, or only this machine, has nothing left to do; or that nobody needs to take its place."""

EXIT_FAILED = 1
KEPT_FROM = 3
"""Descriptors from here on are another process's business, but those of the series."""


def be(
    paths: MachineDir,
    boot: Callable[[str], int],
    parent: int,
    follower: Follower | None,
    program: Sequence[str] = (),
) -> None:
    """The agent's process; never returns. With a follower, it may be given one machine after another.

    `program`: what it becomes, with the directory and the follower's two ends behind it; empty: it goes on as the copy that it is.
    """
    try:
        system.die_with(parent)
        _arrive(paths)
        system.name_process("outlast-agent")
        follower = keep(follower, KEPT_FROM) if follower is not None else None
        system.close_from(KEPT_FROM if follower is None else KEPT_FROM + 2)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Init is told when the machine must leave, and tells the agent.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if program:
            ends = (follower.tell, follower.listen) if follower is not None else ()
            for end in ends:
                os.set_inheritable(end, True)
            os.execv(program[0], [*program, paths.path, *map(str, ends)])
        gc.enable()
        work(paths, boot, follower)
    except BaseException:  # noqa: BLE001  the edge of a process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(EXIT_FAILED)


def work(paths: MachineDir, boot: Callable[[str], int], follower: Follower | None) -> None:
    """From the first machine to the last; never returns."""
    code = EXIT_FAILED
    try:
        code = boot(paths.path)
        while code == EXIT_AGENT_DONE and follower is not None:
            directory = follower.following()
            if directory is None:
                break
            paths = MachineDir(directory)
            if not os.path.exists(paths.agent):
                # Else it is the directory of the machine before, with this agent's name and log.
                redirect(paths.log)
                _arrive(paths)
            code = boot(directory)
    except BaseException:  # noqa: BLE001  the edge of a process
        code = EXIT_FAILED
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _arrive(paths: MachineDir) -> None:
    """Before it does anything that is seen: whoever takes this machine away must know whose death to wait for."""
    files.put(paths.agent, Process.me().encode())


def redirect(log: str) -> None:
    """What this process has to say goes to its machine's log."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(source, target)
    for descriptor in {nothing, said} - {0, 1, 2}:
        os.close(descriptor)
