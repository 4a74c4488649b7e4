"""The emulator as a process: starts, prints where it is, serves until it is told to end."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from outlast_emulator.database import OtherFormat
from outlast_emulator.emulator import Emulator
from outlast_emulator.storage.model import InUse
from outlast_emulator.variables import variables
from outlast_emulator.wire.certificate import Tls
from outlast_emulator.wire.server import Server

ENDING = {signal.SIGINT, signal.SIGTERM}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="outlast emulator", description="Google's APIs on a loopback port.")
    parser.add_argument("--port", type=int, default=0, help="the port; one that is free if not said")
    parser.add_argument("--data", type=Path, help="where the data is kept; a temporary directory if not said")
    parser.add_argument("--time-scale", type=float, default=1.0, help="0.1: what takes Google 10 seconds takes 1 here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--end-with-stdin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="run it with the variables set, and end with it")
    asked = parser.parse_args(arguments)
    if asked.end_with_stdin and not asked.command:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="outlast-emulator-") as scratch:
        return run(asked.data or Path(scratch), asked.port, asked.time_scale, asked.json, asked.command)


def run(data: Path, port: int, time_scale: float, as_json: bool, command: list[str]) -> int:
    """The exit code of `command`, or 0 when a signal ends it."""
    if not command:
        # Before there are threads, which inherit it: the signal is to find nobody but `sigwait`.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        emulator = Emulator(data, time_scale=time_scale)
    except InUse:
        sys.stderr.write(f"error: another emulator uses `{data}`\n\nhint: end it, or choose another `--data`\n")
        return 2
    except OtherFormat as error:
        sys.stderr.write(f"error: `{data}` cannot be used: {error}\n\nhint: choose another `--data`\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"error: `{data}`: {error.strerror}\n\nhint: choose another `--data`\n")
        return 2
    try:
        server = Server(emulator, port=port, tls=Tls(data / "tls"))
    except OSError as error:
        sys.stderr.write(
            f"error: port {port} of 127.0.0.1: {error.strerror}\n\nhint: leave `--port` away: one is found\n"
        )
        return 2
    server.start()
    found = variables(server.url, time_scale)
    try:
        if as_json or not command:
            _say(server.url, found, as_json)
        if command:
            return _run_command(command, found)
        signal.sigwait(ENDING)
        return 0
    finally:
        server.stop()
        emulator.close()


def _say(url: str, found: dict[str, str], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"url": url, "pid": os.getpid(), "variables": found}) + "\n")
    else:
        sys.stderr.write(f"Google's APIs are at {url}; Ctrl-C ends them. Elsewhere, first:\n")
        sys.stdout.write("".join(f"export {name}={value}\n" for name, value in found.items()))
    sys.stdout.flush()


def _end_with_stdin() -> None:
    """So that an emulator does not outlive the program that started it, however that ends."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run_command(command: list[str], found: dict[str, str]) -> int:
    """A command that a signal ended counts as a shell counts it: 128 plus its number."""
    with _Passed(ENDING) as passed:
        try:
            child = subprocess.Popen(command, env={**os.environ, **found})
        except OSError as error:
            sys.stderr.write(f"error: `{command[0]}`: {error.strerror}\n")
            return 127 if isinstance(error, FileNotFoundError) else 126
        passed.on_to(child)
        code = child.wait()
    return code if code >= 0 else 128 - code


class _Passed:
    """Signals that end the command, and with it the emulator. A terminal sends Ctrl-C to both of them: it is not passed on twice."""

    def __init__(self, numbers: set[signal.Signals]) -> None:
        self._numbers = numbers
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []

    def __enter__(self) -> _Passed:
        self._before = {number: signal.signal(number, self._receive) for number in self._numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def on_to(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        for number in self._early:
            child.send_signal(number)

    def _receive(self, number: int, _: object) -> None:
        if number == signal.SIGINT and _in_foreground():
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
