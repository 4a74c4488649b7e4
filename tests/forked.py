"""Runs command lines in processes that are forked from one in which outlast is imported already: most of a command's time is imports.

Each is a process of its own, with its own environment, directory and streams, and ends as an interpreter ends. What it inherits is
modules that were imported and never used: the process that is forked runs no command itself. It imports what the first
command of a name was seen to import, so that a lane which types one command pays for no other.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

OURS = frozenset({"outlast", "outlast_emulator", "click", "urllib3", "tomli"})
"""Packages that a command imports, beside the standard library."""

FIRST = ("outlast.cli.edge", "outlast.cli.app", "outlast.cli.listing")
SEEN_BYTES_MAX = 1 << 16
"""Of the names of modules: a pipe holds so many, and nobody empties it meanwhile."""

AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
"""Beginnings of names that an interpreter, or its loader, obeys when it starts: too late for one that is forked."""


class Ended(NamedTuple):
    code: int
    out: bytes
    err: bytes


class Request(NamedTuple):
    args: list[str]
    cwd: str
    env: dict[str, str]


# ------------------------------------------------------------------------------------------------------- the test's side


def run(args: Sequence[str | bytes], cwd: Path, env: Mapping[str, str], seconds_max: float) -> Ended:
    """As `subprocess.run` with captured streams: it waits until nobody holds them any more."""
    at_start = {name: value for name, value in env.items() if name.startswith(AT_START)}
    kind = frozenset(at_start.items())
    if kind not in _FORKS:
        _FORKS[kind] = Forks(at_start)
    return _FORKS[kind].run(args, cwd, env, seconds_max)


class Forks:
    """The process that is forked. It ends when nobody is left who could ask it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            cwd="/",
        )
        theirs.close()

    def run(self, args: Sequence[str | bytes], cwd: Path, env: Mapping[str, str], seconds_max: float) -> Ended:
        os.stat(cwd)  # as for a process that is started: whoever cannot enter it is not begun
        until = time.monotonic() + seconds_max
        ours, theirs = socket.socketpair()
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        with ours:
            with theirs, open(os.devnull, "rb") as nothing:
                given = [nothing.fileno(), out_write, err_write, theirs.fileno()]
                socket.send_fds(self._control, [b"!"], given)
            os.close(out_write)
            os.close(err_write)
            request = Request([os.fsdecode(word) for word in args], str(cwd), dict(env))
            ours.sendall(json.dumps(request).encode() + b"\n")
            said: dict[int, list[bytes]] = {out: [], err: [], ours.fileno(): []}
            try:
                _read_all(said, until)
            except TimeoutError:
                _end(ours, b"".join(said[ours.fileno()]))
                raise subprocess.TimeoutExpired([os.fsdecode(word) for word in args], seconds_max) from None
            finally:
                os.close(out)
                os.close(err)
            answer = b"".join(said[ours.fileno()]).split()
        assert len(answer) == 2, f"the process that is forked answered {answer}, and is {self._process.poll()}"
        return Ended(int(answer[1]), b"".join(said[out]), b"".join(said[err]))


_FORKS: dict[frozenset[tuple[str, str]], Forks] = {}
"""One for everything that was obeyed when it started."""


def _read_all(said: dict[int, list[bytes]], until: float) -> None:
    """All that comes, until every one of them is closed at the other end."""
    left = set(said)
    while left:
        ready, _, _ = select.select(left, [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        for descriptor in ready:
            data = os.read(descriptor, 1 << 16)
            said[descriptor].append(data)
            if not data:
                left.remove(descriptor)


def _end(reply: socket.socket, heard: bytes) -> None:
    """Kills who takes too long, as soon as it is known who that is, and waits until it is gone."""
    while b"\n" not in heard:
        heard += reply.recv(100)
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(heard.split()[0]), signal.SIGKILL)
    while reply.recv(100):
        pass


# --------------------------------------------------------------------------------------- the side of what is forked


class Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, socket.socket] = {}
        self._seen: dict[int, int] = {}
        """Process -> where it names the modules that it has imported."""

        self._known: set[str] = set()
        """Commands whose modules are imported."""

    def serve(self) -> tuple[Request, int]:
        """Returns in a child alone: what it is to run, and where it names its modules (-1: nobody asks)."""
        woken, wakes = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        import_all(FIRST)
        while True:
            ready, _, _ = select.select([self._control.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 1 << 16)
                self._reap()
            if self._control.fileno() in ready:
                data, given, _, _ = socket.recv_fds(self._control, 1, 4)
                if not data:
                    os._exit(0)
                child = self._fork(given)
                if child is not None:
                    return child

    def _fork(self, given: list[int]) -> tuple[Request, int] | None:
        *streams, answer = given
        reply = socket.socket(fileno=answer)
        with reply.makefile("rb", buffering=0) as line:
            request = Request(*json.loads(line.readline()))
        command = request.args[0] if request.args else ""
        seen = write = -1
        if command not in self._known:
            seen, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            return _become(request, streams, write)
        reply.sendall(b"%d\n" % pid)
        self._children[pid] = reply
        for descriptor in streams:
            os.close(descriptor)
        if seen != -1:
            os.close(write)
            self._known.add(command)
            self._seen[pid] = seen
        return None

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self._children.pop(pid) as reply:
                try:
                    reply.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                except OSError:
                    pass  # whoever asked did not wait
            if pid in self._seen:
                seen = self._seen.pop(pid)
                os.set_blocking(seen, False)
                try:
                    import_all(json.loads(os.read(seen, SEEN_BYTES_MAX) or b"[]"))
                except BlockingIOError:
                    pass  # it named none, and what it has started holds the pipe
                os.close(seen)


def import_all(names: Sequence[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # made by another module when that is used
    gc.freeze()


def _become(request: Request, streams: list[int], seen: int) -> tuple[Request, int]:
    """What a process has that has just been started, and nothing of this one's."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    if seen > 3:
        seen = os.dup2(seen, 3, inheritable=False)
    os.closerange(4 if seen != -1 else 3, 1024)
    coding, mistakes = sys.stdout.encoding, sys.stdout.errors
    sys.stdin = open(0, encoding=coding, errors=mistakes, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=coding, errors=mistakes, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, coding, "backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    os.chdir(request.cwd)
    sys.argv = ["outlast", *request.args]
    return request, seen


def _imported_since(before: set[str]) -> bytes:
    new = [name for name in sys.modules if name not in before]
    legal = [name for name in new if name.partition(".")[0] in OURS | sys.stdlib_module_names]
    return json.dumps(legal).encode()


def main() -> int:
    sys.path.pop(0)  # where this file lies: a program that is installed does not look there
    _, seen = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    before = set(sys.modules)
    from outlast.cli import main as outlast

    code = outlast()
    if seen != -1:
        os.write(seen, _imported_since(before))
        os.close(seen)
    return code


if __name__ == "__main__":
    sys.exit(main())
