"""A rented machine's life, from the startup script to its exit code: `python -m outlast.machine.rented RANK BOOT BASE`.

Three processes: this one waits, one watches for notices, and one is init, with the agent and the trainer below it. The exit code tells
the script what to do with the machine:

    0     the launch is over: its group is ended
    10    only this machine is: it powers off, and the group makes another
    20    it is not needed any more: it leaves its group, which is so much smaller from then on
    else  it could not boot, and has said why
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom

from outlast.agent import init
from outlast.agent.trainer_process import read_order
from outlast.clock import SYSTEM
from outlast.engines.compute.told import ATTRIBUTE, Told
from outlast.errors import KeyMissing, OutlastError, PreconditionFailed
from outlast.folder.home import Home
from outlast.folder.zone_memory import tell_end
from outlast.google.auth.metadata import HOST
from outlast.host import files, system
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine.boot import boot
from outlast.machine.metadata import Metadata
from outlast.spec.record import decode
from outlast.store.registry import open_store
from outlast.store.store import Store

EXIT_DONE, EXIT_AGAIN, EXIT_SPARE, EXIT_FAILED = 0, 10, 20, 1
LOG_BYTES_TOLD = 2000
WATCH_SECONDS = 1.0
SCRIPT_SECONDS_MAX = 1200.0
"""The script before this program may have waited for its rights: so long it counts as this machine's life, and no other parent's."""
FORGOTTEN = ("PYTHONPATH", "PYTHONHOME", "OLDPWD", "PWD", "SHLVL", "_")
"""Of the script's environment, what is not the trainer's business."""


def main(arguments: list[str]) -> int:
    rank, number, base = int(arguments[0]), int(arguments[1]), Path(arguments[2])
    os.umask(0o077)
    try:
        told = decode(Told, Metadata.of(os.environ).get(f"instance/attributes/{ATTRIBUTE}"), ATTRIBUTE)
        if SYSTEM.now() >= told.deadline_at:
            return EXIT_DONE  # Google's own timer may have been too late, or its group not have heard of it
        if told.slots > 1:
            from outlast.machine.shared import SharedLife

            return SharedLife(told, base, rank, number).live()
        return Life(told, base, rank, number).live()
    except OutlastError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return EXIT_FAILED


class Life:
    def __init__(self, told: Told, base: Path, rank: int, number: int) -> None:
        self.told = told
        self.base = base
        self.rank = rank
        """The machine's, in its group. A worker's own is in its assignment."""

        self.child = 0
        """Its init; 0: none."""

        self.paths = MachineDir(base / "local" / "machines" / told.launch_id / f"{rank}-{number}")
        self.assignment = Assignment(
            home=told.home,
            job=told.job,
            launch=told.launch,
            launch_id=told.launch_id,
            rank=rank,
            workers=told.workers,
            boot=number,
            deadline_at=told.deadline_at,
            cpus=os.cpu_count() or 1,
            environ=_environ(told),
            labels=told.labels,
            rented=True,
            time_scale=told.time_scale,
            born_at=self._born_at(),
            limited=told.limited,
        )

    def _born_at(self) -> float | None:
        """By this machine's own clock: when the script began that has started this program."""
        return SYSTEM.monotonic() - min(SCRIPT_SECONDS_MAX, system.running_seconds(os.getppid()))

    def live(self) -> int:
        self._move_in()
        watcher = self._start_watcher()
        self.begin()
        # A soft-off reaches this process, by the shutdown script or by the system itself.
        signal.signal(signal.SIGTERM, lambda *_: self._taken_away())
        files.put(self.base / "pid", str(os.getpid()).encode())
        try:
            self._wait()
        finally:
            if watcher is not None:
                watcher.kill()
                watcher.wait()
        return self._left()

    def _move_in(self) -> None:
        """What an earlier boot has left on this disk is a dead machine's."""
        shutil.rmtree(self.base / "local" / "machines", ignore_errors=True)
        os.makedirs(self.paths.path)
        self.paths.write_assignment(self.assignment)
        words = [f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}", sys.executable, "-m", "outlast.machine.enter"]
        enter = f'#!/bin/sh\nexec env {shlex.join([*words, str(self.base)])} "$@"\n'
        files.put(self.base / "enter", enter.encode())
        os.chmod(self.base / "enter", 0o700)

    def _start_watcher(self) -> subprocess.Popen[bytes] | None:
        words = [*self._directories(), str(self.told.notice_seconds)]
        return subprocess.Popen([sys.executable, "-m", "outlast.machine.notices", *words], stdin=subprocess.DEVNULL)

    def _directories(self) -> list[str]:
        """Where a notice is put down."""
        return [self.paths.path]

    def begin(self) -> None:
        self.child = os.fork()
        if self.child == 0:
            self._be_init()

    def _wait(self) -> None:
        """Until nothing of it lives."""
        os.waitpid(self.child, 0)

    def _be_init(self) -> None:
        code = EXIT_FAILED
        try:
            os.environ.update(self.assignment.environ)
            code = init.run(self.paths.path, self._agent())
        finally:
            os._exit(code)

    def _agent(self) -> Callable[[str], int]:
        if self.told.program:
            from importlib import import_module

            module, _, name = self.told.program.partition(":")
            run = getattr(import_module(module), name)
            return lambda directory: int(run(directory, lambda: self._say_up(open_store(self.told.home))))
        return lambda directory: boot(directory, on_up=lambda folder: self._say_up(folder.store))

    def _say_up(self, store: Store) -> None:
        """In the home: this boot is none of those that failed; and where it is."""
        try:
            key = f"{self.told.boots}{self.rank}-{self.assignment.boot}-up"
            store.put(key, self._up_word(), if_generation=0)
        except PreconditionFailed:
            return  # an earlier life of this agent did

    def _up_word(self) -> bytes:
        """Where it is: by that the home remembers how long machines live there."""
        return _zone()

    def _taken_away(self) -> None:
        """Soon; unless a longer notice came before it."""
        if not os.path.exists(self.paths.notice):
            leave_by = SYSTEM.monotonic() + self.told.soft_off_seconds
            files.put_json(self.paths.notice, {"leave_by_monotonic": leave_by})
        os.kill(self.child, signal.SIGTERM)

    def _left(self) -> int:
        done = self.paths.left_done()
        if done is None:
            sys.stderr.write(files.read_end(self.paths.log, LOG_BYTES_TOLD).decode(errors="replace"))
            return EXIT_AGAIN if os.path.exists(self.paths.up) else EXIT_FAILED
        if done and self.assignment.rank == 0:
            self._remember()
        if done and read_order(self.paths) is not None:  # of a machine that came after the end there is nothing to see
            self._linger()
        if self.paths.left_spare():
            return EXIT_SPARE
        return EXIT_DONE if done else EXIT_AGAIN

    def _remember(self) -> None:
        """For whoever rents next: how long the machines of this launch have lived, and where."""
        try:
            folder = Home(open_store(self.told.home), SystemRandom()).folder(self.told.job)
            record, head = folder.read_launch(self.told.launch), folder.read_head().head
            if record.id == self.told.launch_id and record.machine.rented is not None:
                tell_end(folder.store, record, head, self.told.boots, folder.store.now())
        except (OutlastError, KeyMissing, PreconditionFailed) as error:  # a job that was deleted has no records
            sys.stderr.write(f"it is not remembered how long its machines have lived: {error}\n")

    def _linger(self) -> None:
        """For whoever wants to look at it; a machine that is taken away meanwhile goes at once."""
        taken = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: taken.set())
        taken.wait(max(0.0, min(self.told.linger_seconds, self.told.deadline_at - SYSTEM.now())))


def _zone() -> bytes:
    """Empty: the metadata server does not say."""
    try:
        return Metadata.of(os.environ).get("instance/zone").rpartition(b"/")[2]
    except OutlastError:
        return b""


def _environ(told: Told) -> dict[str, str]:
    """The machine is the trainer's alone, and so is what its system has set; our own way here is not."""
    own = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    own.setdefault("HOME", "/root")
    if told.environ:
        own.setdefault("GCE_METADATA_HOST", HOST)
    return {**own, **told.environ}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
