"""The one process per user that starts machines, replaces them, and ends when there is nothing left to do.

It can be killed at any moment: machines go on without it, and the next one takes up what it finds on disk.
"""

from __future__ import annotations

import os
import signal

from outlast.clock import Clock
from outlast.engines.engine import Condition
from outlast.engines.local import ending
from outlast.engines.local.books import Books
from outlast.engines.local.capacity import Capacity, Slots, said
from outlast.engines.local.ears import Ears
from outlast.engines.local.layout import VERSION, End, LocalDir, Order
from outlast.engines.local.life import DEADLINE_MARGIN_SECONDS, Life
from outlast.engines.local.machines import Machine, Machines, RunMachine
from outlast.engines.local.queue import Queue
from outlast.errors import NoCapacity
from outlast.host import files, system
from outlast.host.process import Process

IDLE_SECONDS = 60.0
LOOK_SECONDS_MAX = 5.0
"""Whoever was killed between writing and ringing is found this late, at the latest."""

LOOK_SECONDS_UNWATCHED = 0.25
"""Machines whose end nobody reports (those that were found, on macOS) are asked this often."""

ORPHAN_SECONDS = 1.0
"""So long after a machine's death its orphans are looked for."""

GRAVES_MAX = 2000
"""So many launches that are over may have their machines' last small files on disk at most."""

