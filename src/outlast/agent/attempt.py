"""One attempt, from its claim to its end.

Single-threaded over (clock, store, child): the simulation runs this very code. Whatever must not wait is done by `_tick` (pulse.py),
which the loop calls, and which an upload calls between its chunks. While the store is away the trainer goes on.
"""

from __future__ import annotations

import enum
import errno
from functools import partial

from outlast.agent.child import Exit, OneName, Reason, Start
from outlast.agent.commits import Abandoned, Commits
from outlast.agent.pulse import BEAT_SECONDS
from outlast.agent.standing import AWAY, Offline
from outlast.agent.verdict import Next, Verdict, judge
from outlast.agent.vigil import STOP_GRACE_SECONDS
from outlast.dataclass import replace
from outlast.errors import Damaged, KeyMissing, NewerFormat, OutlastError
from outlast.folder import cost, life
from outlast.folder.content import download_many, read_manifest
from outlast.folder.folder import Fenced
from outlast.folder.records import Cause, Checkpoint, Head, State, WorkerExit

LOOK_SECONDS = 0.1
"""How often a trainer is looked at, at most: it wakes its agent by what it does, and by its end."""


class After(enum.Enum):
    DONE = "done"
    AGAIN = "again"
    OFF = "off"
    FENCED = "fenced"


TOO_LATE = Verdict(
    Cause.EXPIRED, Next.FINAL, State.EXPIRED, "the launch's time was over before all that it saved was in the home"
)


class Unshipped(Exception):
    """What the job needs is damaged or gone, or its setup has failed: no checkpoint's fault, and no other checkpoint helps."""

    def __init__(self, error: OutlastError) -> None:
        damaged = isinstance(error, (Damaged, NewerFormat))
        super().__init__(f"no bundle to run: {error.message}" if damaged else error.message)
        self.cause = Cause.DAMAGED if damaged else Cause.FAILED


