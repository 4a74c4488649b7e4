"""The first process of a machine or of a container, as the program has it that starts it: made, watched, killed, reaped.

That program stays outside, as its parent. What it starts lives as long as its connection to the emulator, however that ends.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from outlast_emulator.machines import tree
from outlast_emulator.machines.lines import Closed, Lines

Spec = dict[str, Any]


def serve(control: int, launch: Callable[[Lines, Spec], None]) -> None:
    """What the emulator asks for over `control`, or the words why it cannot be."""
    # An emulator that waits for signals has blocked them, and whatever it starts would never hear of any.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    emulator = Lines(socket.socket(fileno=control))
    os.set_inheritable(control, False)
    try:
        launch(emulator, emulator.receive())
    except OSError as error:
        tell(emulator, {"failed": str(error)})
    except Closed:
        pass


def tell(other: Lines, message: dict[str, Any], files: tuple[int, ...] = ()) -> None:
    try:
        other.send(message, files)
    except Closed:
        pass


class Child:
    def __init__(self, emulator: Lines, spec: Spec, become: Callable[[Lines], None]) -> None:
        """`become` never returns: it is what the new process does, in a namespace of processes where there can be one."""
        os.chdir(spec["directory"])
        self._is_plain = spec["kind"] != "isolated"
        if self._is_plain:
            tree.adopt_orphans()
        else:
            from outlast_emulator.machines import linux

            linux.unshare(linux.CLONE_NEWPID)
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            emulator.sock.close()
            become(Lines(theirs))
        theirs.close()
        self.says = Lines(ours)
        self._status: int | None = None
        self.ended, wakes = os.pipe()
        """Can be read when it may have ended."""
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.kill())
        os.write(wakes, b"?")  # it may have ended before anybody watched
        tell(emulator, {"pid": self.pid})

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self._status is not None:
            return
        if number == signal.SIGKILL and self._is_plain:
            tree.signal_descendants(number)
        os.kill(self.pid, number)

    def has_ended(self, *, wait: bool = False) -> bool:
        if not wait:
            os.read(self.ended, 512)
        if self._status is None:
            pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    def code(self) -> int:
        """What it exited with, or minus the signal that ended it; nothing of it is left then."""
        if self._is_plain:
            tree.end_descendants()
        assert self._status is not None
        return os.waitstatus_to_exitcode(self._status)
