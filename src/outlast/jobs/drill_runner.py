"""One job of a drill, from submit to end: with the kills of its plan, and everything noted that its verdict needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from outlast.dataclass import dataclass, replace
from outlast.engines.engine import Engine
from outlast.errors import KeyMissing
from outlast.folder.life import HELD
from outlast.folder.records import Checkpoint, Head
from outlast.host.machine_dir import MachineDir
from outlast.jobs.asked import Asked
from outlast.jobs.drill_plan import Kill, Kind, Plan
from outlast.jobs.drill_progress import Progress, got_on
from outlast.jobs.drill_story import Commit, Killed, Seen, Story
from outlast.jobs.drill_verdict import counted
from outlast.jobs.drill_watch import Watch, checkpoint_directory
from outlast.jobs.job import Job, as_launch
from outlast.jobs.look import look
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.watch import RING_SECONDS, ring
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress, silent

LOOK_SECONDS = 1.0
POLL_SECONDS_MAX = 0.05
HUNT_SECONDS = 0.002
"""How often a directory is looked at while a save is waited for: a write of a few milliseconds is still seen."""

COMMIT_SECONDS_MAX = 60.0
SETTLED_SECONDS_MAX = 5.0
"""How long a paused trainer is left alone, so that what it saved is committed before it is killed: the first time, and later."""

NOTICE_SECONDS = 30.0
"""As on a Spot machine."""

STOP_SECONDS = 5.0

UNHURRIED = 1.0


@dataclass(frozen=True)
class Runner:
    """How the jobs of one drill are run."""

    world: World
    asked: Asked
    report: Callable[[str], None]
    notice_seconds: float = NOTICE_SECONDS
    on_progress: OnProgress = silent

    def run(
        self, plan: Plan, steps_max: int | None, reference: Story | None = None, *, hurry: float = UNHURRIED
    ) -> Story:
        """To the job's end, whatever it is. An interrupted drill leaves nothing running. `hurry`: kills come so many times sooner."""
        submitted = submit(self.world, replace(self.asked, drill=plan.drill(steps_max)))
        run = _Run(self, submitted.job, plan, reference, hurry)
        try:
            return run.follow()
        except BaseException:
            stop(self.world, submitted.job, grace_seconds=STOP_SECONDS)
            raise


