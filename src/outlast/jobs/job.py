"""One job, as the verbs pass it around."""

from __future__ import annotations

from collections.abc import Sequence

from outlast.dataclass import dataclass, replace
from outlast.engines.engine import Launch
from outlast.folder import layout
from outlast.folder.folder import Folder
from outlast.folder.home import Home
from outlast.folder.records import LaunchRecord
from outlast.spec.spec import Spec


@dataclass(frozen=True)
class Job:
    id: str
    home: Home
    folder: Folder

    @classmethod
    def of(cls, home: Home, job: str) -> Job:
        return cls(job, home, home.folder(job))

    @property
    def folder_url(self) -> str:
        return self.folder.url

    def spec(self) -> Spec:
        return self.folder.existing_spec()


def command_line(spec: Spec, record: LaunchRecord) -> str:
    """For people who look at a machine and ask what it does."""
    import shlex  # not on the way of a command that only lists

    args = record.args if record.args is not None else spec.args
    return shlex.join([spec.target.value, *args])


def _labels(spec: Spec, record: LaunchRecord, cells: Sequence[str] = ()) -> dict[str, str]:
    """What a provider's resources are found by: labels given by hand, and what the script is given; `cells`: what a sweep's cells are."""
    from outlast.spec.sweep.labels import labels_of

    rented = record.machine.rented
    tpu = rented is not None and (bool(rented.topology) or rented.accelerator.startswith("tpu-"))
    own = {
        "job_name": spec.name,
        "gpu_enabled": _truth(bool(record.machine.gpus) and not tpu),
        "tpu_enabled": _truth(tpu),
    }
    if rented is not None and "@" in rented.image:
        own["docker_image"] = rented.image
    return labels_of((*(record.args if record.args is not None else spec.args), *cells), spec.labels, own)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def to_start(job: Job, record: LaunchRecord, spec: Spec) -> Launch:
    """As `as_launch`, with all labels: those of a sweep's keys too, for which its cells are read."""
    launch = as_launch(job, record, spec)
    if spec.cells is None or record.machine.rented is None:
        return launch
    from outlast.folder.sweep import SweepFolder

    cells = SweepFolder(job.folder).cells(spec.cells, record.cells.grids if record.cells is not None else None)
    return replace(launch, labels=_labels(spec, record, cells.words()), paid_seconds=_paid_seconds(job, record))


def _paid_seconds(job: Job, record: LaunchRecord) -> float | None:
    """What earlier launches have left, divided among its machines."""
    if record.max_cost_usd is None or not record.usd_per_hour:
        return None
    from outlast.folder.bills import Bills, spent_usd

    earlier = Bills(job.folder).of_other_launches(record.id) if record.launch > 1 else []
    left_usd = record.max_cost_usd - spent_usd(earlier, job.folder.store.now())
    return max(0.0, left_usd) / record.workers / record.usd_per_hour * 3600


def as_launch(job: Job, record: LaunchRecord, spec: Spec) -> Launch:
    """What an engine is told of a launch: always from its record, never from anybody's flags."""
    return Launch(
        home=job.home.url,
        job=job.id,
        launch=record.launch,
        id=record.id,
        workers=record.workers,
        machine=record.machine,
        deadline_at=record.deadline_at,
        labels=_labels(spec, record) if record.machine.rented is not None else {},
        asked_at=job.folder.store.now(),
        agent=layout.agent(record.agent) if record.agent else "",
        boots=job.folder.keys.boots(record.launch),
        command=command_line(spec, record),
        independent=spec.cells is not None,
        slots=spec.cells.per_machine if spec.cells is not None else 1,
    )
