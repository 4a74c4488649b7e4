"""What a provider has kept of a launch whose agent never came up: the home has nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.engines.engine import Line
from outlast.engines.registry import said_at_provider
from outlast.jobs.job import Job, as_launch
from outlast.jobs.world import World


def provider_lines(world: World, job: Job) -> Iterator[Line]:
    """Nothing, where the launch has begun an attempt, or where its provider keeps no log."""
    head = job.folder.existing_head().head
    if any(attempt.launch == head.launch for attempt in head.attempts.values()):
        return
    record = job.folder.read_launch(head.launch)
    yield from said_at_provider(world.engine(record.engine), as_launch(job, record, job.spec()))