class _Run:
    def __init__(self, runner: Runner, job: Job, plan: Plan, reference: Story | None, hurry: float) -> None:
        self.runner = runner
        self.world = runner.world
        self.clock = runner.world.clock
        self.job = job
        self.kills = {kill.attempt: kill for kill in plan.kills}
        self.reference = reference
        self.hurry = hurry
        self.progress = Progress(reference, hurry) if reference is not None else None
        self.counts_steps = reference is None or reference.by_library
        """An unmodified script's steps are its saves."""

        self.story = Story(job, look(self.world, job))
        record = job.folder.read_launch(self.story.head.launch)
        self.launch = as_launch(job, record, job.spec())
        self.engine: Engine = self.world.engine(record.engine)
        self.attempt = 0
        self.began_at = 0.0
        self.restored_step: int | None = None
        self.paused_at: float | None = None
        self.watch: Watch | None = None
        self.writing = False
        self.look_at = self.ring_at = 0.0
        self.noted: set[str] = set()

    def follow(self) -> Story:
        while True:
            head = self.job.folder.read_head().head
            if head.attempt != self.attempt:
                self._begin(head)
            self._note_commits(head)
            self._note_writes()
            if head.state.final:
                self.story.status = look(self.world, self.job)
                self._note_sizes()
                self.story.missed = self.kills[min(self.kills)] if self.kills else None
                self.runner.on_progress("comparing", 0, 0)
                return self.story
            kill = self.kills.get(self.attempt)
            if kill is not None and self._due(kill, head) and self._carry_out(kill):
                del self.kills[self.attempt]
                continue
            self._look_after()
            self.clock.sleep(self._pause(kill))

    def _begin(self, head: Head) -> None:
        self.attempt = head.attempt
        self.began_at = self.clock.monotonic()
        self.restored_step = head.attempts[str(head.attempt)].resumed_from_step
        if self.progress is not None:
            self.progress.begin(self.began_at)
            if self.reference is not None and self.reference.by_library:
                self.progress.restore(self.restored_step, (), self.began_at)
        self.paused_at, self.watch, self.writing = None, None, False
        if head.attempt > 1:
            self.runner.report(f"  {self._beginning(head)}")

    def _beginning(self, head: Head) -> str:
        step = head.attempts[str(head.attempt)].resumed_from_step
        if step is None:
            return f"attempt {head.attempt} began at the beginning"
        if not self.counts_steps:
            return f"attempt {head.attempt} began with its save {step:,}"
        before = head.attempts.get(str(head.attempt - 1))
        lost = before.steps_lost if before is not None else None
        said = "" if lost is None else f", {counted(lost, 'step')} lost" if lost else ", nothing lost"
        return f"attempt {head.attempt} went on at step {step:,}{said}"

    def _note_commits(self, head: Head) -> None:
        for checkpoint in head.checkpoints:
            if checkpoint.attempt and checkpoint.name not in self.noted:
                self.noted.add(checkpoint.name)
                self._note_commit(head, checkpoint)

    def _note_commit(self, head: Head, checkpoint: Checkpoint) -> None:
        try:
            manifest = self.job.folder.read_manifest(checkpoint.name)
        except KeyMissing:
            return  # A newer one has replaced it already.
        attempt = head.attempts[str(checkpoint.attempt)]
        began_at = attempt.running_at if attempt.running_at is not None else attempt.started_at
        files = {}
        for file in manifest.files:
            kind, _, path = file.path.partition("/")
            if kind == "checkpoint":
                files[path] = file.sha256
                self.story.sizes.setdefault(path, set()).add(file.bytes)
                self.story.by_library |= path.startswith("step-") and path.endswith("/checkpoint.json")
        seconds = max(0.0, checkpoint.committed_at - began_at)
        self.story.commits.append(Commit(checkpoint.attempt, checkpoint.step, seconds, files))
        if self.progress is not None:
            self.progress.commit(checkpoint.step, self.clock.monotonic())

    def _note_writes(self) -> None:
        """Of a script that saves by itself; what the library saves is known from its commits."""
        if self.reference is not None and self.reference.by_library:
            return
        if self.watch is None:
            self._begin_watch()
            return
        written = self.watch.written()
        self.writing = bool(written)
        now = self.clock.monotonic()
        for path, digest in written.items():
            self.story.seen.append(Seen(self.attempt, path, digest, max(now - self.began_at, 1e-3)))
            if self.progress is not None:
                self.progress.write((path, digest), now)
        if self.reference is not None:
            self.story.torn = self.story.torn or self.watch.torn

    def _note_sizes(self) -> None:
        """Not every save was committed: those between two commits were whole too."""
        for path, sizes in self.watch.replaced.items() if self.watch is not None else ():
            if path in self.story.sizes:
                self.story.sizes[path] |= sizes

    def _begin_watch(self) -> None:
        """When the trainer was started, and not before: what is restored is not written by it."""
        directories = self.engine.state(self.launch).directories if self.attempt else ()
        if not directories or not os.path.exists(MachineDir(directories[0]).trainer_process(self.attempt)):
            return
        directory = checkpoint_directory(Path(directories[0]), self.runner.asked.checkpoint_dir)
        self.watch = Watch(directory, self.reference.sizes if self.reference else {})
        for path, digest in self.watch.restored.items():
            self.story.seen.append(Seen(self.attempt, path, digest, 0.0))
        if self.progress is not None:
            self.progress.restore(self.restored_step, self.watch.restored.items(), self.began_at)

    # The moment.

    def _due(self, kill: Kill, head: Head) -> bool:
        if kill.pause:
            return self._is_paused(kill, head)
        if len(self.story.commits) < self._commits_first() or not got_on(head, self.attempt) or not self._is_time(kill):
            return False
        return self.writing if kill.kind is Kind.SAVING else True

    def _commits_first(self) -> int:
        """Two, where there are enough: whether a script that was restored begins again at zero shows behind the second one."""
        enough = self.reference is not None and len(self.reference.commits) > 3
        return 2 if enough and self.hurry == UNHURRIED else 1

    def _is_time(self, kill: Kill) -> bool:
        if self.progress is None or self.reference is None:
            return True
        if not self.reference.by_library and self.watch is None:
            return False  # what it began with is not known yet
        return self.progress.seconds(self.clock.monotonic()) >= kill.share * self.reference.seconds

    def _is_paused(self, kill: Kill, head: Head) -> bool:
        """Held by the library; and a checkpoint is committed, so that there is something to go on from."""
        beat = self.job.folder.read_beat(self.attempt)
        if beat is None or beat.doing != f"{HELD}{kill.pause}":
            return False
        if self.paused_at is None:
            self.paused_at = self.clock.monotonic()
        waited = self.clock.monotonic() - self.paused_at
        if not head.checkpoints:
            return waited > COMMIT_SECONDS_MAX
        committed = head.attempts[str(self.attempt)].committed_step is not None
        return committed or not kill.settled or waited > SETTLED_SECONDS_MAX

    def _pause(self, kill: Kill | None) -> float:
        if self.watch is not None and kill is not None and kill.kind is Kind.SAVING and not kill.pause:
            return HUNT_SECONDS
        return min(POLL_SECONDS_MAX, max(0.005, self.job.folder.store.poll_seconds))

    def _look_after(self) -> None:
        now = self.clock.monotonic()
        if now < self.look_at:
            return
        self.look_at = now + LOOK_SECONDS
        status = look(self.world, self.job)
        if self.runner.on_progress is silent:
            return
        if now >= self.ring_at:
            self.ring_at = now + RING_SECONDS
            ring(self.job.folder)
        doing = "starting" if not self.attempt else f"attempt {self.attempt}" if self.reference else "the reference"
        unit = "steps" if self.counts_steps else "saves"
        self.runner.on_progress(doing, status.step or 0, status.steps_total or 0, unit)

    # The kill.

    def _carry_out(self, kill: Kill) -> bool:
        """False: there was no machine to take, it has just ended by itself."""
        seconds = self.clock.monotonic() - self.began_at
        notice = self.runner.notice_seconds if kill.kind is Kind.NOTICED else 0.0
        beat = self.job.folder.read_beat(self.attempt)
        step = beat.step if beat else None
        begun_at = self.clock.monotonic()
        taken = self.engine.preempt(self.launch, notice_seconds=notice)
        leaving = self.clock.monotonic() - begun_at
        if not taken:
            return False
        self.story.killed.append(Killed(kill, step, seconds, leaving))
        where = f"at step {step:,}" if step is not None and self.counts_steps else f"after {seconds:.1f} s"
        words = {
            Kind.SUDDEN: "without notice",
            Kind.SAVING: "in mid-save, without notice",
            Kind.NOTICED: f"with {notice:.0f} s of notice, of which it used {leaving:.1f} s",
        }
        self.runner.report(f"Kill {len(self.story.killed)}: attempt {self.attempt}, {where}, {words[kill.kind]}")
        return True
