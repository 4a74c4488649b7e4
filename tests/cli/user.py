"""Somebody who types command lines, in a pipe or on a terminal, in a scratch directory."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import forked
from tests.requests_sent import RECORD

SECONDS_MAX = 120.0
"""No command of these tests takes a fraction of it; a machine under load may."""

OUTLAST = [sys.executable, "-m", "outlast.cli"]

_STARTED: set[str | bytes] = set()
"""Commands that this test process has started as programs."""


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str
    raw: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class User:
    """Somebody with a home directory, an OUTLAST_DIR and a place to work in."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    become: Callable[[], None] | None = None
    """What each process does before it is outlast: gives up rights, enters a place of its own."""

    @property
    def outlast_dir(self) -> Path:
        return self.root / "outlast"

    @property
    def home(self) -> Path:
        return self.outlast_dir / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def write(self, name: str, text: str) -> Path:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def environ(self, **changes: str) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "VIRTUAL_ENV", RECORD) if name in os.environ
        }
        return {
            **kept,
            "HOME": str(self.root),
            "OUTLAST_DIR": str(self.outlast_dir),
            "VIRTUAL_ENV": sys.prefix,
            "OUTLAST_SUPERVISOR_IDLE_SECONDS": "5",
            **self.env,
            **changes,
        }

    def outlast(self, *args: str | bytes, cwd: Path | str | None = None, **changes: str) -> Said:
        """Each command is a program that is started the first time; afterwards a process that has been forked."""
        command = args[0] if args else ""
        if command in _STARTED and self.become is None:
            code, out, err = forked.run(args, Path(cwd or self.work), self.environ(**changes), SECONDS_MAX)
            return Said(code, out.decode(errors="replace"), err.decode(errors="replace"), out)
        _STARTED.add(command)
        done = subprocess.run(
            [*OUTLAST, *args],
            cwd=cwd or self.work,
            env=self.environ(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
            preexec_fn=self.become,
        )
        return Said(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.stdout
        )

    def start(self, *args: str, **extra: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*OUTLAST, *args],
            cwd=self.work,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=extra.pop("stdout", subprocess.PIPE),
            stderr=extra.pop("stderr", subprocess.PIPE),
            preexec_fn=self.become,
            **extra,
        )

    def on_terminal(self, *args: str, columns: int = 80, **changes: str) -> Said:
        """Both streams on one pseudo-terminal; `out` and `raw` are what reached it."""
        terminal = Terminal(self, *args, columns=columns, **changes)
        code = terminal.wait()
        return Said(code, terminal.seen.decode(errors="replace"), "", terminal.seen)


class Terminal:
    """A command whose streams are a pseudo-terminal."""

    def __init__(self, user: User, *args: str, columns: int = 80, **changes: str) -> None:
        self.seen = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [*OUTLAST, *args],
            cwd=user.work,
            env=user.environ(**{"TERM": "xterm-256color", **changes}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def read_until(self, wanted: bytes, seconds_max: float = SECONDS_MAX) -> None:
        until = time.monotonic() + seconds_max
        while wanted not in self.seen:
            assert time.monotonic() < until, f"{wanted!r} never came: {self.seen!r}"
            if not self._read(0.1):
                break
        assert wanted in self.seen, f"{wanted!r} never came: {self.seen!r}"

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait(self) -> int:
        until = time.monotonic() + SECONDS_MAX
        while self._read(0.1):
            assert time.monotonic() < until, f"it does not end: {self.seen[-2000:]!r}"
        os.close(self._master)
        return self.process.wait(SECONDS_MAX)

    def _read(self, seconds: float) -> bool:
        """False: nothing will come any more."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return self.process.poll() is None or self._read(0.01) if seconds > 0.01 else self.process.poll() is None
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # Linux: all slaves are closed
            return False
        self.seen += data
        return data != b""


def stop_everything(user: User) -> None:
    """Nothing that a test has started outlives it. Nobody is asked to stop: that would cost two commands after every test."""
    end_processes(user)


def end_processes(user: User) -> None:
    while left := _left_over(user):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)


def _left_over(user: User) -> list[int]:
    """Processes of this test's own: its scratch directory stands in their environment, in their arguments, or they work in it."""
    mark = os.fsencode(user.outlast_dir)
    found = []
    for process in Path("/proc").glob("[0-9]*") if Path("/proc").is_dir() else ():
        try:
            words = (process / "environ").read_bytes().split(b"\0") + (process / "cmdline").read_bytes().split(b"\0")
            words.append(os.readlink(os.fsencode(process / "cwd")))
        except OSError:
            continue
        if any(word in (mark, b"OUTLAST_DIR=" + mark) or word.startswith(mark + b"/") for word in words):
            found.append(int(process.name))
    return found
