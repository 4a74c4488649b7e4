"""A process group that dies with this process, started without a copy of it: a fork of a warm Python costs milliseconds.

Where the system cannot be asked to kill it (`system.kill_with_me`), or where anything is not as it should be, the caller forks: that
way has the words for what is wrong.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from outlast.host import system


def spawn(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, log: str, *, umask: int, signals: Sequence[int]
) -> int | None:
    """Its number, in a group of its own, with both outputs at the log's end; None: fork instead.

    `signals` are as they are by default there. Only for a process without threads: its directory and umask are borrowed.
    """
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
    if program is None or not system.can_kill_with_me():
        return None
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    mask = os.umask(umask)
    try:
        os.chdir(cwd)
        pid = os.posix_spawn(
            program,
            [*argv],
            env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setpgroup=0,
            setsigdef=signals,
        )
    except (OSError, ValueError):
        return None
    finally:
        os.fchdir(here)
        os.close(here)
        os.umask(mask)
    system.kill_with_me(pid)
    return pid
