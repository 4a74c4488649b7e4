"""The one process per user that starts machines, replaces them, and ends when there is nothing left to do.

It can be killed at any moment: machines go on without it, and the next one takes up what it finds on disk.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import signal

from outlast import __version__
from outlast.clock import Clock
from outlast.engines.engine import Condition
from outlast.engines.local import ending
from outlast.engines.local.capacity import Capacity, Slots
from outlast.engines.local.layout import End, LocalDir, Order, read_order
from outlast.engines.local.life import DEADLINE_MARGIN_SECONDS, Life
from outlast.engines.local.machines import Machine, RunMachine
from outlast.errors import NoCapacity, OutlastError
from outlast.host import files, system
from outlast.host.process import Process

IDLE_SECONDS = 60.0
LOOK_SECONDS_MAX = 5.0
"""Whoever was killed between writing and ringing is found this late, at the latest."""

LOOK_SECONDS_UNWATCHED = 0.25
"""Machines whose end nobody reports (macOS, and found ones there) are asked this often."""

LOCK_SECONDS_MAX = 10.0
"""How long a predecessor that is ending may take to let go."""

ENDS_KEPT_SECONDS = 30 * 24 * 3600.0
"""What became of a launch is remembered for so long; who starts it again after that finds its job finished."""

ORPHAN_SECONDS = 1.0
"""So long after a machine's death its orphans are looked for."""

TELL_SECONDS = 0.5
CLEAN_SECONDS_MAX = 5.0


