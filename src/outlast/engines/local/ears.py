"""What wakes the supervisor: its bell, its children, its signals, and the ends of machines that it found."""

from __future__ import annotations

import fcntl
import os
import select
import signal

from outlast.clock import Clock
from outlast.engines.local.layout import LocalDir

LOCK_SECONDS_MAX = 10.0
"""How long a predecessor that is ending may take to let go."""

LOCK_LOOK_SECONDS = 0.01


class Ears:
    def __init__(self, paths: LocalDir) -> None:
        self.paths = paths
        self.asked_to_leave = False
        self._bell = -1

    def lock(self, clock: Clock) -> bool:
        """False: another supervisor lives. A lock of the process, not of the descriptor: forked machines do not inherit it."""
        descriptor = os.open(self.paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up_at = clock.monotonic() + LOCK_SECONDS_MAX
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                if clock.monotonic() >= give_up_at:
                    return False
                clock.sleep(LOCK_LOOK_SECONDS)
            else:
                return True

    def open(self) -> None:
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_term)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._poll = select.poll()
        self.watch(self._woken)
        self.open_bell()

    def open_bell(self) -> None:
        # Read and write: it never sees an end of file, and is heard by whoever opens it for writing.
        self._bell = os.open(self.paths.bell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.watch(self._bell)

    def close_bell(self) -> None:
        """From now on whoever rings starts another supervisor."""
        self.unwatch(self._bell)
        os.close(self._bell)

    def watch(self, descriptor: int) -> None:
        self._poll.register(descriptor, select.POLLIN)

    def unwatch(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)

    def wait(self, seconds: float) -> None:
        self._poll.poll(max(0.0, seconds) * 1000 + 1)
        for descriptor in (self._bell, self._woken):
            try:
                os.read(descriptor, 65536)
            except BlockingIOError:
                continue

    def _on_term(self, *_: object) -> None:
        """Machines go on; the next command starts a supervisor that takes them up."""
        self.asked_to_leave = True
