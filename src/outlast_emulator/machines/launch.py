"""The program that a machine is started by: makes its namespaces, its init, and keeps what init must not hold.

It stays outside, as the parent of the machine's process number one: keeps the serial output, passes on what the emulator
says, and reports how the machine ended. The machine lives as long as the connection to the emulator, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from outlast_emulator.machines import tree
from outlast_emulator.machines.init import CODES
from outlast_emulator.machines.lines import Closed, Lines
from outlast_emulator.machines.serial import SerialWriter

READ_BYTES = 1 << 16
BY_SIGNAL = {int(signal.SIGINT): "off", int(signal.SIGHUP): "reboot", int(signal.SIGKILL): "killed"}
"""What reboot(2) inside ends a namespace's init with, by the kernel; and what `kill` does."""


def main(control: int) -> None:
    # An emulator that waits for signals has blocked them, and whatever it starts would never hear of any.
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
    ours, inits = socket.socketpair()
    if spec["kind"] == "isolated":
        from outlast_emulator.machines import linux

        linux.unshare(linux.CLONE_NEWPID)
    else:
        tree.adopt_orphans()
    child = os.fork()
    if child == 0:
        ours.close()
        emulator.sock.close()
        _become_init(Lines(inits), spec)
    inits.close()
    Launcher(emulator, Lines(ours), child, spec).run()


def _become_init(launcher: Lines, spec: dict[str, Any]) -> None:
    """Never returns."""
    code = 1
    try:
        if spec["kind"] == "isolated":
            from outlast_emulator.machines import inside

            code = inside.run(launcher, spec)
        else:
            from outlast_emulator.machines import plain

            code = plain.run(launcher, spec)
    except OSError as error:
        _tell(launcher, {"failed": str(error)})
        sys.stderr.write(f"the machine could not be made: {error}\n")
    except Closed:
        pass
    except Exception:  # noqa: BLE001  the edge: the serial output has it
        sys.stderr.write(f"bug in a machine's init: {traceback.format_exc()}")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _tell(other: Lines, message: dict[str, Any], files: tuple[int, ...] = ()) -> None:
    try:
        other.send(message, files)
    except Closed:
        pass


class Launcher:
    def __init__(self, emulator: Lines, init: Lines, child: int, spec: dict[str, Any]) -> None:
        self._emulator = emulator
        self._init = init
        self._child = child
        self._is_plain = spec["kind"] == "plain"
        self._serial = SerialWriter(Path("disks", spec["disk"]))
        self._console = -1
        self._ended, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._kill())
        self._status: int | None = None

    def run(self) -> None:
        _tell(self._emulator, {"pid": self._child})
        while True:
            emulator, init = self._emulator.sock.fileno(), self._init.sock.fileno()
            consoles = [self._console] if self._console >= 0 else []
            ready = select.select([self._ended, emulator, init, *consoles], [], [])[0]
            if self._console in ready:
                self._copy_console()
            if init in ready and not self._from_init():
                break
            if emulator in ready and not self._from_emulator():
                self._kill()
                break
            if self._ended in ready:
                os.read(self._ended, 512)
                if self._reap(wait=False):
                    break
        self._reap(wait=True)
        if self._is_plain:
            tree.end_descendants()
        self._copy_console(to_the_end=True)
        self._serial.close()
        assert self._status is not None
        code = os.waitstatus_to_exitcode(self._status)
        _tell(self._emulator, {"ended": (CODES if code >= 0 else BY_SIGNAL).get(abs(code), "crashed")})

    def _from_init(self) -> bool:
        """False: it is gone."""
        try:
            self._report(self._init.receive())
            while self._init.waiting:
                self._report(self._init.receive())
        except Closed:
            return False
        return True

    def _report(self, message: dict[str, Any]) -> None:
        files = tuple(self._init.files)
        self._init.files.clear()
        if "listening" in message:
            self._console, *sockets = files
            os.set_blocking(self._console, False)
            _tell(self._emulator, message, tuple(sockets))
            for number in sockets:
                os.close(number)
        else:
            _tell(self._emulator, message)

    def _from_emulator(self) -> bool:
        """False: it is gone, and the machine is to go with it."""
        try:
            _tell(self._init, self._emulator.receive())
            while self._emulator.waiting:
                _tell(self._init, self._emulator.receive())
        except Closed:
            return False
        return True

    def _kill(self) -> None:
        if self._status is None:
            os.kill(self._child, signal.SIGKILL)

    def _reap(self, *, wait: bool) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._child, 0 if wait else os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    def _copy_console(self, *, to_the_end: bool = False) -> None:
        while self._console >= 0:
            try:
                data = os.read(self._console, READ_BYTES)
            except BlockingIOError:
                return
            except OSError:  # nobody holds the other end any more
                data = b""
            if not data:
                self._console = -1
                return
            self._serial.write(data)
            if not to_the_end:
                return
