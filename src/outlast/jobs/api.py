"""The verbs from Python: `outlast.submit`, `outlast.submit_many`, `outlast.job`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import Any

from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.asking import asked_by
from outlast.jobs.delete import delete
from outlast.jobs.find import find
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.pull import Pulled, pull
from outlast.jobs.push import Named, push_named
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit as submit_asked
from outlast.jobs.submit import submit_many as submit_asked_many
from outlast.jobs.sweep_parts import is_sweep, refuse_sweep
from outlast.jobs.sweep_pull import pull_cells
from outlast.jobs.watch import wait, watch
from outlast.jobs.world import World, system_world
from outlast.results.logs import read_log
from outlast.results.metrics import read_metrics, read_sample
from outlast.results.status import Status
from outlast.results.sweep import table
from outlast.results.sweep_status import SweepStatus, with_cells
from outlast.results.texts import texts

NOTEBOOK = "outlast_notebook"
"""Looked for when a notebook asks: it stands above all of this, and nothing here depends on it."""


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
        """Of a sweep with the counts and the cost of its cells."""
        return with_cells(self._job.folder, look(self._world, self._job))

    @property
    def state(self) -> str:
        return self.status().state

    def logs(self, *, follow: bool = False, attempt: int | None = None) -> Iterator[str]:
        """The log, piece by piece, all attempts in order; `follow` ends with the job. A sweep has none: its cells do, `SWEEP.21`."""
        refuse_sweep(self._job, self._job.spec(), "each of its cells has a log", f'`outlast.job("{self.id}.1").logs()`')
        pieces = (
            watch(self._world, self._job, attempt=attempt) if follow else read_log(self._job.folder, attempt=attempt)
        )
        yield from texts(pieces)

    def wait(self, *, on_status: Callable[[Status], None] | None = None) -> Status:
        """Until it has ended. `on_status` is told every few seconds how it stands; in a notebook, a summary is shown instead."""
        if on_status is None and "ipykernel" in sys.modules:
            notebook = import_module(NOTEBOOK)
            if notebook.in_notebook():
                status: Status = notebook.wait(self)
                return status
        if on_status is None:
            return wait(self._world, self._job)
        for _ in watch(self._world, self._job, on_status=on_status):
            pass
        return self.status()

    def metrics(self) -> dict[str, dict[int, float]]:
        """What it has logged by now: name -> step -> value."""
        return read_metrics(self._job.folder)

    def _drawn_metrics(self) -> dict[str, dict[int, float]]:
        """Enough of them for a picture, in a moment."""
        return read_sample(self._job.folder)[0]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Asked for by notebooks alone."""
        bundle: dict[str, str] = import_module(NOTEBOOK).mimebundle(self)
        return bundle

    def stop(self) -> Status:
        return stop(self._world, self._job)

    def delete(self) -> int:
        """With all its checkpoints, outputs and logs; answers how many objects that were. One that has not ended is refused."""
        return delete(self._world, self._job)

    def resume(self, *, checkpoint: str | None = None) -> None:
        resume(self._world, self._job, checkpoint=checkpoint)

    def evaluate(
        self, target: str = "", args: Sequence[str] = (), *, split: str = "", checkpoint: str = "last", **options: Any
    ) -> JobHandle:
        """Submits a job that evaluates this one, as `outlast evaluate` would; `rebuild=True` ships the directory."""
        from outlast.jobs.evaluate import Wanted, evaluate

        rebuild = bool(options.pop("rebuild", False))
        wanted = Wanted(asked_by({"target": target, "args": args, **options}), checkpoint, split, rebuild)
        return JobHandle(self._world, evaluate(self._world, self._job, wanted).job)

    def evaluations(self) -> list[dict[str, Any]]:
        """The jobs that evaluate this one, each with the `metrics` that it found: `evaluations` of `show --json`."""
        from outlast.jobs.evaluations import list_evaluations

        return [one.document() for one in list_evaluations(self._job)]

    def results(self) -> list[dict[str, Any]]:
        """Of a sweep: all its cells, by number, each as `show --json` has it. Of another job: nothing."""
        status = self.status()
        if not isinstance(status, SweepStatus):
            return []
        running = status.seen.look_at_running(status.now, metrics=True)
        return [cell.document() for cell in table(status.seen, running)]

    def pull(self, pattern: str = "", *, checkpoint: str = "last", to: str = "") -> Pulled:
        verb = pull_cells if is_sweep(self._job) else pull
        return verb(self._job, pattern, checkpoint=checkpoint, to=to)


def submit(target: str | PathLike[str], args: Sequence[str] = (), **options: Any) -> JobHandle:
    """Submits `target` as `outlast run --detach` would; `options` are the fields of `outlast.jobs.asked.Asked`."""
    world = system_world()
    return JobHandle(world, submit_asked(world, asked_by({"target": target, "args": args, **options})).job)


def submit_many(many: Iterable[Asked | Mapping[str, Any] | str | PathLike[str]]) -> list[JobHandle]:
    """Many at once: the bundle is packed once per directory.

    Each is a target, a dict of what `submit` takes (`{"target": "train.py", "args": ["--seed", "1"]}`), or an `Asked`. All
    are looked at before the first one is submitted.
    """
    if isinstance(many, (str, PathLike, Mapping, Asked)):
        raise UsageError(
            f"several jobs are a list, not a `{type(many).__name__}`", hint="`submit_many([...])`, or `submit` for one"
        )
    world = system_world()
    wanted = [one if isinstance(one, Asked) else asked_by(one) for one in many]
    return [JobHandle(world, submitted.job) for submitted in submit_asked_many(world, wanted)]


def push(path: str, name: str = "", *, home: str | None = None) -> Named:
    """Uploads a directory or file as `outlast push` would; `datasets=(NAME,)` of `submit` finds it by the name of what this answers."""
    return push_named(system_world(), path, name, home)


def job(id: str | None = None, *, home: str | None = None) -> JobHandle:
    """The job with this id, prefix, folder or URL; None: the newest."""
    world = system_world()
    return JobHandle(world, find(world, id, home))
