"""Pages and commands at a provider that show one of a job's parts, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.cli.terminal import put, say, shown

if TYPE_CHECKING:
    from outlast.engines.engine import Resource
    from outlast.jobs.job import Job
    from outlast.jobs.world import World
    from outlast.results.status import Status

SHOWN_MAX = 10


def say_links(world: World, job: Job) -> None:
    """Of the launch that was just started."""
    from outlast.jobs.links import links

    record = job.folder.read_launch(job.folder.existing_head().head.launch)
    found = links(world, job, record, job.spec())
    for one in found[:SHOWN_MAX]:
        for line in link_lines(one):
            say(f"  {line}")
    if len(found) > SHOWN_MAX:
        say(f"  and {len(found) - SHOWN_MAX:,} more")


def print_links(world: World, job: Job, status: Status) -> None:
    """Of a job that a service runs: the others have no page of their own."""
    rented = status.launch.machine.rented
    if rented is None or not rented.service:
        return
    from outlast.jobs.links import links

    for one in links(world, job, status.launch, status.spec)[-SHOWN_MAX:]:
        put(f"  {one.kind} {shown(one.name)}, {', '.join(one.details)}: {one.url}")


def link_lines(one: Resource) -> list[str]:
    lines = [f"{one.kind} {shown(one.name)} in `{one.place}`: {one.url}"]
    if one.log_command:
        lines.append(f"`{shown(one.log_command)}` prints its log")
    return lines
