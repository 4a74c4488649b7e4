"""Where a person looks at what a job has made at a provider."""

from __future__ import annotations

from outlast.engines.engine import Resource
from outlast.engines.registry import made_by
from outlast.errors import OutlastError
from outlast.folder.records import LaunchRecord
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World
from outlast.spec.spec import Spec


def links(world: World, job: Job, record: LaunchRecord, spec: Spec) -> tuple[Resource, ...]:
    """Of the launch; nothing where its engine makes nothing that has a page of its own, or where nobody can be asked now."""
    try:
        return made_by(world.engine(record.engine), as_launch(job, record, spec))
    except OutlastError:
        return ()  # a link is a courtesy: whoever submits or looks is not to fail for it
