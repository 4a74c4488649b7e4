"""One launch that has its slots: its machines, replaced when they die, until it is over."""

from __future__ import annotations

import errno
import os
import signal

from outlast.clock import Clock
from outlast.dataclass import replace
from outlast.engines.engine import Condition
from outlast.engines.local import ending, machines
from outlast.engines.local.layout import End, LocalDir, Order
from outlast.engines.local.machines import Machine, Machines
from outlast.errors import OutlastError
from outlast.host import files
from outlast.host.machine_dir import Assignment, MachineDir

FAILED_BOOTS_MAX = 3
"""So many boots of one rank in a row that never came up, or never had an agent that stayed, end the launch."""

SHORT_LIFE_SECONDS = 10.0
SHORT_LIVES_FREE = 3
RESTART_SECONDS = (0.25, 30.0)
"""After a few machines of one rank that were gone at once by themselves, the next ones wait: so long, doubled each time, up to so long."""

DEADLINE_MARGIN_SECONDS = 5 * 60.0
"""The agent ends well before the deadline and init's timer at it; this one is for a machine where both hang."""

DONE_GRACE_SECONDS = 30.0
"""One machine has left because all is done: so long the others have to see it themselves."""

SWEEP_SECONDS = (0.002, 1.0)
"""How soon a dead machine's last processes are looked for again: doubled each time, since a look costs milliseconds."""

RETRY_SECONDS = 5.0
"""What this computer refused (a directory, a process) is asked for again after so long."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""Nothing that a launch has done wrong, and whoever makes room wants those that wait to begin: its deadline is the limit."""


class Rank:
    """One worker's place, and the machine that fills it."""

    def __init__(self, assignment: Assignment) -> None:
        self.next = assignment
        """What the machine after the present one is told."""

        self.machine: Machine | None = None
        self.remains: list[MachineDir] = []
        """Machines that died: something of them may still run."""

        self.sweeps = 0
        self.sweep_at = 0.0
        self.restart_at: float | None = None
        self.spare = False
        """Nobody needs to take its place."""

        self.given_back = False
        """Somebody else has its slot."""


