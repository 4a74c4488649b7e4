"""The program that a container is started by: makes its namespaces and its process, and reports how that ended.

It stays outside, as the parent of the container's process number one. Its output and the container's are the same pipes, which
the emulator reads. The container lives as long as the connection to the emulator, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from typing import Any

from outlast_emulator.machines import tree
from outlast_emulator.machines.lines import Closed, Lines

NOT_FOUND, NOT_RUNNABLE = 127, 126
"""What shells and container engines exit with for a program that is not there, or is none."""


def main(control: int) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    emulator = Lines(socket.socket(fileno=control))
    os.set_inheritable(control, False)
    try:
        _launch(emulator, emulator.receive())
    except OSError as error:
        _tell(emulator, {"failed": str(error)})
    except Closed:
        pass


def _launch(emulator: Lines, spec: dict[str, Any]) -> None:
    os.chdir(spec["directory"])
    ours, childs = socket.socketpair()
    isolated = spec["kind"] == "isolated"
    if isolated:
        from outlast_emulator.machines import linux

        linux.unshare(linux.CLONE_NEWPID)
    else:
        tree.adopt_orphans()
    child = os.fork()
    if child == 0:
        ours.close()
        emulator.sock.close()
        _become(Lines(childs), spec, emulator.files)
    childs.close()
    for number in emulator.files:
        os.close(number)
    emulator.files.clear()
    _Parent(emulator, Lines(ours), child, is_plain=not isolated).run()


def _become(launcher: Lines, spec: dict[str, Any], files: list[int]) -> None:
    """Never returns: the container's program, or the words why it is not."""
    code = NOT_RUNNABLE
    try:
        if spec["kind"] == "isolated":
            from outlast_emulator.containers import inside

            inside.enter(spec, files)
        else:
            from outlast_emulator.containers import plain

            plain.enter(spec)
        _execute(spec)
    except FileNotFoundError as error:
        code = NOT_FOUND
        sys.stderr.write(f"exec: {''.join(spec['words'][:1])}: {error.strerror}\n")
    except (OSError, KeyError) as error:
        _tell(launcher, {"failed": str(error)})
        sys.stderr.write(f"the container could not be made: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _execute(spec: dict[str, Any]) -> None:
    words, environment = spec["words"], spec["environment"]
    if not words:
        raise FileNotFoundError(2, "the image has no command, and none was asked for", "")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(words[0], words, environment)


def _tell(other: Lines, message: dict[str, Any]) -> None:
    try:
        other.send(message)
    except Closed:
        pass


class _Parent:
    def __init__(self, emulator: Lines, child_says: Lines, child: int, *, is_plain: bool) -> None:
        self._emulator = emulator
        self._says = child_says
        self._child = child
        self._is_plain = is_plain
        self._ended, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._kill(signal.SIGKILL))
        self._status: int | None = None

    def run(self) -> None:
        _tell(self._emulator, {"pid": self._child})
        emulator, says = self._emulator.sock.fileno(), self._says.sock.fileno()
        watched = [self._ended, emulator, says]
        while self._status is None:
            ready = select.select(watched, [], [])[0]
            if says in ready and not self._from_child():
                watched.remove(says)
            if emulator in ready and not self._from_emulator():
                self._kill(signal.SIGKILL)
                watched.remove(emulator)
            if self._ended in ready:
                os.read(self._ended, 512)
                self._reap()
        if self._is_plain:
            tree.end_descendants()
        code = os.waitstatus_to_exitcode(self._status)
        _tell(self._emulator, {"ended": code if code >= 0 else 128 - code})

    def _from_child(self) -> bool:
        """False: it runs its own program, or is gone."""
        try:
            _tell(self._emulator, self._says.receive())
        except Closed:
            return False
        return True

    def _from_emulator(self) -> bool:
        """False: it is gone, and the container is to go with it."""
        try:
            while True:
                self._kill(int(self._emulator.receive()["signal"]))
                if not self._emulator.waiting:
                    return True
        except Closed:
            return False

    def _kill(self, number: int) -> None:
        if self._status is not None:
            return
        if number == signal.SIGKILL and self._is_plain:
            tree.signal_descendants(number)
        os.kill(self._child, number)

    def _reap(self) -> None:
        pid, status = os.waitpid(self._child, os.WNOHANG)
        if pid:
            self._status = status
