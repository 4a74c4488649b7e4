"""One attempt's trainers, all ranks in step: they advance only while every one of them lives."""

from __future__ import annotations

from dataclasses import field
from random import Random
from typing import TYPE_CHECKING

from outlast.agent.child import Exit, Notice
from outlast.dataclass import dataclass
from outlast.errors import EXIT_TRAINER_INTERRUPTED
from outlast.testing.simulation.history import Event, History
from outlast.testing.simulation.schedule import Schedule
from outlast.testing.simulation.training import Training

if TYPE_CHECKING:
    from outlast.testing.simulation.child import SimulatedChild

EXIT_KILLED = 137
EXIT_TERMINATED = 143


@dataclass
class Habits:
    """How this job's script behaves; the counters are spent as the job goes on, over all its attempts."""

    step_seconds: float
    save_seconds: float
    ignores_notices: bool = False
    bugs: list[int] = field(default_factory=list)
    """Steps after which it ends with exit code 1, once each."""

    bug_for_ever_at: int | None = None
    out_of_memory: list[int] = field(default_factory=list)
    kills: list[int] = field(default_factory=list)
    hangs: list[int] = field(default_factory=list)
    """Steps after which it does nothing any more, once each."""


class Trainers:
    """The trainers of one attempt."""

    def __init__(
        self,
        attempt: int,
        workers: int,
        training: Training,
        habits: Habits,
        schedule: Schedule,
        history: History,
        random: Random,
    ) -> None:
        self.attempt = attempt
        self.workers = workers
        self.training = training
        self.habits = habits
        self._schedule = schedule
        self._history = history
        self._random = random
        self.members: dict[int, SimulatedChild] = {}
        self.step = 0
        self._token = 0
        self._running = False
        self._rest_seconds = habits.step_seconds
        self._due_at = 0.0
        self.hung = False
        self._ending = False

    def join(self, child: SimulatedChild, step: int, *, damaged: bool) -> None:
        if child.rank in self.members and self.members[child.rank] is not child:
            self._history.violated(f"two machines run rank {child.rank} of attempt {self.attempt}")
        if self.members and step != self.step:
            self.hung = (
                True  # they wait for each other for ever; a checkpoint damaged in between is no fault of the protocol
            )
            if not damaged:
                self._history.violated(f"ranks of attempt {self.attempt} began at steps {self.step} and {step}")
        elif not self.members:
            self.step = step
        self.members[child.rank] = child
        self.refresh()

    def refresh(self) -> None:
        """Called whenever a member may have died, been stopped or come back."""
        running = (
            len(self.members) == self.workers
            and not self.hung
            and all(member.trains(self.attempt) for member in self.members.values())
        )
        if running == self._running:
            return
        self._running = running
        self._token += 1
        if running:
            self._plan(self._rest_seconds)
        else:
            self._rest_seconds = max(0.01, self._due_at - self._schedule.now)

    def _plan(self, seconds: float) -> None:
        self._due_at = self._schedule.now + seconds
        token = self._token
        self._schedule.after(seconds, lambda: self._boundary(token))

    def _boundary(self, token: int) -> None:
        if token != self._token:
            return
        if self.step >= self.training.steps:
            self._finish()
            return
        self.step += 1
        for member in self.members.values():
            member.stepped(self.step)
        if self._misbehaves() or self._leaves():
            return
        if self.step >= self.training.steps:
            self._finish()
            return
        if self.step % self.training.save_every == 0:
            self.members[0].save(self.step, complete=False, seconds=self.habits.save_seconds)
        self._plan(self.habits.step_seconds * self._random.uniform(0.8, 1.3))

    def _finish(self) -> None:
        """The last save is synchronous; then all ranks end."""
        if not self._ending:
            self._ending = True
            self._plan(self.habits.save_seconds + 0.1)
            return
        self.members[0].save(self.step, complete=True, seconds=0.0)
        for member in list(self.members.values()):
            member.ended(Exit(0))

    def _misbehaves(self) -> bool:
        habits, step = self.habits, self.step
        victim = self.members[self._random.randrange(self.workers)]
        if step in habits.hangs:
            habits.hangs.remove(step)
            self._history.fault("hang")
            self._history.happened(
                Event(self._schedule.now, "hang", machine=victim.machine_name, attempt=self.attempt, step=step)
            )
            self.hung = True
            self.refresh()
            return True
        if step in habits.out_of_memory:
            habits.out_of_memory.remove(step)
            self._history.fault("out of memory")
            victim.ended(Exit(EXIT_KILLED, out_of_memory=True))
            return True
        if step in habits.kills:
            habits.kills.remove(step)
            self._history.fault("trainer killed")
            victim.ended(Exit(EXIT_KILLED, killed=True))
            return True
        if step in habits.bugs or step == habits.bug_for_ever_at:
            if step in habits.bugs:
                habits.bugs.remove(step)
            self._history.fault("exit code")
            victim.ended(Exit(1))
            return True
        return False

    def _leaves(self) -> bool:
        """Told to leave: the library saves if that fits, and ends with 75."""
        left = False
        for member in list(self.members.values()):
            if member.told is None or self.habits.ignores_notices:
                continue
            if member.rank == 0 and member.seconds_left() > self.habits.save_seconds:
                member.save(self.step, complete=False, seconds=0.0)
            self._history.fault("exit 75")
            member.ended(Exit(EXIT_TRAINER_INTERRUPTED))
            left = True
        return left

    def told(self, child: SimulatedChild, notice: Notice) -> None:
        """A script without the library gets SIGTERM."""
        if self.habits.ignores_notices:
            self._history.fault("notice ignored", notice.reason.value)
        elif not self.training.library:
            child.ended(Exit(EXIT_TERMINATED))
