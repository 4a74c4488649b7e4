"""What a launch would make at Google, each with the page of the console that shows it."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from outlast.engines.compute import names
from outlast.engines.engine import Launch, Resource

MACHINES_LISTED_MAX = 10
"""A sweep has hundreds: the others are like these."""

CONSOLE = "https://console.cloud.google.com"


def resources(launch: Launch) -> tuple[Resource, ...]:
    rented = launch.machine.rented
    if rented is None or not rented.regions:
        return ()
    region, project, group = rented.regions[0], rented.project, names.group_name(launch.id)
    bucket = names.bucket_of(launch.home)
    labels = ", ".join(f"{key}={value}" for key, value in names.labels(launch).items())
    template_page = _page(f"compute/instanceTemplates/details/{group}", project)
    made = [
        Resource("template", group, region, template_page, details=(f"labels of all that it makes: {labels}",)),
        Resource("group", group, region, _page(f"compute/instanceGroups/details/{region}/{group}", project)),
    ]
    zones = ", ".join(rented.zones) or f"any zone of {region}"
    page = _page("compute/instances", project)
    for rank in range(min(launch.workers, MACHINES_LISTED_MAX)):
        made.append(Resource("machine", names.machine_name(launch.id, rank), zones, page))
    if launch.workers > MACHINES_LISTED_MAX:
        last = names.machine_name(launch.id, launch.workers - 1)
        made.append(Resource("machine", f"... to {last}", zones, page))
    folder = quote(f"{bucket.name}/{bucket.object(f'jobs/{launch.job}')}")
    return (*made, Resource("folder", launch.job, bucket.name, _page(f"storage/browser/{folder}", project)))


def _page(path: str, project: str) -> str:
    return f"{CONSOLE}/{path}?{urlencode({'project': project})}"
