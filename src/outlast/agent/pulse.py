"""What must not wait while a trainer trains: notices, beats, wishes, the log. An upload does it between its chunks."""

from __future__ import annotations

from outlast.agent.child import Child, Reason
from outlast.agent.standing import AWAY, Standing
from outlast.agent.streams import Stream
from outlast.agent.vigil import STOP_GRACE_SECONDS
from outlast.clock import Clock
from outlast.folder.fence import Claim, Fence
from outlast.folder.folder import Folder
from outlast.folder.life import HELD
from outlast.folder.records import Beat, LaunchRecord, WorkerExit
from outlast.spec.spec import Spec

BEAT_SECONDS = 15.0
BEAT_SECONDS_MIN = 1.0
BEAT_FIRST_SECONDS = 0.25
"""Who has just begun has nothing to tell, and is done by then if the job is a short one."""

BEAT_POLLS = 20
"""A store that likes to be looked at often likes to be told often too: so what a dead machine has lost is known more exactly."""


class Pulse(Standing):
    def __init__(
        self, folder: Folder, fence: Fence, claim: Claim, spec: Spec, launch: LaunchRecord, child: Child, clock: Clock
    ) -> None:
        super().__init__(folder, fence, claim, spec, launch, child, clock)
        log, self.metrics = (Stream(folder, child, name, self.number, self.place.rank) for name in ("log", "metrics"))
        self.streams = (log, self.metrics)
        self.worker_exit: WorkerExit | None = None
        self._beat_seconds = min(BEAT_SECONDS, max(BEAT_SECONDS_MIN, BEAT_POLLS * folder.store.poll_seconds))
        self._beaten_at = self._bell_at = clock.monotonic()
        self._beat_at = self._beaten_at + BEAT_FIRST_SECONDS
        self._rung = ""
        self._edit_wished = ""
        self._watch_until = 0.0
        self._paused = ""
        self._told: tuple[str, str] | None = None
        self._tell_at = self._beat_at

    def _tick(self) -> None:
        now = self.clock.monotonic()
        self.vigil.look(now, self._deadline)
        if self.vigil.told is None and self.child.unwanted():
            self.vigil.tell(Reason.EARLY, now, STOP_GRACE_SECONDS)
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
        """Head is read every time. Wishes, which the bell announces, and the beat wait longer where a write is billed."""
        self._read_head()
        self._look_at_deadline()
        if now >= self._tell_at or self._told != (self._paused, self._rung):
            self._obey_wishes(now)
            if self.place.rank == 0:
                self._write_beat()
            self._told = (self._paused, self._rung)
            self._tell_at = now + self.folder.store.write_seconds
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
            doing=f"{HELD}{self._paused}" if self._paused else "",
            rung=self._rung,
            store_writes=self._store_writes(),
            steps_total=self.child.steps_total(),
        )
        self.folder.rewrite(self.folder.keys.beat(self.number), beat)

    def _look_at_workers(self) -> None:
        for rank in range(1, self.place.workers):
            worker = self.folder.read_exit(self.number, rank)
            if worker is not None and worker.exit_code != 0:
                self.worker_exit = worker

    def _obey_wishes(self, now: float) -> None:
        if self.vigil.told is not None or self.place.rank != 0:
            return
        wished = self.folder.wished(self.launch.launch)
        self._edit_wished = wished.edit
        if wished.stop:
            self.vigil.tell(Reason.STOP, now, STOP_GRACE_SECONDS)
