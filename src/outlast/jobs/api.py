"""The verbs from Python: `outlast.submit`, `outlast.submit_many`, `outlast.job`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.pull import Pulled, pull
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit as submit_asked
from outlast.jobs.submit import submit_many as submit_asked_many
from outlast.jobs.watch import wait, watch
from outlast.jobs.world import World, system_world
from outlast.results.logs import PieceKind, read_log
from outlast.results.status import Status


class JobHandle:
    """A job, wherever it runs. Every call looks at it anew."""

    def __init__(self, world: World, job: Job) -> None:
        self._world = world
        self._job = job
        self.id = job.id
        self.folder = job.folder_url

    def __repr__(self) -> str:
        return f"<outlast job {self.id}>"

    def status(self) -> Status:
        return look(self._world, self._job)

    @property
    def state(self) -> str:
        return self.status().state

    def logs(self, *, follow: bool = False, attempt: int | None = None) -> Iterator[str]:
        """The log, piece by piece, all attempts in order; `follow` ends with the job."""
        pieces = (
            watch(self._world, self._job, attempt=attempt) if follow else read_log(self._job.folder, attempt=attempt)
        )
        for piece in pieces:
            if piece.kind is PieceKind.BYTES:
                yield piece.data.decode(errors="replace")

    def wait(self) -> Status:
        return wait(self._world, self._job)

    def stop(self) -> Status:
        return stop(self._world, self._job)

    def resume(self, *, checkpoint: str | None = None) -> None:
        resume(self._world, self._job, checkpoint=checkpoint)

    def pull(self, pattern: str = "", *, checkpoint: str = "last", to: str = "") -> Pulled:
        return pull(self._job, pattern, checkpoint=checkpoint, to=to)


def submit(target: str, args: Sequence[str] = (), **options: Any) -> JobHandle:
    """Submits `target` as `outlast run --detach` would; `options` are the fields of `outlast.jobs.asked.Asked`."""
    world = system_world()
    return JobHandle(world, submit_asked(world, Asked(target=target, args=tuple(args), **options)).job)


def submit_many(many: Iterable[Asked]) -> list[JobHandle]:
    """Many at once: the bundle is packed once per directory."""
    world = system_world()
    return [JobHandle(world, submitted.job) for submitted in submit_asked_many(world, many)]


def job(id: str | None = None, *, home: str | None = None) -> JobHandle:
    """The job with this id, prefix, folder or URL; None: the newest."""
    world = system_world()
    return JobHandle(world, find(world, id, home))
