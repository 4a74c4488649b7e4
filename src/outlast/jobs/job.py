"""One job, as the verbs pass it around."""

from __future__ import annotations

from dataclasses import dataclass

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
        return self.folder.read_spec()


def command_line(spec: Spec, record: LaunchRecord) -> str:
    """For people who look at a machine and ask what it does."""
    import shlex  # not on the way of a command that only lists

    args = record.args if record.args is not None else spec.args
    return shlex.join([spec.target.value, *args])


def _labels(spec: Spec, record: LaunchRecord) -> dict[str, str]:
    """What a provider's resources are found by: the labels given by hand, and what the script is given."""
    from outlast.spec.sweep.labels import labels_of

    own = {"job_name": spec.name, "gpu_enabled": "true" if record.machine.gpus else "false"}
    return labels_of(record.args if record.args is not None else spec.args, spec.labels, own)


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
        labels=_labels(spec, record),
        asked_at=job.folder.store.now(),
        agent=layout.agent(record.agent) if record.agent else "",
        boots=job.folder.keys.boots(record.launch),
        command=command_line(spec, record),
        independent=spec.cells is not None,
        slots=spec.cells.per_machine if spec.cells is not None else 1,
    )