class AttemptLife(Commits):
    def live(self) -> After:
        try:
            return self._live()
        except Fenced:
            self.child.end()
            return After.FENCED
        except (Offline, Abandoned):
            # Nothing is written that was not sent before: the next attempt goes on from the last commit.
            self.child.end()
            return After.OFF

    def _live(self) -> After:
        try:
            if self.child.started(self.number):
                self._recall()
            else:
                self._gather()
                self._begin_with_edits()
                if not self._restore():
                    return After.DONE
            return self._conclude(self._train())
        except Damaged as error:
            # Nothing is written over a head that cannot be read: that raises here again. Else the job ends, and says why.
            self.child.end()
            self._patiently(self._read_head)
            exit = self.child.exit() if self.child.started(self.number) else None
            if exit is not None:
                self._seal_streams()
            self._finish(Verdict(Cause.DAMAGED, Next.FINAL, State.FAILED, error.message), exit)
            return After.DONE

    def _recall(self) -> None:
        """An earlier life of this agent started the trainer: go on with it."""
        self.vigil.over = self.child.exit() is not None
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
                self._run()
                return
            self.clock.sleep(min(BEAT_SECONDS, max(self.folder.store.poll_seconds, 0.02)))
            self._patiently(self._read_head)

    def _all_joined(self) -> bool:
        others = (rank for rank in range(self.place.workers) if rank != self.at.head.by)
        return all(self.folder.read_worker(self.number, rank) is not None for rank in others)

    def _run(self) -> None:
        usd = self._patiently(self._waited_usd)
        self._patiently(lambda: self._amend(lambda head: life.running(head, self._now(), usd), "run"))

    def _waited_usd(self) -> float:
        """By machines that were part of the attempt before, and are of this one: between the two they were paid for."""
        if not self.place.rent.usd_per_hour or self.number == 1:
            return 0.0
        pairs = [
            (self.folder.read_worker(self.number - 1, rank), self.folder.read_worker(self.number, rank))
            for rank in range(self.place.workers)
        ]
        survivors = sum(
            1 for before, now in pairs if before is not None and now is not None and before.machine == now.machine
        )
        return cost.waited_usd(self.at.head, self.number, self.place.rent, survivors, self.place.workers)

    def _restore(self) -> bool:
        """The newest checkpoint that is whole, put in place; then the trainer is started. False: it cannot be, and the job has failed."""
        began_at = self.clock.monotonic()
        try:
            checkpoint = self._newest_whole()
        except Unshipped as error:
            self._seal_streams()
            self._finish(Verdict(error.cause, Next.FINAL, State.FAILED, str(error)), None)
            return False
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
        resumed = checkpoint is not None and life.counts(checkpoint)
        self.child.start(
            Start(
                job=self.spec.job,
                attempt=self.number,
                rank=self.place.rank,
                workers=self.place.workers,
                args=(*args, *self.spec.resume_args) if resumed else args,
                resumed_step=checkpoint.step if checkpoint is not None and resumed else None,
                adopted=checkpoint is not None and checkpoint.adopted,
                machine_life_seconds=life.machine_life_seconds(self.at.head),
                env=self.spec.env,
            )
        )
        self._starting_seconds = self.clock.monotonic() - began_at
        return True

    def _newest_whole(self) -> Checkpoint | None:
        """A damaged checkpoint is passed over for the one before it, and head says so; None: there is none at all yet."""
        problems: dict[str, str] = {}
        for checkpoint in reversed(self.at.head.checkpoints):
            try:
                self._patiently(partial(self._put_in_place, checkpoint))
            except Damaged as error:
                problems[checkpoint.name] = error.message
                continue
            if problems:
                change = partial(life.passed_over, used=checkpoint, problems=problems)
                self._patiently(partial(self._amend, change, "passed-over"))
            return checkpoint
        if problems:
            raise Damaged(next(iter(problems.values())))
        self._patiently(self._clear)
        return None

    def _clear(self) -> None:
        try:
            self.child.clear(self.at.head.bundle)
        except AWAY:
            raise
        except OutlastError as error:
            raise Unshipped(error) from error

    def _put_in_place(self, checkpoint: Checkpoint) -> None:
        self._clear()
        for file, chunks in download_many(self.folder, read_manifest(self.folder, checkpoint.name).files):
            try:
                self.child.restore(file.path, file.mode, chunks)
            except OneName as error:
                raise Unshipped(error) from error

    def _train(self) -> Exit:
        while True:
            exit = self.child.exit()
            if exit is not None:
                return exit
            self._tick()
            if self.worker_exit is not None:
                return self._end_with(self.worker_exit)
            self._commit_if_saved()
            self._edit_if_wished()
            self.child.wait(min(max(LOOK_SECONDS, self.folder.store.poll_seconds), BEAT_SECONDS))

    def _begin_with_edits(self) -> None:
        """What was wished while no machine was there to hear it."""
        if self.place.rank != 0:
            return
        edit = self._patiently(lambda: self.folder.wished(self.launch.launch)).edit
        if edit > self.at.head.edit:
            request = self._patiently(lambda: self.folder.read_edit(self.launch.launch, edit))
            step = self.at.head.best_step
            self._patiently(
                lambda: self._amend(lambda head: life.edited(head, edit, request.bundle, step), f"edit-{edit}")
            )

    def _edit_if_wished(self) -> None:
        """Files, then head: who dies in between does it again. With a restart head alone: the next attempt begins with it."""
        edit, before = self._edit_wished, self.at.head
        if edit <= before.edit or self.vigil.told is not None or self.clock.monotonic() < self._back_at:
            return
        try:
            request = self.folder.read_edit(self.launch.launch, edit)
            bundle = request.bundle
            if not request.restart:
                try:
                    self.child.edit(before.bundle, bundle)
                except (Damaged, KeyMissing):
                    bundle = before.bundle  # it was never whole, and the command that wished for it says so
            step = self.child.step()
            self._amend(lambda head: life.edited(head, edit, bundle, step), f"edit-{edit}")
        except AWAY:
            self._away(self.clock.monotonic())
            return
        if request.restart:
            self.vigil.tell(Reason.EDIT, self.clock.monotonic(), STOP_GRACE_SECONDS)

    def _end_with(self, worker: WorkerExit) -> Exit:
        """A rank that has ended ends the attempt, by its own reason."""
        self.child.end()
        self.vigil.stalled = self.vigil.stalled or worker.stalled
        return Exit(worker.exit_code, worker.out_of_memory, worker.disk_full, worker.killed)

    def _conclude(self, exit: Exit) -> After:
        """The exit code is on disk. Log, last checkpoint, head, outputs: in this order, so that each names only what is there."""
        self.vigil.over = True
        self._seal_streams()
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
            spent=cost.reached(self.place.rent),
            unwanted=self.child.unwanted(),
        )
        if self._last_commit():
            self._seal_streams()  # once more: that last look may have found what the log should tell
        else:
            verdict = TOO_LATE
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

    def _seal_streams(self) -> None:
        for stream in self.streams:
            self._patiently(stream.finish)

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
            killed=exit.killed,
        )
        self._patiently(lambda: self.folder.create(self.folder.keys.exit(self.number, self.place.rank), record))
        while True:
            self.vigil.look(self.clock.monotonic(), self._deadline)
            if self._taken_away():
                return After.OFF
            self._patiently(self._read_head)
            self.clock.sleep(BEAT_SECONDS)

    def _finish(self, verdict: Verdict, exit: Exit | None) -> None:
        """The one swap that ends the launch."""
        outputs = ""
        try:
            outputs = self._patiently(self._write_outputs) if exit is not None else ""
        except Abandoned:
            if self._taken_away():
                raise
            verdict = TOO_LATE
        state = verdict.state or State.FAILED
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
                early=verdict.early,
            )

        self._patiently(lambda: self._amend(end, "final"))
