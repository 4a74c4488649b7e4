"""A process that dies with this one, started without a copy of this one: a fork of a warm Python costs milliseconds.

What the system's own `posix_spawn` cannot do, a small program of util-linux does on the way (`setpriv --pdeathsig`). Where
there is none, or where anything is not as it should be, the caller forks: that way has the words for what is wrong.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from outlast.host import system

ASK_SECONDS_MAX = 10.0


@functools.cache
def keeper() -> str:
    """The program's path, if it is there and does what is asked of it; asked once, and best before anybody is in a hurry."""
    found = shutil.which("setpriv") if system.LINUX else None
    if found is None:
        return ""
    try:
        done = subprocess.run(
            [found, "--pdeathsig", "KILL", "--", "/bin/true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=ASK_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found if done.returncode == 0 else ""


def spawn(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, log: Path, *, umask: int, signals: Sequence[int]
) -> int | None:
    """Its number, in a group of its own, with both outputs at the log's end; None: fork instead.

    `signals` are as they are by default there. Only for a process without threads: its directory and umask are borrowed.
    """
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath))
    if not keeper() or program is None:
        return None
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    mask = os.umask(umask)
    try:
        os.chdir(cwd)
        return os.posix_spawn(
            keeper(),
            [keeper(), "--pdeathsig", "KILL", "--", program if os.sep in argv[0] else argv[0], *argv[1:]],
            env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
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
