"""Machines as the supervisor holds them: forked or found, watched, and buried."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from outlast.dataclass import dataclass, replace
from outlast.engines.local.moving import may_move, move
from outlast.host import files, system
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.host.process import Process
from outlast.host.series import Follower, Leader, keep, pair

LOG_TAIL_BYTES = 2000

RunMachine = Callable[[str, Follower], int]
"""A machine's whole life, in the process that was forked for it; and then perhaps the next one's."""

KEPT_FROM = 3
SERIES_MAX = 200
"""So many machines share their processes at most: whatever leaks is given back."""

LINGER_SECONDS = 1.0
"""So long processes that are free wait for the next machine. Who submits one short job after another is often slower than
the jobs, and would pay for two new processes each time."""


@dataclass
class Machine:
    directory: MachineDir
    assignment: Assignment
    process: Process
    born_at: float
    """By the monotonic clock; when it was found, for one that an earlier supervisor started."""

    child: bool
    """Forked by this supervisor, which must reap it."""

    watch: int | None = None
    """Becomes readable when it ends; None: it must be asked."""

    leader: Leader | None = None
    """Hears when it has left, with its processes free for the next one."""

    series: int = 1
    """Counts the machines that these processes have been."""

    free_at: float = 0.0
    """By the monotonic clock: since when its processes are free, once they are."""

    def send(self, number: int) -> None:
        if self.child:
            os.kill(self.process.pid, number)  # not reaped yet, so nobody else can have its number
        else:
            self.process.send(number)

    def close(self) -> None:
        """It has ended."""
        if self.watch is not None:
            os.close(self.watch)
            self.watch = None


def make(directory: MachineDir, assignment: Assignment) -> None:
    """A new machine's, with what it is told."""
    for path in (os.path.dirname(directory.path), directory.path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
    directory.write_assignment(assignment)


class Machines:
    """Starts machines: in processes that have just become free, or in new ones."""

    def __init__(self, run_machine: RunMachine) -> None:
        self._run_machine = run_machine
        self._free: dict[int, Machine] = {}

    def prepare(self, directory: MachineDir, assignment: Assignment) -> MachineDir | None:
        """Makes its directory, or else answers the one, of a machine that has left, that has become it: with the processes for `start`."""
        if self._free and assignment.workers == 1:
            pid, before = self._free.popitem()
            moved = may_move(before.assignment) and move(before.directory, directory, assignment)
            self._free[pid] = replace(before, directory=directory) if moved else before
            if moved:
                return before.directory
        make(directory, assignment)
        return None

    def start(self, directory: MachineDir, assignment: Assignment, now: float) -> Machine:
        """Its directory was prepared, right before it if it is alone."""
        while self._free:
            pid, before = self._free.popitem()
            assert before.leader is not None
            if before.leader.hand_over(directory.path):
                return replace(
                    before, directory=directory, assignment=assignment, born_at=now, series=before.series + 1
                )
            before.leader.close()
            if before.directory == directory:
                for path in (directory.init, directory.agent):
                    files.remove(path)  # they name who is gone
        leader, follower = pair()
        pid = os.fork()
        if pid == 0:
            _be_machine(directory, self._run_machine, follower)
        follower.close()
        return Machine(directory, assignment, Process(pid, "", ""), now, child=True, leader=leader)

    def __contains__(self, pid: int) -> bool:
        return pid in self._free

    def keep(self, machine: Machine, now: float) -> None:
        """It has left, and its processes are free."""
        assert machine.leader is not None
        if machine.series < SERIES_MAX:
            self._free[machine.process.pid] = replace(machine, free_at=now)
        else:
            machine.leader.close()

    def lost(self, pid: int) -> None:
        """A process has ended."""
        if pid in self._free:
            _close(self._free.pop(pid))

    def dismiss(self, now: float) -> float | None:
        """Who has been free for long may go; seconds until the next one may, None: nobody is free."""
        for pid in [pid for pid, machine in self._free.items() if now - machine.free_at >= LINGER_SECONDS]:
            _close(self._free.pop(pid))
        return min((machine.free_at + LINGER_SECONDS - now for machine in self._free.values()), default=None)


def _close(machine: Machine) -> None:
    if machine.leader is not None:
        machine.leader.close()


def _be_machine(directory: MachineDir, run_machine: RunMachine, follower: Follower) -> None:
    """The child's side; never returns. The bell and the lock are the supervisor's alone."""
    code = 1
    try:
        follower = keep(follower, KEPT_FROM)
        system.close_from(KEPT_FROM + 2)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        code = run_machine(directory.path, follower)
    except BaseException:  # noqa: BLE001  the edge of a process
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def adopt(directory: MachineDir, now: float) -> Machine | None:
    """A machine that an earlier supervisor started and that lives; None: it is dead, or never began and now never will."""
    files.create(directory.init)
    process = directory.init_process()
    if process is None or not process.alive():
        return None
    watch = system.open_process(process.pid)
    if not process.alive():  # held before it was looked at again: the descriptor is its own
        if watch is not None:
            os.close(watch)
        return None
    return Machine(directory, directory.read_assignment(), process, now, child=False, watch=watch)


def log_tail(directory: MachineDir) -> str:
    """The end of what init and agent had to say."""
    lines = files.read_end(directory.log, LOG_TAIL_BYTES).decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-12:])


def is_bulky(path: str) -> bool:
    return not files.is_small([path])


def bury(path: str, trash: Path) -> int | None:
    """Removes a directory; a large one in a process of its own, whose number is returned."""
    if not is_bulky(path):
        files.remove_tree(path)
        return None
    trash.mkdir(mode=0o700, exist_ok=True)
    parent, name = os.path.split(path)
    resting = trash / f"{os.path.basename(parent)}-{name}"
    os.replace(path, resting)
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        system.close_from(3)
        files.remove_tree(resting)
    finally:
        os._exit(0)