DIG_SECONDS = 0.05
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
        self.machines = Machines(run_machine)
        self.clock = clock
        self.idle_seconds = idle_seconds
        self.ears = Ears(paths)
        self.books = Books(paths)
        self.slots = Slots(capacity)
        self.queue = Queue()
        self.lives: dict[str, Life] = {}
        self._by_pid: dict[int, tuple[Life, Machine]] = {}
        self._brooms: set[int] = set()
        self._graves: dict[str, Life] = {}
        self._orphans_until = 0.0
        self._me = {**Process.me().document(), "version": VERSION, "said": said(os.environ)}
        self._told: dict[str, object] = {}
        self._tell_at = 0.0

    def run(self, spawn_lock: int | None) -> None:
        if not self.ears.lock(self.clock):
            return
        self.ears.open()
        system.become_subreaper()
        system.name_process("outlast-super")
        if spawn_lock is not None:
            os.close(spawn_lock)  # from now on the bell is heard; what was written before is seen below
        self._tell()
        self._find()
        idle_since = self.clock.monotonic()
        while not self.ears.asked_to_leave:
            self._take_in()
            self._reap()
            self._hear()
            wait = self._tend()
            self._fill()
            if not self.queue:
                self._dig()
            lingering = self.machines.dismiss(self.clock.monotonic())
            wait = wait if lingering is None else min(wait, lingering)
            if self._graves and not self.queue:
                wait = 0.0
            if self.lives or self.queue or self._graves:
                idle_since = self.clock.monotonic()
            elif self.clock.monotonic() - idle_since >= self.idle_seconds and self.goes():
                return
            wait = min(wait, self._tell())
            self.ears.wait(min(wait, idle_since + self.idle_seconds - self.clock.monotonic()))

    def goes(self) -> bool:
        """True: nobody needs us. Who rang before the bell was closed had written before, and is seen by this last look."""
        self.ears.close_bell()
        self._take_in()
        if self.lives or self.queue:
            self.ears.open_bell()
            return False
        self.books.forget(self.clock.now())
        return True

    # What is there.

    def _find(self) -> None:
        """After a death, a reboot, or a first start: everything is on disk."""
        files.remove_tree(self.paths.trash)
        for order in self.books.taken_up():
            self._resume(order)
        for name in os.listdir(self.paths.machines):
            if name not in self.lives:
                self._clean(name)

    def _resume(self, order: Order) -> None:
        life = Life(self.paths, order, self.machines, self.clock)
        if not life.adopt():
            self._clean(order.launch.id)
            self._queue(order)
            return
        for rank in life.ranks:
            self.slots.hold(order.launch.machine, rank.next.gpus)
        self._live(life)
        if self.paths.wished_away(life.id):
            life.stop(End())

    def _clean(self, launch_id: str) -> None:
        """Machines without a launch."""
        for _, _, directory in self.paths.machine_dirs(launch_id):
            ending.end(directory, self.clock, CLEAN_SECONDS_MAX)
        files.remove_tree(self.paths.machines_of(launch_id))

    # What comes.

    def _take_in(self) -> None:
        came, unwanted = self.books.take_up(lambda launch_id: launch_id in self.lives or launch_id in self.queue)
        for order in came:
            self._queue(order)
        # After those that came with them, or a launch that was stopped at once would be queued after its end.
        for launch_id in unwanted:
            self._stop(launch_id)
            self.books.stopped(launch_id)

    def _queue(self, order: Order) -> None:
        launch = order.launch
        if self.paths.wished_away(launch.id):
            self.books.close(launch.id, End())
            return
        try:
            self.slots.capacity.check(launch.machine, launch.workers)
        except NoCapacity as error:
            self.books.close(launch.id, End(Condition.BOOT_FAILED, error.message))
            return
        self.queue.push(order, launch.deadline_at + DEADLINE_MARGIN_SECONDS)

    def _stop(self, launch_id: str) -> None:
        if launch_id in self.lives:
            self.lives[launch_id].stop(End())
        elif self.queue.remove(launch_id) or not os.path.exists(self.paths.incoming_order(launch_id)):
            self.books.close(launch_id, End())

    # What goes on.

    def _fill(self) -> None:
        """Strictly in order: who asks for much is not overtaken for ever by those who ask for little."""
        if not all(self._grow(life) for life in self.lives.values() if life.wants_more()):
            return
        while (order := self.queue.first()) is not None:
            gpus = self.slots.take(order.launch.machine, 1 if order.launch.independent else order.launch.workers)
            if gpus is None:
                return
            self.queue.remove(order.launch.id)
            life = Life(self.paths, order, self.machines, self.clock)
            life.begin(gpus)
            self._graves.pop(life.moved_from, None)
            self._live(life)
            if not self._grow(life):
                return

    def _grow(self, life: Life) -> bool:
        """Workers that need no others begin one by one. False: some have to wait."""
        while life.wants_more():
            gpus = self.slots.take(life.order.launch.machine, 1)
            if gpus is None:
                return False
            life.begin(gpus)
            self._watch(life)
        return True

    def _live(self, life: Life) -> None:
        self.lives[life.id] = life
        self._watch(life)

    def _watch(self, life: Life) -> None:
        for machine in life.living():
            if machine.process.pid not in self._by_pid:
                self._by_pid[machine.process.pid] = (life, machine)
                for descriptor in _descriptors(machine):
                    self.ears.watch(descriptor)
        self._brooms.update(life.buried)
        life.buried.clear()

    def _tend(self) -> float:
        """Everything that is due; seconds until something is again."""
        waits = [LOOK_SECONDS_MAX]
        for life in list(self.lives.values()):
            due = life.tend()
            self._watch(life)
            self._give_back(life)
            if life.over():
                self._bury(life)
            elif due is not None:
                waits.append(due)
        for launch_id in self.queue.expired(self.clock.now()):
            self.books.close(launch_id, End(Condition.ABSENT, "its deadline passed while it waited"))
        waits.append(self.queue.seconds_to_next(self.clock.now()) or LOOK_SECONDS_MAX)
        if self.clock.monotonic() < self._orphans_until:
            self._kill_orphans()
            waits.append(ORPHAN_SECONDS / 10)
        if any(not machine.child and machine.watch is None for _, machine in self._by_pid.values()):
            waits.append(LOOK_SECONDS_UNWATCHED)
        return min(waits)

    def _bury(self, life: Life) -> None:
        del self.lives[life.id]
        self._give_back(life)
        self.books.close(life.id, life.end or End())
        if life.bulky():
            self._remove(life)
        else:
            self._graves[life.id] = life
        if len(self._graves) > GRAVES_MAX:
            self._dig()

    def _give_back(self, life: Life) -> None:
        for rank in life.given_back():
            self.slots.give(life.order.launch.machine, rank.next.gpus)

    def _dig(self) -> None:
        """Directories of machines are removed when nobody waits for one, or a heap of them is there: while jobs come in
        a row, the next one is more urgent, and some file systems are slow to create where much was just deleted.
        Not all at once: machines that end meanwhile wait."""
        until = self.clock.monotonic() + DIG_SECONDS
        while self._graves and self.clock.monotonic() < until:
            self._remove(self._graves.popitem()[1])

    def _remove(self, life: Life) -> None:
        life.bury()
        self._watch(life)

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self._brooms.discard(pid)
            self.machines.lost(pid)
            self._died(pid)
        for pid, (_, machine) in list(self._by_pid.items()):
            if not machine.child and not machine.process.alive():
                self._died(pid)

    def _hear(self) -> None:
        """Machines that have left, and whose processes are free."""
        for pid, (life, machine) in list(self._by_pid.items()):
            if machine.leader is not None and machine.leader.freed():
                del self._by_pid[pid]
                for descriptor in _descriptors(machine):
                    self.ears.unwatch(descriptor)
                life.died(machine)
                self.machines.keep(machine, self.clock.monotonic())

    def _died(self, pid: int) -> None:
        life, machine = self._by_pid.pop(pid, (None, None))
        if life is None or machine is None:
            return
        for descriptor in _descriptors(machine):
            self.ears.unwatch(descriptor)
        if machine.leader is not None:
            machine.leader.close()
        life.died(machine)
        if machine.directory.left_done() is None:
            self._orphans_until = self.clock.monotonic() + ORPHAN_SECONDS

    def _kill_orphans(self) -> None:
        """What a dead machine leaves behind becomes our child; one that cleared its environment is found only here."""
        for pid in system.children(os.getpid()):
            if pid not in self._by_pid and pid not in self._brooms and pid not in self.machines:
                try:
                    os.kill(pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    continue  # gone, or another user's by its own rights

    def _tell(self) -> float:
        """For people: who waits, and for what. Seconds until there may be something new to tell."""
        now = self.clock.monotonic()
        first = self.queue.first()
        lacking = self.slots.lacking(first.launch.machine, first.launch.workers) if first is not None else ""
        told = {**self._me, "waiting": len(self.queue), "lacking": lacking}
        if told == self._told:
            return LOOK_SECONDS_MAX
        if now < self._tell_at:
            return self._tell_at - now
        self._tell_at = now + TELL_SECONDS
        try:
            files.put_json(self.paths.supervisor, told)
        except OSError:
            return TELL_SECONDS  # a full disk, say: what is told is no reason to leave the machines alone
        self._told = told
        return LOOK_SECONDS_MAX


def _descriptors(machine: Machine) -> list[int]:
    """By which it is heard."""
    heard = machine.leader.hear if machine.leader is not None else None
    return [descriptor for descriptor in (machine.watch, heard) if descriptor is not None]
