"""How a command wakes the supervisor, or starts one if there is none."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from outlast.engines.local.layout import LocalDir
from outlast.google.variables import is_google

PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
PASSED_BEGINNINGS = ("LC_", "SSL_CERT_")
PASSED_ENDINGS = ("_PROXY", "_proxy")
"""What machines inherit from the shell; nothing else of it leaks in."""

SETTINGS = ("OUTLAST_LOCAL_", "OUTLAST_SUPERVISOR_", "OUTLAST_SYSTEM")
"""What only the supervisor inherits."""

LOG_BYTES_MAX = 1 << 20


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """The base of a trainer's environment, and what its agent needs to reach a home in a bucket (`machine.command` parts them)."""
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED or name.startswith(PASSED_BEGINNINGS) or name.endswith(PASSED_ENDINGS) or is_google(name)
    }


class Bell:
    """`boot` names the program of a machine, as `module:function`; `supervise` the module that joins it with the supervisor."""

    def __init__(self, paths: LocalDir, boot: str, supervise: str) -> None:
        self.paths = paths
        self.boot = boot
        self.supervise = supervise

    def heard(self) -> bool:
        """Whether a supervisor listens."""
        return self._push(b"")

    def ring(self) -> None:
        """Wakes the supervisor; starts one if there is none. What it is to find must be on disk before."""
        if self._push(b"!"):
            return
        self.paths.mend()
        lock = os.open(self.paths.spawn_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # One is being started. It holds this lock until it listens, and looks at the disk after that.
                return
            if not self._push(b"!"):
                self._spawn(lock)
        finally:
            os.close(lock)

    def _push(self, data: bytes) -> bool:
        try:
            descriptor = os.open(self.paths.bell, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENXIO, errno.EOPNOTSUPP, errno.ENOENT, errno.ELOOP, errno.EISDIR):
                return False
            raise
        try:
            if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                return False
            if data:
                os.write(descriptor, data)
        except BlockingIOError:
            pass  # it has not heard the last 65,536 of them yet
        except BrokenPipeError:
            return False  # it ended in between
        finally:
            os.close(descriptor)
        return True

    def _spawn(self, lock: int) -> None:
        """In a session of its own and nobody's child: it survives the shell, and leaves no zombie to whoever called."""
        import subprocess

        command = [sys.executable, "-m", self.supervise, str(self.paths.path), self.boot, str(lock)]
        with open_log(self.paths.log) as log:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",  # with -m, modules are looked for where it stands: not among files that anybody may have left
                env=self._environ(),
                pass_fds=(lock,),
                start_new_session=True,
                check=False,
            )

    def _environ(self) -> dict[str, str]:
        settings = {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}
        path = os.pathsep.join(python_path(self.boot))
        return {**inherited(os.environ), **settings, **({"PYTHONPATH": path} if path else {})}


def python_path(boot: str) -> list[str]:
    """Where this very package was loaded from, and the machine's program, where Python does not look by itself.

    What is installed is found anyway, and must not come before the standard library: old backports shadow it there.
    """
    roots = [Path(__file__).resolve().parents[3]]
    module = sys.modules.get(boot.partition(":")[0])
    if module is not None and module.__file__ is not None:
        roots.append(Path(module.__file__).resolve().parents[module.__name__.count(".")])
    return [str(root) for root in dict.fromkeys(roots) if root.name not in ("site-packages", "dist-packages")]


def open_log(path: Path) -> IO[bytes]:
    """Appends; begins anew when it has become long, keeping the one before."""
    try:
        if path.stat().st_size > LOG_BYTES_MAX:
            path.replace(path.with_suffix(".log.1"))
    except FileNotFoundError:
        pass
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))
