"""Process number one of a machine: starts its scripts, buries the dead, turns the machine off when it is told to.

It is told by the emulator (`{"off": seconds}`) or, inside, by the signals that systemd takes for the same: they are what the
machine's `poweroff`, `halt`, `reboot` and `shutdown` send. What it exits with says why (`CODES`).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping

from outlast_emulator.clock import monotonic
from outlast_emulator.machines import tree
from outlast_emulator.machines.lines import Closed, Lines

GOOGLES = "/usr/bin/google_metadata_script_runner"
SHELL = "/bin/sh"
OFF_SECONDS = 90.0
"""What whoever types `poweroff` inside gives the scripts and processes: systemd's limit."""
TERM_SECONDS_MIN = 0.2
TICK_SECONDS = 0.02

OFF, REBOOT = 0, 3
CODES = {OFF: "off", REBOOT: "reboot"}
_FIRST = int(getattr(signal, "SIGRTMIN", 34))
ORDERLY = {_FIRST + 3: OFF, _FIRST + 4: OFF, _FIRST + 5: REBOOT}
AT_ONCE = {_FIRST + 13: OFF, _FIRST + 14: OFF, _FIRST + 15: REBOOT}

Script = Callable[[str, Mapping[str, str]], int]
"""Runs the scripts of a kind in the process that calls it, for computers without Google's program."""


Everybody = Callable[[int], bool]
"""Sends a signal to all other processes of the machine; False: there is none."""


class Init:
    def __init__(
        self, told: Lines, environment: Mapping[str, str], own: Script | None, everybody: Everybody, power: int = -1
    ) -> None:
        """`power`: a file from which the numbers of the signals below may be read too, where signals cannot be sent."""
        self._told = told
        self._signal_all = everybody
        self._power = power
        self._environment = dict(environment)
        self._own = own
        self._awake, wakes = os.pipe()
        os.set_blocking(self._awake, False)
        os.set_blocking(wakes, False)
        self._signals: list[int] = []
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        for number in self._heard():
            signal.signal(number, lambda received, _: self._signals.append(received))

    def run(self) -> int:
        """The exit code: why the machine ended."""
        self._start("startup")
        while True:
            why, seconds = self._wait()
            if why is not None:
                if seconds > 0:
                    self._shut_down(seconds)
                return why

    def _wait(self) -> tuple[int | None, float]:
        """(why the machine is to end, how long it may take)."""
        if not self._told.waiting:
            select.select(self._watched(), [], [])
        self._drain()
        while self._signals:
            number = self._signals.pop(0)
            if number in AT_ONCE:
                return AT_ONCE[number], 0.0
            if number in ORDERLY:
                return ORDERLY[number], OFF_SECONDS
        self._bury()
        if not select.select([self._told.sock], [], [], 0)[0] and not self._told.waiting:
            return None, 0.0
        try:
            return self._obey(self._told.receive())
        except Closed:
            return OFF, 0.0

    def _obey(self, message: dict[str, object]) -> tuple[int | None, float]:
        if "freeze" in message:
            self._signal_all(signal.SIGSTOP if message["freeze"] else signal.SIGCONT)
            self._told.send({"frozen": message["freeze"]})
        if "run" in message:
            self._run(str(message["run"]))
        if "off" in message:
            return OFF, float(str(message["off"]))
        return None, 0.0

    def _shut_down(self, seconds: float) -> None:
        """As systemd does it: the shutdown script first, then TERM to all, until the time is over."""
        ends_at = monotonic() + seconds
        child = self._start("shutdown")
        while child not in self._bury() and monotonic() < ends_at and not self._is_cut_short():
            select.select([self._awake], [], [], TICK_SECONDS)
            self._drain()
        self._signal_all(signal.SIGTERM)
        self._signal_all(signal.SIGCONT)
        ends_at = max(ends_at, monotonic() + TERM_SECONDS_MIN)
        while self._signal_all(0) and monotonic() < ends_at and not self._is_cut_short():
            select.select([self._awake], [], [], TICK_SECONDS)
            self._drain()
            self._bury()

    def _heard(self) -> tuple[int, ...]:
        return (signal.SIGCHLD,) if self._power >= 0 else (signal.SIGCHLD, *ORDERLY, *AT_ONCE)

    def _is_cut_short(self) -> bool:
        return any(number in AT_ONCE for number in self._signals)

    def _start(self, kind: str) -> int:
        """Whatever runs the scripts of a kind; its process id."""
        own = self._own
        if own is None:
            return self._fork(f"{kind} scripts", lambda: os.execve(GOOGLES, [GOOGLES, kind], self._environment))
        return self._fork(f"{kind} scripts", lambda: own(kind, self._environment))

    def _run(self, script: str) -> None:
        """A script of the emulator's, with no more rights than the machine's own."""
        self._fork("a script", lambda: os.execve(SHELL, [SHELL, "-c", script], self._environment))

    def _fork(self, what: str, do: Callable[[], int]) -> int:
        """As a session of its own; its process id."""
        child = os.fork()
        if child:
            return child
        code = 127
        try:
            signal.set_wakeup_fd(-1)
            for number in self._heard():
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            code = do()
        except Exception:  # noqa: BLE001  the edge of this process: the serial output has it
            sys.stderr.write(f"{what} could not be run: {traceback.format_exc()}")
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _bury(self) -> set[int]:
        """The processes that have ended since the last call."""
        dead: set[int] = set()
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return dead
            if pid == 0:
                return dead
            dead.add(pid)

    def _watched(self) -> list[int]:
        return [self._told.sock.fileno(), self._awake] + ([self._power] if self._power >= 0 else [])

    def _drain(self) -> None:
        try:
            while os.read(self._awake, 512):
                pass
        except BlockingIOError:
            pass
        if self._power >= 0:
            try:
                self._signals += [_FIRST + int(word) for word in os.read(self._power, 512).split()]
            except BlockingIOError:
                pass


def everybody_else(number: int) -> bool:
    """For the process number one of a namespace, and for no other: elsewhere this would be all of a computer."""
    assert os.getpid() == 1
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass  # says nothing: it is also raised where the last process of the kernel's list is dead and not yet buried
    return len(tree.parents_by_pid()) > 1
