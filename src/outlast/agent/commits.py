"""What the trainer saved, committed: uploaded by the mirror, its metrics sealed, then named by head; then what that replaced is removed."""

from __future__ import annotations

from outlast.agent.child import Changed, Child, Saved
from outlast.agent.mirror import Mirror
from outlast.agent.pulse import Pulse
from outlast.agent.standing import AWAY
from outlast.clock import Clock
from outlast.folder import life
from outlast.folder.fence import Claim, Fence
from outlast.folder.folder import Folder
from outlast.folder.records import LaunchRecord, Manifest
from outlast.spec.spec import Spec

SAVED_LOOK_SECONDS = 0.5

WRITE_SECONDS = 15.0
COMMIT_SECONDS_MAX = 300.0
"""Where writes are billed, a commit of n of them is followed by n times so long without one, but by no more than the other: a
training that saves every few seconds shall not cost more for its requests than for its machine."""


class Abandoned(Exception):
    """The upload in flight would not have been finished before the machine is taken away, or before the launch's deadline."""


class Commits(Pulse):
    def __init__(
        self, folder: Folder, fence: Fence, claim: Claim, spec: Spec, launch: LaunchRecord, child: Child, clock: Clock
    ) -> None:
        super().__init__(folder, fence, claim, spec, launch, child, clock)
        self.mirror = Mirror(folder, self.number, self._between)
        self.pending: tuple[Saved, Manifest] | None = None
        """Uploaded, and not yet named by head: the answer may have been lost."""

        self.last_saved = 0
        self._upload_began_at = self._commit_at = clock.monotonic()
        self._saved_at = self._commit_at + SAVED_LOOK_SECONDS  # who has just begun has saved nothing
        self._writes_at_upload = 0
        self._starting_seconds = 0.0

    def _commit_if_saved(self) -> None:
        now = self.clock.monotonic()
        if self.place.rank != 0 or now < self._saved_at or now < self._back_at:
            return
        self._saved_at = now + SAVED_LOOK_SECONDS
        try:
            # Whoever is about to leave commits at once; so does a drill, which is short.
            due = now >= self._commit_at or self.vigil.told is not None or self.spec.drill is not None
            if self.pending is None and due:
                saved = self.child.saved(self.last_saved, last=False)
                if saved is not None:
                    self._upload(saved)
            self._commit_pending()
        except (Changed, Abandoned):
            return
        except AWAY:
            self._away(self.clock.monotonic())

    def _last_commit(self) -> bool:
        """What was saved and not committed yet, now that nothing is written any more. False: the deadline leaves no time for it."""

        def commit() -> None:
            self._commit_pending()
            saved = self.child.saved(self.last_saved, last=True)
            if saved is not None:
                self._upload(saved)
                self._commit_pending()

        try:
            self._patiently(commit)
        except Changed:
            return True
        except Abandoned:
            if self._taken_away():
                raise
            return False
        return True

    def _taken_away(self) -> bool:
        """The machine itself has no time left: there is nothing that it could still write down."""
        return self.vigil.seconds_left(self.clock.monotonic()) is not None

    def _upload(self, saved: Saved) -> None:
        self._upload_began_at = self.clock.monotonic()
        self._writes_at_upload = self.folder.store.billed_writes
        manifest = self.mirror.write(saved, self.at.head)
        self.last_saved = saved.number
        self.pending = (saved, manifest)

    def _commit_pending(self) -> None:
        if self.pending is None:
            return
        saved, manifest = self.pending
        self._seal_metrics()
        before = self.at.head
        first = before.attempts[str(self.number)].committed_step is None
        seconds = self._seconds()
        self._amend(lambda head: life.committed(head, manifest, self._now(), seconds), f"commit-{manifest.name}")
        self.pending = None
        self.mirror.committed(saved, manifest)
        self.mirror.collect(before, self.at.head)
        if first:
            self.mirror.sweep(self.at.head)
        writes = self.folder.store.billed_writes - self._writes_at_upload
        self._commit_at = self.clock.monotonic() + min(COMMIT_SECONDS_MAX, WRITE_SECONDS * writes)

    def _seal_metrics(self) -> None:
        """Before head names the checkpoint: nobody runs its steps again, and what they logged must not go with the machine."""
        self.metrics.finish()

    def _write_outputs(self) -> str:
        outputs = self.child.outputs()
        return self.mirror.write(outputs, self.at.head).name if outputs.files else ""

    def _between(self, done: int, total: int) -> None:
        """Between two chunks of an upload."""
        self._tick()
        now = self.clock.monotonic()
        if done == total:
            return
        if now >= self._upload_by:
            raise Abandoned
        left = self.vigil.seconds_left(now)
        if left is not None and done and (now - self._upload_began_at) / done * (total - done) > left:
            raise Abandoned

    def _seconds(self) -> dict[str, float]:
        """Where this attempt's time went, as far as it was not training."""
        return {"starting": round(self._starting_seconds, 3), **self.child.timings()}
