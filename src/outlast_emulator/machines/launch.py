"""The program that a machine is started by: makes its namespaces, its init, and keeps what init must not hold.

It stays outside, as the parent of the machine's process number one: keeps the serial output, passes on what the emulator
says, and reports how the machine ended. The machine lives as long as the connection to the emulator, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from outlast_emulator.machines.child import Child, serve, tell
from outlast_emulator.machines.init import CODES
from outlast_emulator.machines.lines import Closed, Lines
from outlast_emulator.machines.serial import SerialWriter

READ_BYTES = 1 << 16
BY_SIGNAL = {int(signal.SIGINT): "off", int(signal.SIGHUP): "reboot", int(signal.SIGKILL): "killed"}
"""What reboot(2) inside ends a namespace's init with, by the kernel; and what `kill` does."""


def main(control: int) -> None:
    serve(control, _launch)


def _launch(emulator: Lines, spec: dict[str, Any]) -> None:
    child = Child(emulator, spec, lambda launcher: _become_init(launcher, spec))
    Launcher(emulator, child, SerialWriter(Path("disks", spec["disk"]))).run()


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
        tell(launcher, {"failed": str(error)})
        sys.stderr.write(f"the machine could not be made: {error}\n")
    except Closed:
        pass
    except Exception:  # noqa: BLE001  the edge: the serial output has it
        sys.stderr.write(f"bug in a machine's init: {traceback.format_exc()}")
    finally:
        sys.stderr.flush()
        os._exit(code)


class Launcher:
    def __init__(self, emulator: Lines, child: Child, serial: SerialWriter) -> None:
        self._emulator = emulator
        self._child = child
        self._init = child.says
        self._serial = serial
        self._console = -1

    def run(self) -> None:
        while True:
            emulator, init, ended = self._emulator.sock.fileno(), self._init.sock.fileno(), self._child.ended
            consoles = [self._console] if self._console >= 0 else []
            ready = select.select([ended, emulator, init, *consoles], [], [])[0]
            if self._console in ready:
                self._copy_console()
            if init in ready and not self._from_init():
                break
            if emulator in ready and not self._from_emulator():
                self._child.kill()
                break
            if ended in ready and self._child.has_ended():
                break
        self._child.has_ended(wait=True)
        code = self._child.code()
        self._copy_console(to_the_end=True)
        self._serial.close()
        tell(self._emulator, {"ended": (CODES if code >= 0 else BY_SIGNAL).get(abs(code), "crashed")})

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
            tell(self._emulator, message, tuple(sockets))
            for number in sockets:
                os.close(number)
        else:
            tell(self._emulator, message)

    def _from_emulator(self) -> bool:
        """False: it is gone, and the machine is to go with it."""
        try:
            tell(self._init, self._emulator.receive())
            while self._emulator.waiting:
                tell(self._init, self._emulator.receive())
        except Closed:
            return False
        return True

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