class Supervisor:
    def __init__(
        self,
        paths: LocalDir,
        run_machine: RunMachine,
        clock: Clock,
        capacity: Capacity,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.paths = paths
        self.run_machine = run_machine
        self.clock = clock
        self.slots = Slots(capacity)
        self.idle_seconds = idle_seconds
        self.waiting: dict[str, Order] = {}
        """In the order in which they came."""

        self.deadlines: list[tuple[float, str]] = []
        self.lives: dict[str, Life] = {}
        self.by_pid: dict[int, tuple[Life, Machine]] = {}
        self.brooms: set[int] = set()
        self.told: dict[str, object] = {}
        self.tell_at = 0.0
        self.leaving = False
        self.orphans_until = 0.0
        self.me = {**Process.me().document(), "version": __version__}

    def run(self, spawn_lock: int | None) -> None:
        if not self._lock():
            return
        self._listen()
        if spawn_lock is not None:
            os.close(spawn_lock)  # from now on the bell is heard; what was written before is seen below
        self._tell()
        self._find()
        idle_since = self.clock.monotonic()
        while not self.leaving:
            self._take_in()
            self._reap()
            wait = self._tend()
            self._fill()
            if self.lives or self.waiting:
                idle_since = self.clock.monotonic()
            elif self.clock.monotonic() - idle_since >= self.idle_seconds and self._idle():
                return
            wait = min(wait, self._tell())
            self._wait(min(wait, idle_since + self.idle_seconds - self.clock.monotonic()))

    # Coming and going.

    def _lock(self) -> bool:
        """A lock of the process, not of the descriptor: forked machines do not inherit it."""
        self._lock_descriptor = os.open(self.paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        give_up_at = self.clock.monotonic() + LOCK_SECONDS_MAX
        while True:
            try:
                fcntl.lockf(self._lock_descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                if self.clock.monotonic() >= give_up_at:
                    return False
                self.clock.sleep(0.01)
            else:
                return True

    def _listen(self) -> None:
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_term)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        system.become_subreaper()
        system.name_process("outlast-super")
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._open_bell()

    def _open_bell(self) -> None:
        # Read and write: it never sees an end of file, and is heard by whoever opens it for writing.
        self._bell = os.open(self.paths.bell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll.register(self._bell, select.POLLIN)

    def _idle(self) -> bool:
        """True: nobody needs us. Who rang before the bell was closed had written before, and is seen by this last look."""
        self._poll.unregister(self._bell)
        os.close(self._bell)
        self._take_in()
        if self.waiting or self.lives:
            self._open_bell()
            return False
        self._forget()
        return True

    def _on_term(self, *_: object) -> None:
        """Machines go on; the next command starts a supervisor that takes them up."""
        self.leaving = True

    def _forget(self) -> None:
        before = self.clock.now() - ENDS_KEPT_SECONDS
        for directory in (self.paths.ended, self.paths.stopped):
            for entry in os.scandir(directory):
                if entry.stat().st_mtime < before:
                    files.remove(directory / entry.name)

    # What is there.

    def _find(self) -> None:
        """After a death, a reboot, or a first start: everything is on disk."""
        files.remove_tree(self.paths.trash)
        orders: list[Order] = []
        for name in os.listdir(self.paths.launches):
            if name.endswith(".json") and not name.startswith("."):
                order = self._read(name.removesuffix(".json"))
                if order is not None:
                    orders.append(order)
        for order in sorted(orders, key=_first_come):
            self._resume(order)
        for name in os.listdir(self.paths.machines):
            if name not in self.lives:
                self._clean(name)

    def _resume(self, order: Order) -> None:
        life = Life(self.paths, order, self.run_machine, self.clock)
        if life.adopt():
            for rank in life.ranks:
                self.slots.hold(order.launch.machine, rank.next.gpus)
            self._live(life)
            if self.paths.wished_away(life.id):
                life.stop(End())
        else:
            self._clean(order.launch.id)
            self._queue(order)

    def _clean(self, launch_id: str) -> None:
        """Machines without a launch."""
        for _, _, directory in self.paths.machine_dirs(launch_id):
            ending.end(directory, self.clock, CLEAN_SECONDS_MAX)
        files.remove_tree(self.paths.machines / launch_id)

    def _read(self, launch_id: str) -> Order | None:
        """A launch that was taken up; None: it has ended, or cannot be read and is ended for that."""
        if self.paths.read_end(launch_id) is not None:
            files.remove(self.paths.order(launch_id))
            return None
        try:
            return read_order(self.paths.order(launch_id))
        except OutlastError as error:
            self._close(launch_id, End(Condition.BOOT_FAILED, error.message))
            return None

    # What comes in.

    def _take_in(self) -> None:
        came: list[Order] = []
        unwanted: list[str] = []
        for name in os.listdir(self.paths.incoming):
            launch_id, _, kind = name.rpartition(".")
            if name.startswith("."):
                continue
            if kind == "stop":
                unwanted.append(launch_id)
            elif kind == "json":
                order = self._take(launch_id)
                if order is not None:
                    came.append(order)
        # By the moment of `start`: the file system's own times are too coarse to tell two of them apart.
        for order in sorted(came, key=_first_come):
            self._queue(order)
        # After those that came with them, which would be queued otherwise when they have just been stopped.
        for launch_id in unwanted:
            self._stop(launch_id)
            files.remove(self.paths.incoming_stop(launch_id))

    def _take(self, launch_id: str) -> Order | None:
        """Whatever was started twice is here twice, and is one launch: None."""
        arrived = self.paths.incoming_order(launch_id)
        known = launch_id in self.waiting or launch_id in self.lives
        if known or self.paths.read_end(launch_id) is not None:
            files.remove(arrived)
            return None
        os.replace(arrived, self.paths.order(launch_id))
        return self._read(launch_id)

    def _queue(self, order: Order) -> None:
        launch = order.launch
        if self.paths.wished_away(launch.id):
            self._close(launch.id, End())
            return
        try:
            self.slots.capacity.check(launch.machine, launch.workers)
        except NoCapacity as error:
            self._close(launch.id, End(Condition.BOOT_FAILED, error.message))
            return
        self.waiting[launch.id] = order
        heapq.heappush(self.deadlines, (launch.deadline_at + DEADLINE_MARGIN_SECONDS, launch.id))

    def _stop(self, launch_id: str) -> None:
        if self.waiting.pop(launch_id, None) is not None:
            self._close(launch_id, End())
        elif launch_id in self.lives:
            self.lives[launch_id].stop(End())
        elif not self.paths.incoming_order(launch_id).exists():
            self._close(launch_id, End())

    # What goes on.

    def _fill(self) -> None:
        """Strictly in order: who asks for much is not overtaken for ever by those who ask for little."""
        while self.waiting:
            order = next(iter(self.waiting.values()))
            gpus = self.slots.take(order.launch.machine, order.launch.workers)
            if gpus is None:
                return
            del self.waiting[order.launch.id]
            life = Life(self.paths, order, self.run_machine, self.clock)
            life.begin(gpus)
            self._live(life)

    def _live(self, life: Life) -> None:
        self.lives[life.id] = life
        self._watch(life)

    def _watch(self, life: Life) -> None:
        for machine in life.living():
            if machine.process.pid not in self.by_pid:
                self.by_pid[machine.process.pid] = (life, machine)
                if machine.watch is not None:
                    self._poll.register(machine.watch, select.POLLIN)
        self.brooms.update(life.buried)
        life.buried.clear()

    def _tend(self) -> float:
        """Everything that is due; seconds until something is again."""
        wait = LOOK_SECONDS_MAX
        for life in list(self.lives.values()):
            due = life.tend()
            self._watch(life)
            if life.over():
                self._bury(life)
            elif due is not None:
                wait = min(wait, due)
        while self.deadlines and self.deadlines[0][0] <= self.clock.now():
            _, launch_id = heapq.heappop(self.deadlines)
            if self.waiting.pop(launch_id, None) is not None:
                self._close(launch_id, End(Condition.ABSENT, "its deadline passed while it waited"))
        if self.deadlines:
            wait = min(wait, self.deadlines[0][0] - self.clock.now())
        self._trim_deadlines()
        if self.clock.monotonic() < self.orphans_until:
            self._kill_orphans()
            wait = min(wait, ORPHAN_SECONDS / 10)
        if any(not machine.child and machine.watch is None for _, machine in self.by_pid.values()):
            wait = min(wait, LOOK_SECONDS_UNWATCHED)
        return wait

    def _trim_deadlines(self) -> None:
        """Most of those that are noted here have long begun."""
        if len(self.deadlines) > 2 * len(self.waiting) + 1000:
            self.deadlines = [one for one in self.deadlines if one[1] in self.waiting]
            heapq.heapify(self.deadlines)

    def _bury(self, life: Life) -> None:
        del self.lives[life.id]
        for rank in life.ranks:
            self.slots.give(life.order.launch.machine, rank.next.gpus)
        self._close(life.id, life.end or End())
        life.bury()
        self._watch(life)

    def _close(self, launch_id: str, end: End) -> None:
        """The end is written before the launch is removed: in between it is both, and the end counts."""
        self.paths.write_end(launch_id, end)
        files.remove(self.paths.order(launch_id))
        files.remove(self.paths.stopped / launch_id)

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self.brooms.discard(pid)
            self._died(pid)
        for pid, (_, machine) in list(self.by_pid.items()):
            if not machine.child and not machine.process.alive():
                self._died(pid)

    def _died(self, pid: int) -> None:
        life, machine = self.by_pid.pop(pid, (None, None))
        if life is None or machine is None:
            return
        if machine.watch is not None:
            self._poll.unregister(machine.watch)
        life.died(machine)
        if machine.directory.left_done() is None:
            self.orphans_until = self.clock.monotonic() + ORPHAN_SECONDS

    def _kill_orphans(self) -> None:
        """What a dead machine leaves behind becomes our child; one that cleared its environment is found only here."""
        for pid in system.children(os.getpid()):
            if pid not in self.by_pid and pid not in self.brooms:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def _wait(self, seconds: float) -> None:
        self._poll.poll(max(0.0, seconds) * 1000 + 1)
        for descriptor in (self._bell, self._woken):
            try:
                os.read(descriptor, 65536)
            except BlockingIOError:
                continue

    def _tell(self) -> float:
        """For people: who waits, and for what. Seconds until there may be something new to tell."""
        now = self.clock.monotonic()
        first = next(iter(self.waiting.values()), None)
        lacking = self.slots.lacking(first.launch.machine, first.launch.workers) if first is not None else ""
        told = {**self.me, "waiting": len(self.waiting), "lacking": lacking}
        if told == self.told:
            return LOOK_SECONDS_MAX
        if now < self.tell_at:
            return self.tell_at - now
        files.put_json(self.paths.supervisor, told)
        self.told, self.tell_at = told, now + TELL_SECONDS
        return LOOK_SECONDS_MAX


def _first_come(order: Order) -> tuple[float, str]:
    return order.started_at, order.launch.id
