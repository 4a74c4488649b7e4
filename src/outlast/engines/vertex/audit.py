"""What of ours Vertex AI runs, in every region, by its labels: what it is, what it costs, and how it goes away."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from outlast.catalog.prices import gpus_usd, machine_usd
from outlast.catalog.table import catalog
from outlast.catalog.vertex import MANAGEMENT_SHARE
from outlast.clock import SYSTEM, Clock
from outlast.engines.compute import names
from outlast.engines.engine import Found
from outlast.engines.vertex.bodies import accelerator_type
from outlast.engines.vertex.jobs import CustomJob, Phase, custom_job
from outlast.errors import OutlastError
from outlast.google.connect import connect
from outlast.google.errors import MEMBER_HINT, ApiError, is_off, translated, unreachable
from outlast.google.project import project_of
from outlast.google.transport import Transport
from outlast.google.vertex import VertexClient
from outlast.google.wire import NoAnswer

KIND = "custom job"
HANDS = 8
"""Each region has a host of its own, and all of them are asked."""

STOP_SECONDS_MAX = 900.0
LOOK_SECONDS = 1.0


class VertexAuditor:
    def __init__(self, project: str = "", environ: Mapping[str, str] = os.environ, clock: Clock = SYSTEM) -> None:
        self._given = project
        self._environ = environ
        self._clock = clock

    @cached_property
    def transport(self) -> Transport:
        return connect(self._environ)

    @cached_property
    def project(self) -> str:
        return project_of(self._given, self._environ, self.transport)

    def now(self) -> float:
        return self.transport.now()

    def found(self) -> Iterator[Found]:
        """Where the API is off there is nothing."""
        try:
            regions = list(catalog(self._environ).regions)
            first = self._in_region(regions[0])
            with ThreadPoolExecutor(HANDS) as crew:
                rest = list(crew.map(self._in_region, regions[1:]))
        except ApiError as error:
            if is_off(error):
                return
            raise translated(error, f"looking through project `{self.project}`", granted=MEMBER_HINT) from error
        except NoAnswer as error:
            raise unreachable(error, "looking through all regions") from error
        for region in (first, *rest):
            yield from region

    def _in_region(self, region: str) -> list[Found]:
        try:
            jobs = map(custom_job, VertexClient(self.transport, self.project, region).list(f"labels.{names.MARK}:*"))
            return [self._found(one, region) for one in jobs if one.phase.alive]
        except ApiError as error:
            if error.status in (400, 404):  # Vertex AI is not in every region
                return []
            raise

    def _found(self, job: CustomJob, region: str) -> Found:
        labels = job.document.get("labels", {})
        usd = _usd(job, region, self._environ) if job.phase is Phase.RUNNING else 0.0
        machines = ", ".join(
            f"{pool.get('replicaCount', '1')} x {pool['machineSpec'].get('machineType', '?')}" for pool in _pools(job)
        )
        return Found(
            kind=KIND,
            name=job.number,
            place=region,
            usd_per_hour=round(usd or 0.0, 5),
            unpriced=usd is None,
            made_at=job.made_at,
            home=labels.get(names.HOME_LABEL, ""),
            job=labels.get(names.JOB_LABEL, ""),
            launch=labels.get(names.LAUNCH_LABEL, ""),
            detail=f"{machines}, {job.phase.value}",
        )

    def remove(self, found: Found) -> None:
        client = VertexClient(self.transport, self.project, found.place)
        name = f"projects/{self.project}/locations/{found.place}/customJobs/{found.name}"
        until = self._clock.monotonic() + STOP_SECONDS_MAX
        try:
            client.cancel(name)
            while custom_job(client.get(name)).phase.alive:
                if self._clock.monotonic() > until:
                    raise OutlastError(f"custom job `{found.name}` in `{found.place}` was cancelled, and does not end")
                self._clock.sleep(LOOK_SECONDS)
        except ApiError as error:
            if error.status not in (400, 404):
                doing = f"removing {found.kind} `{found.name}` in `{found.place}`"
                raise translated(error, doing, granted=MEMBER_HINT) from error
        except NoAnswer as error:
            raise unreachable(error, f"removing {found.kind} `{found.name}`") from error


def _pools(job: CustomJob) -> list[Mapping[str, Any]]:
    return [pool for pool in job.document.get("jobSpec", {}).get("workerPoolSpecs", []) if pool]


def _usd(job: CustomJob, region: str, environ: Mapping[str, str]) -> float | None:
    """None: the catalog does not know one of its machines."""
    known = catalog(environ)
    spot = job.document.get("jobSpec", {}).get("scheduling", {}).get("strategy") == "SPOT"
    gpus = {accelerator_type(one.cloud_name): one for one in known.gpus.values()}
    total = 0.0
    for pool in _pools(job):
        spec = pool.get("machineSpec", {})
        machine = known.machine(str(spec.get("machineType", "")))
        usd = machine_usd(known, machine, region, spot=spot) if machine is not None else None
        more: float | None = 0.0
        if spec.get("acceleratorType"):
            gpu = gpus.get(str(spec["acceleratorType"]))
            more = gpus_usd(gpu, int(spec.get("acceleratorCount", 1)), region, spot=spot) if gpu is not None else None
        if usd is None or more is None:
            return None
        total += (usd + more) * int(pool.get("replicaCount", 1))
    return total * (1 + MANAGEMENT_SHARE)
