"""What a launch makes at Vertex AI, and where a person looks at it: before it is made, and afterwards with its numbers."""

from __future__ import annotations

import shlex
from urllib.parse import quote, urlencode

from outlast.engines.compute.names import bucket_of
from outlast.engines.engine import Launch, Resource
from outlast.engines.vertex import bodies, names
from outlast.engines.vertex.jobs import CustomJob
from outlast.spec.spec import Rented

CONSOLE = "https://console.cloud.google.com"
KIND = "custom job"
CLAIM = "as it is made"
"""Where a word of the labels is only known then."""


def resources(launch: Launch) -> tuple[Resource, ...]:
    rented = launch.machine.rented
    if rented is None or not rented.regions:
        return ()
    region, project = rented.regions[0], rented.project
    bucket = bucket_of(launch.home)
    made = [
        Resource(
            KIND, names.display_name(launch, rank), region, _list_url(project, region), _details(launch, rented, rank)
        )
        for rank in names.ranks(launch)
    ]
    folder = quote(f"{bucket.name}/{bucket.object(f'jobs/{launch.job}')}")
    return (*made, Resource("folder", launch.job, bucket.name, _page(f"storage/browser/{folder}", project)))


def made(launch: Launch, jobs: list[CustomJob]) -> tuple[Resource, ...]:
    """Those that are there, each with its own page and the command that prints its log."""
    rented = launch.machine.rented
    if rented is None or not rented.regions:
        return ()
    region, project = rented.regions[0], rented.project
    return tuple(
        Resource(
            KIND,
            one.number,
            region,
            _page(f"vertex-ai/locations/{region}/training/{one.number}/cpu", project),
            (one.phase.value,),
            shlex.join(
                ["gcloud", "ai", "custom-jobs", "stream-logs", one.number, f"--region={region}", f"--project={project}"]
            ),
        )
        for one in jobs
    )


def _details(launch: Launch, rented: Rented, rank: int) -> tuple[str, ...]:
    lines = [f"image {rented.image}"]
    for number, pool in enumerate(bodies.pools(launch, rented)):
        if pool.replicas:
            spec = bodies.machine_spec(rented, pool)
            accelerator = spec.get("acceleratorType")
            with_ = f" with {spec['acceleratorCount']} {accelerator}" if accelerator else ""
            topology = f", topology {rented.topology}" if rented.topology else ""
            lines.append(f"pool {number}: {pool.replicas} x {pool.machine_type}{with_}{topology}")
    lines.append(f"command {launch.command}")
    labels = {**names.labels(launch, rank, ""), names.CLAIM_LABEL: CLAIM}
    lines.append(f"labels {' '.join(f'{name}={value}' for name, value in sorted(labels.items()))}")
    return tuple(lines)


def _list_url(project: str, region: str) -> str:
    return f"{CONSOLE}/vertex-ai/training/custom-jobs?{urlencode({'project': project, 'region': region})}"


def _page(path: str, project: str) -> str:
    return f"{CONSOLE}/{path}?{urlencode({'project': project})}"