class Life:
    def __init__(self, paths: LocalDir, order: Order, started: Machines, clock: Clock) -> None:
        self.paths = paths
        self.order = order
        self.machines = started
        self.clock = clock
        self.ranks: list[Rank] = []
        self.end: End | None = None
        """Why it is over, once it is; what still runs is being ended."""

        self.clear_at: float | None = None
        self.buried: list[int] = []
        """Processes that remove directories."""

        self.moved_from = ""
        """The launch, which is over, whose machine's directory has become that of this one's."""

        self._untidy = False
        """A machine of it died, and could not clear up after itself."""

    @property
    def id(self) -> str:
        return self.order.launch.id

    def begin(self, gpus: list[tuple[str, ...] | None]) -> None:
        """Of workers that are independent of each other some may begin now, and others later."""
        new = [Rank(self._assignment(number, devices)) for number, devices in enumerate(gpus, len(self.ranks))]
        self.ranks += new
        # All directories before the first process: a successor that finds fewer knows that nothing has begun.
        try:
            for rank in new:
                before = self.machines.prepare(self._directory(rank), rank.next)
                self.moved_from = os.path.basename(os.path.dirname(before.path)) if before is not None else ""
        except OSError as error:
            for rank in new:
                self._refused(rank, error)
            return
        for rank in new:
            self._fork(rank)

    def _assignment(self, number: int, devices: tuple[str, ...] | None) -> Assignment:
        launch = self.order.launch
        return Assignment(
            home=launch.home,
            job=launch.job,
            launch=launch.launch,
            launch_id=launch.id,
            rank=number,
            workers=launch.workers,
            boot=1,
            deadline_at=launch.deadline_at,
            cpus=launch.machine.cpus,
            gpus=devices,
            environ=self.order.environ,
            files_max=self.order.files_max,
            labels=launch.labels,
        )

    def wants_more(self) -> bool:
        """Some of its workers have not begun yet, and are needed."""
        begun = len(self.ranks) == self.order.launch.workers
        return not begun and self.end is None and not any(rank.spare for rank in self.ranks)

    def adopt(self) -> bool:
        """Takes up what an earlier supervisor left; False: nothing had begun, and it can be queued again."""
        found = self.paths.newest_machines(self.id)
        begun = len(found) if self.order.launch.independent else self.order.launch.workers
        if not found or set(found) != set(range(begun)):
            return False
        try:
            self.ranks = [Rank(_after(found[number].read_assignment())) for number in sorted(found)]
        except OutlastError:
            return False  # a power cut tore it, and ended its processes
        for number, _, directory in self.paths.machine_dirs(self.id):
            rank = self.ranks[number]
            if directory != found[number]:
                self._untidy = True
                rank.remains.append(directory)
                continue
            rank.machine = machines.adopt(directory, self.clock.monotonic())
            if rank.machine is None:
                self._judge(rank, directory, lived_seconds=0.0)
        return True

    def living(self) -> list[Machine]:
        return [rank.machine for rank in self.ranks if rank.machine is not None]

    # What may happen to it.

    def died(self, machine: Machine) -> None:
        """A machine has ended: left, or died."""
        rank = self.ranks[machine.assignment.rank]
        machine.close()
        rank.machine = None
        self._judge(rank, machine.directory, self.clock.monotonic() - machine.born_at)

    def stop(self, end: End) -> None:
        """Everything ends now."""
        if self.end is None:
            self.end = end
        self.clear_at = self.clock.monotonic()
        for rank in self.ranks:
            rank.restart_at = None
        self._clear()

    def tend(self) -> float | None:
        """Does what is due; seconds until there is something to do again, None: only when something happens."""
        now = self.clock.monotonic()
        due: list[float] = []
        for rank in self.ranks:
            if rank.remains and now >= rank.sweep_at:
                self._sweep(rank, now)
            if rank.remains:
                due.append(rank.sweep_at - now)
            elif rank.restart_at is not None:
                if now >= rank.restart_at:
                    self._restart(rank)
                else:
                    due.append(rank.restart_at - now)
        if self.clear_at is not None and self.living():
            if now >= self.clear_at:
                self._clear()
            else:
                due.append(self.clear_at - now)
        late = self.order.launch.deadline_at + DEADLINE_MARGIN_SECONDS - self.clock.now()
        if late <= 0 and self.end is None:
            self.stop(End(Condition.ABSENT, "its deadline has passed"))
            return 0.0
        if self.end is None:
            due.append(late)
        return min(due, default=None)

    def given_back(self) -> list[Rank]:
        """Those whose slots are free from now on; each is told once."""
        found = [rank for rank in self.ranks if not rank.given_back and (rank.spare or self.over())]
        for rank in found:
            rank.given_back = True
        return found

    def over(self) -> bool:
        """Nothing of it is alive, and nothing will be."""
        return self.end is not None and not self.living() and not any(rank.remains for rank in self.ranks)

    # The parts of that.

    def _judge(self, rank: Rank, directory: MachineDir, lived_seconds: float) -> None:
        done = directory.left_done()
        up = os.path.exists(directory.up)
        if done is None:
            self._untidy = True
            rank.remains.append(directory)
        short = lived_seconds < SHORT_LIFE_SECONDS and not os.path.exists(directory.preempted)
        rank.next = replace(
            rank.next,
            failed_boots=_failed_boots(rank.next.failed_boots, directory, up=up, left=done is not None),
            short_lives=rank.next.short_lives + 1 if short else 0,
        )
        if self.end is None and done:
            self.end = End()
            self.clear_at = self.clock.monotonic() + DONE_GRACE_SECONDS
            for other in self.ranks:
                other.restart_at = None
        if self.end is None and directory.left_spare() and not all(one.spare or one is rank for one in self.ranks):
            rank.spare = True
            return
        if self.end is None and rank.next.failed_boots >= FAILED_BOOTS_MAX:
            self.stop(End(Condition.BOOT_FAILED, _why_given_up(directory, up=up)))
        if self.end is None:
            rank.restart_at = self.clock.monotonic() + _delay_seconds(rank.next.short_lives)

    def _restart(self, rank: Rank) -> None:
        rank.restart_at = None
        directory = self._directory(rank)
        try:
            machines.make(directory, rank.next)
        except OSError as error:
            self._refused(rank, error)
            return
        # Only now: a successor must always find the newest directory, from which it goes on counting.
        older = [path for number, _, path in self.paths.machine_dirs(self.id) if number == rank.next.rank]
        for path in older:
            if path != directory:
                self._bury(path)
        self._fork(rank)

    def _fork(self, rank: Rank) -> None:
        try:
            rank.machine = self.machines.start(self._directory(rank), rank.next, self.clock.monotonic())
        except OSError as error:
            self._refused(rank, error)
            return
        rank.next = _after(rank.next)

    def _refused(self, rank: Rank, error: OSError) -> None:
        """This computer has no room for a machine just now: no process to spare, or no space, which is waited for."""
        if error.errno not in NO_SPACE:
            rank.next = replace(rank.next, failed_boots=rank.next.failed_boots + 1)
        if rank.next.failed_boots >= FAILED_BOOTS_MAX:
            self.stop(End(Condition.BOOT_FAILED, f"its machine could not be started: {error}"))
        else:
            rank.restart_at = self.clock.monotonic() + RETRY_SECONDS

    def _clear(self) -> None:
        for machine in self.living():
            ending.kill(machine.directory)
            machine.send(signal.SIGKILL)

    def _sweep(self, rank: Rank, now: float) -> None:
        """A dead machine's last processes must be gone before the next one starts."""
        gone = [directory for directory in rank.remains if ending.sweep(directory)]
        rank.remains = [directory for directory in rank.remains if directory not in gone]
        rank.sweeps = rank.sweeps + 1 if rank.remains else 0
        rank.sweep_at = now + _doubled(SWEEP_SECONDS, rank.sweeps) if rank.remains else 0.0

    def bulky(self) -> bool:
        """More is left of it than a few small files."""
        return self._untidy and any(
            machines.is_bulky(directory.path) for _, _, directory in self.paths.machine_dirs(self.id)
        )

    def bury(self) -> None:
        """Removes all that is left on disk, when it is over."""
        for _, _, directory in self.paths.machine_dirs(self.id) if self._untidy else ():
            self._bury(directory)
        files.remove_tree(self.paths.machines_of(self.id))

    def _bury(self, directory: MachineDir) -> None:
        pid = machines.bury(directory.path, self.paths.trash)
        if pid is not None:
            self.buried.append(pid)

    def _directory(self, rank: Rank) -> MachineDir:
        return self.paths.machine(self.id, rank.next.rank, rank.next.boot)


def _failed_boots(before: int, directory: MachineDir, *, up: bool, left: bool) -> int:
    """In a row, with this machine. One whose supervisor was killed before it began says nothing: neither way."""
    if not up and directory.never_began():
        return before
    return before + 1 if not up or (not left and directory.given_up()) else 0


def _after(assignment: Assignment) -> Assignment:
    return replace(assignment, boot=assignment.boot + 1)


def _why_given_up(directory: MachineDir, *, up: bool) -> str:
    if not os.path.isdir(directory.path):
        return f"its directory was removed, {FAILED_BOOTS_MAX} times in a row"
    how = "without an agent that stayed" if up else "before it was up"
    return f"the machine ended {FAILED_BOOTS_MAX} times {how}:\n{machines.log_tail(directory) or 'it left no word'}"


def _delay_seconds(short_lives: int) -> float:
    return 0.0 if short_lives <= SHORT_LIVES_FREE else _doubled(RESTART_SECONDS, short_lives - SHORT_LIVES_FREE - 1)


def _doubled(low_high: tuple[float, float], times: int) -> float:
    low, high = low_high
    return min(high, low * 2.0 ** min(times, 20))
