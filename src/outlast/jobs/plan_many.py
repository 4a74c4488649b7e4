"""Many requests, checked: what several of them have in common is looked at, and shipped, once."""

from __future__ import annotations

from collections.abc import Iterable

from outlast.dataclass import replace
from outlast.jobs.asked import Asked
from outlast.jobs.plan import Plan, plan
from outlast.jobs.world import World
from outlast.spec.names import check_job_id, job_id


def plan_many(world: World, many: Iterable[Asked]) -> list[Plan]:
    """The bundle is packed once for all that ship the same directories, less the same data."""
    shipped: dict[tuple[object, ...], Plan] = {}
    plans: list[Plan] = []
    for asked in many:
        data = (asked.links, asked.datasets, asked.config_files)
        values = tuple(value for value in asked.config_values if value.startswith("dataset."))
        key = (asked.directory, asked.extra_dirs, asked.home, asked.git, data, values)
        before = shipped.get(key)
        planned = _alike(world, asked, before) if before is not None else None
        shipped[key] = planned = planned or plan(world, asked, shipped=before)
        plans.append(planned)
    return plans


def _alike(world: World, asked: Asked, before: Plan) -> Plan | None:
    """The plan of one that differs from the one before in its arguments and its id alone; None: it differs in more."""
    contained = before.image is not None or before.spec.container is not None
    if contained or replace(asked, args=before.asked.args, job_id=before.asked.job_id) != before.asked:
        return None
    spec = replace(
        before.spec,
        job=check_job_id(asked.job_id) if asked.job_id else job_id(before.spec.name, world.random),
        args=asked.args,
        submitted_at=before.home.store.now(),
    )
    return replace(before, spec=spec, asked=asked)
