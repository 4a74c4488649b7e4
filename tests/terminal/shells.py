"""Real shells on a pseudo-terminal: keys go in, what is on the line comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import termios
import time
from pathlib import Path

SECONDS_MAX = 60.0
PROMPT = "ready"


def require(program: str) -> str:
    found = shutil.which(program)
    assert found, f"`{program}` is missing: `python3 tools/install.py test` installs it"
    return found


class Shell:
    """One that has the completion of outlast."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str], setup: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.seen = b""
        # What was completed is seen by what would have been run.
        self.type(f'outlast() {{ echo "ran:$*"; }}; {setup} is; echo {PROMPT}\n')
        self.read_until(f"\n{PROMPT}\r".encode())

    def type(self, keys: str) -> None:
        self.seen = b""
        os.write(self._master, keys.encode())

    def read_until(self, *wanted: bytes) -> None:
        until = time.monotonic() + SECONDS_MAX
        while not any(one in self.seen for one in wanted):
            assert time.monotonic() < until, f"{wanted!r} never came: {self.seen!r}"
            if select.select([self._master], [], [], 0.2)[0]:
                self.seen += os.read(self._master, 65536)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)
