"""One attempt, from its claim to its end.

Single-threaded over (clock, store, child): the simulation runs this very code. Whatever must not wait (notices, beats, wishes, the
log) is done by `_tick`, which the loop calls, and which an upload calls between its chunks. While the store is away the trainer goes on.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from outlast.agent.child import Changed, Child, Exit, Reason, Saved, Start
from outlast.agent.mirror import Mirror
from outlast.agent.streams import Stream
from outlast.agent.verdict import Next, Verdict, judge
from outlast.agent.vigil import (
    DEADLINE_EARLY_SECONDS,
    DEADLINE_EARLY_SHARE,
    DEADLINE_GRACE_SHARE,
    STOP_GRACE_SECONDS,
    Vigil,
)
from outlast.clock import Clock
from outlast.errors import Damaged, Denied, KeyMissing, StoreFull, StoreUnavailable
from outlast.folder import life
from outlast.folder.content import download, read_manifest
from outlast.folder.fence import Claim, Fence
from outlast.folder.folder import Fenced, Folder
from outlast.folder.records import Beat, Cause, Checkpoint, Head, LaunchRecord, Manifest, State, WorkerExit
from outlast.spec.spec import Spec

BEAT_SECONDS = 15.0
BEAT_SECONDS_MIN = 1.0
BEAT_POLLS = 20
"""A store that likes to be looked at often likes to be told often too: so what a dead machine has lost is known more exactly."""

OFFLINE_SECONDS_MAX = 30 * 60.0
"""So long a machine goes on without its store; then it powers off, and a better connected one takes over."""

BACKOFF_SECONDS = (1.0, 30.0)
SAVED_LOOK_SECONDS = 0.5

AWAY = (StoreUnavailable, StoreFull, Denied)
"""What may pass: the store is away, full, or refuses us for now."""

T = TypeVar("T")


class After(enum.Enum):
    DONE = "done"
    AGAIN = "again"
    OFF = "off"
    FENCED = "fenced"


class Offline(Exception):
    """The store was away for longer than a machine may wait."""


class Abandoned(Exception):
    """The upload in flight would not have been finished before the machine is taken away."""


class AttemptLife:
    def __init__(
        self, folder: Folder, fence: Fence, claim: Claim, spec: Spec, launch: LaunchRecord, child: Child, clock: Clock
    ) -> None:
        self.folder = folder
        self.place = place = fence.place
        self.at = claim.at
        self.number = claim.attempt
        self.nonce = claim.nonce
        self.spec = spec
        self.launch = launch
        self.child = child
        self.clock = clock
        now = clock.monotonic()
        self.vigil = Vigil(
            child,
            now=now,
            stall_seconds=spec.stall_seconds,
            ending=fence.memory.ending,
            remember=fence.remember_ending,
        )
        self.streams = [Stream(folder, child, name, self.number, place.rank) for name in ("log", "metrics")]
        self.mirror = Mirror(folder, self.number, self._between)
        self.pending: tuple[Saved, Manifest] | None = None
        self.last_saved = 0
        self.worker_exit: WorkerExit | None = None
        self._deadline = now + self._seconds_to_deadline()
        self._beat_seconds = min(BEAT_SECONDS, max(BEAT_SECONDS_MIN, BEAT_POLLS * folder.store.poll_seconds))
        self._beat_at = now
        self._beaten_at = now
        self._bell_at = now
        self._saved_at = now
        self._written_at = now
        self._back_at = now
        self._away_since: float | None = None
        self._rung = ""
        self._watch_until = 0.0
        self._paused = ""
        self._upload_began_at = now
        self._starting_seconds = 0.0

    # The life, top to bottom.

    def live(self) -> After:
        try:
            if self.child.started(self.number):
                self._recall()
            else:
                self._gather()
                if not self._restore():
                    return After.DONE
            return self._conclude(self._train())
        except Fenced:
            self.child.end()
            return After.FENCED
        except (Offline, Abandoned):
            # Nothing is written that was not sent before: the next attempt goes on from the last commit.
            self.child.end()
            return After.OFF

    def _recall(self) -> None:
        """An earlier life of this agent started the trainer: go on with it."""
        self._patiently(self.mirror.recall)
        for stream in self.streams:
            self._patiently(stream.recall)

    def _gather(self) -> None:
        """Until all workers have joined. No timer: a dead worker's slot stays taken, and its replacement begins the next attempt."""
        while self.at.head.state is State.GATHERING:
            if self._patiently(lambda: self.folder.stop_wished(self.at.head.launch)):
                self._patiently(lambda: self._amend(lambda head: life.final(head, State.STOPPED, self._now()), "stop"))
                raise Fenced
            if self.place.rank == 0 and self._patiently(self._all_joined):
                self._patiently(lambda: self._amend(lambda head: life.running(head, self._now()), "run"))
                return
            self.clock.sleep(min(BEAT_SECONDS, max(self.folder.store.poll_seconds, 0.02)))
            self._patiently(self._read_head)

    def _all_joined(self) -> bool:
        others = (rank for rank in range(self.place.workers) if rank != self.at.head.by)
        return all(self.folder.read_worker(self.number, rank) is not None for rank in others)

    def _restore(self) -> bool:
        """The newest checkpoint that is whole, put in place; then the trainer is started. False: it cannot be, and the job has failed."""
        began_at = self.clock.monotonic()
        try:
            checkpoint = self._newest_whole()
        except Damaged as error:
            self._finish(
                Verdict(Cause.DAMAGED, Next.FINAL, State.FAILED, f"no checkpoint is whole: {error.message}"), None
            )
            return False
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self._finish(Verdict(Cause.DISK_FULL, Next.FINAL, State.FAILED, "the machine's disk was full"), None)
            return False
        args = self.launch.args if self.launch.args is not None else self.spec.args
        resumed = checkpoint is not None and not checkpoint.adopted
        self.child.start(
            Start(
                job=self.spec.job,
                attempt=self.number,
                rank=self.place.rank,
                workers=self.place.workers,
                args=(*args, *self.spec.resume_args) if resumed else args,
                resumed_step=checkpoint.step if checkpoint is not None and resumed else None,
                adopted=checkpoint is not None and checkpoint.adopted,
                env=self.spec.env,
            )
        )
        self._starting_seconds = self.clock.monotonic() - began_at
        return True

    def _newest_whole(self) -> Checkpoint | None:
        """A damaged checkpoint is passed over for the one before it; None: there is none at all yet."""
        problem: Damaged | None = None
        for checkpoint in reversed(self.at.head.checkpoints):
            try:
                self._patiently(partial(self._put_in_place, checkpoint))
            except Damaged as error:
                problem = problem or error
            else:
                return checkpoint
        if problem is not None:
            raise problem
        self.child.clear()
        return None

    def _put_in_place(self, checkpoint: Checkpoint) -> None:
        self.child.clear()
        for file in read_manifest(self.folder, checkpoint.name).files:
            self.child.restore(file.path, file.mode, download(self.folder, file))

    def _train(self) -> Exit:
        while True:
            exit = self.child.exit()
            if exit is not None:
                return exit
            self._tick()
            if self.worker_exit is not None:
                return self._end_with(self.worker_exit)
            self._commit_if_saved()
            self.child.wait(min(self.folder.store.poll_seconds, BEAT_SECONDS))

    def _end_with(self, worker: WorkerExit) -> Exit:
        """A rank that has ended ends the attempt, by its own reason."""
        self.child.end()
        self.vigil.stalled = self.vigil.stalled or worker.stalled
        return Exit(worker.exit_code, worker.out_of_memory, worker.disk_full)

    def _conclude(self, exit: Exit) -> After:
        """The exit code is on disk. Log, last checkpoint, head, outputs: in this order, so that each names only what is there."""
        for stream in self.streams:
            self._patiently(stream.finish)
        if self.place.rank != 0:
            return self._wait_for_owner(exit)
        if exit.code and self.place.workers > 1:
            # An earlier life of this agent may have ended its own trainer because of another rank's end.
            self._patiently(self._look_at_workers)
            exit = self._end_with(self.worker_exit) if self.worker_exit else exit
        verdict = judge(
            exit,
            told=self.vigil.why_told,
            stalled=self.vigil.ended_as_stalled,
            retries=self.spec.retries,
            head=self.at.head,
        )
        self._last_commit()
        if verdict.next is Next.FINAL:
            self._finish(verdict, exit)
            return After.DONE
        step = self.child.step()

        def end(head: Head) -> Head:
            attempt = head.attempts[str(self.number)]
            with_end = life.with_end(
                attempt, verdict.cause, self._now(), step=step, exit_code=exit.code, reason=verdict.reason
            )
            return life.ended(head, self.number, replace(with_end, seconds=self._seconds()))

        self._patiently(lambda: self._amend(end, "end"))
        return After.AGAIN if verdict.next is Next.SAME_MACHINE else After.OFF

    def _wait_for_owner(self, exit: Exit) -> After:
        if self.vigil.why_told is Reason.PREEMPTED:
            return After.OFF  # no verdict on the job: the machine is going, and its replacement begins the next attempt
        record = WorkerExit(
            rank=self.place.rank,
            exit_code=exit.code,
            at=self._now(),
            out_of_memory=exit.out_of_memory,
            disk_full=exit.disk_full,
            stalled=self.vigil.ended_as_stalled,
        )
        self._patiently(lambda: self.folder.create(self.folder.keys.exit(self.number, self.place.rank), record))
        while True:
            self.vigil.look(self.clock.monotonic(), self._deadline)
            if self.vigil.told is Reason.PREEMPTED:
                return After.OFF
            self._patiently(self._read_head)
            self.clock.sleep(BEAT_SECONDS)

    def _finish(self, verdict: Verdict, exit: Exit | None) -> None:
        """The one swap that ends the launch."""
        state = verdict.state or State.FAILED
        outputs = self._patiently(self._write_outputs) if exit is not None else ""
        step = self.child.step() if exit is not None else None
        code = exit.code if exit is not None else None

        def end(head: Head) -> Head:
            attempt = life.with_end(
                head.attempts[str(self.number)],
                verdict.cause,
                self._now(),
                step=step,
                exit_code=code,
                reason=verdict.reason,
            )
            attempt = replace(attempt, seconds=self._seconds())
            return life.final(
                life.ended(head, self.number, attempt),
                state,
                self._now(),
                outputs=outputs,
                exit_code=code,
                reason=verdict.reason,
            )

        self._patiently(lambda: self._amend(end, "final"))

    # Checkpoints.

    def _commit_if_saved(self) -> None:
        now = self.clock.monotonic()
        if self.place.rank != 0 or now < self._saved_at or now < self._back_at:
            return
        self._saved_at = now + SAVED_LOOK_SECONDS
        try:
            if self.pending is None:
                saved = self.child.saved(self.last_saved, last=False)
                if saved is not None:
                    self._upload(saved)
            self._commit_pending()
        except (Changed, Abandoned):
            return
        except AWAY:
            self._away(self.clock.monotonic())

    def _last_commit(self) -> None:
        """What was saved and not committed yet, now that nothing is written any more."""

        def commit() -> None:
            self._commit_pending()
            saved = self.child.saved(self.last_saved, last=True)
            if saved is not None:
                self._upload(saved)
                self._commit_pending()

        try:
            self._patiently(commit)
        except Changed:
            return

    def _upload(self, saved: Saved) -> None:
        self._upload_began_at = self.clock.monotonic()
        manifest = self.mirror.write(saved, self.at.head)
        self.last_saved = saved.number
        self.pending = (saved, manifest)

    def _commit_pending(self) -> None:
        if self.pending is None:
            return
        saved, manifest = self.pending
        before = self.at.head
        first = before.attempts[str(self.number)].committed_step is None
        seconds = self._seconds()
        self._amend(lambda head: life.committed(head, manifest, self._now(), seconds), f"commit-{manifest.name}")
        self.pending = None
        self.mirror.committed(saved, manifest)
        self.mirror.collect(before, self.at.head)
        if first:
            self.mirror.sweep(self.at.head)

    def _write_outputs(self) -> str:
        outputs = self.child.outputs()
        return self.mirror.write(outputs, self.at.head).name if outputs.files else ""

    # What must not wait.

    def _between(self, done: int, total: int) -> None:
        """Between two chunks of an upload."""
        self._tick()
        now = self.clock.monotonic()
        left = self.vigil.seconds_left(now)
        if left is not None and done and done < total:
            rest = (now - self._upload_began_at) / done * (total - done)
            if rest > left:
                raise Abandoned

    def _tick(self) -> None:
        now = self.clock.monotonic()
        self.vigil.look(now, self._deadline)
        if now < self._back_at:
            return
        try:
            self._look_at_bell(now)
            watched = self._watch_until > now
            for stream in self.streams:
                stream.ship(now, watched=watched)
            paused = self.child.paused()
            if now >= self._beat_at or paused != self._paused:
                self._paused = paused
                self._beat(now)
        except AWAY:
            self._away(now)
        else:
            self._away_since = None

    def _look_at_bell(self, now: float) -> None:
        if now < self._bell_at:
            return
        self._bell_at = now + self.folder.store.poll_seconds
        bell = self.folder.read_bell()
        if bell is None or bell.rung == self._rung:
            return
        self._rung = bell.rung
        self._watch_until = now + max(0.0, bell.watch_until - self.folder.store.now())
        self._beat_at = min(self._beat_at, self._beaten_at + self.folder.store.rewrite_seconds)
        self._obey_wishes(now)

    def _beat(self, now: float) -> None:
        """Beat, head and wishes: who we are is confirmed as often as it is told."""
        self._read_head()
        self._deadline = now + self._seconds_to_deadline()
        self._obey_wishes(now)
        if self.place.rank == 0:
            self._write_beat()
        # By the clock as it is now: the store may have taken its time, and two beats in a second are too many.
        self._beaten_at = self.clock.monotonic()
        self._beat_at = self._beaten_at + self._beat_seconds
        if self.place.rank == 0:
            self._look_at_workers()

    def _write_beat(self) -> None:
        beat = Beat(
            attempt=self.number,
            at=self._now(),
            step=self.child.step(),
            log_bytes=self.child.stream_bytes("log"),
            metrics_bytes=self.child.stream_bytes("metrics"),
            doing=f"paused {self._paused}" if self._paused else "",
            rung=self._rung,
        )
        self.folder.rewrite(self.folder.keys.beat(self.number), beat)

    def _look_at_workers(self) -> None:
        for rank in range(1, self.place.workers):
            worker = self.folder.read_exit(self.number, rank)
            if worker is not None and worker.exit_code != 0:
                self.worker_exit = worker

    def _obey_wishes(self, now: float) -> None:
        if self.vigil.told is None and self.place.rank == 0 and self.folder.stop_wished(self.launch.launch):
            self.vigil.tell(Reason.STOP, now, STOP_GRACE_SECONDS)

    def _seconds(self) -> dict[str, float]:
        """Where this attempt's time went, as far as it was not training."""
        return {"starting": round(self._starting_seconds, 3), **self.child.timings()}

    # Head and store.

    def _now(self) -> float:
        return self.folder.store.now()

    def _seconds_to_deadline(self) -> float:
        length = self.launch.deadline_at - self.launch.launched_at
        early = min(DEADLINE_EARLY_SECONDS, DEADLINE_EARLY_SHARE * length)
        self.vigil.deadline_grace_seconds = min(STOP_GRACE_SECONDS, DEADLINE_GRACE_SHARE * early)
        return self.launch.deadline_at - early - self._now()

    def _read_head(self) -> None:
        try:
            at = self.folder.read_head()
        except KeyMissing:
            raise Fenced from None
        if at.head.nonce != self.nonce or at.head.state.final:
            raise Fenced
        self.at = at

    def _amend(self, change: Callable[[Head], Head], op: str) -> None:
        wait = self._written_at + self.folder.store.rewrite_seconds - self.clock.monotonic()
        if wait > 0:
            self.clock.sleep(wait)
        try:
            self.at = self.folder.amend(self.at, self.nonce, change, f"{self.nonce}-{op}")
        finally:
            self._written_at = self.clock.monotonic()

    def _patiently(self, action: Callable[[], T]) -> T:
        """Until it is done, or the store was away for too long."""
        while True:
            try:
                done = action()
            except AWAY:
                self._away(self.clock.monotonic())
                self.clock.sleep(max(0.0, self._back_at - self.clock.monotonic()))
                self.vigil.look(self.clock.monotonic(), self._deadline)
            else:
                self._away_since = None
                return done

    def _away(self, now: float) -> None:
        if self._away_since is None:
            self._away_since = now
        since = now - self._away_since
        if since > OFFLINE_SECONDS_MAX:
            raise Offline
        low, high = BACKOFF_SECONDS
        self._back_at = now + self.folder.random.uniform(0.1, min(high, max(low, since)))
