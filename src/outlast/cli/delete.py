"""`outlast delete`: jobs, with all that they hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from outlast.cli.app import Command
from outlast.cli.confirm import confirmed
from outlast.cli.options import home_option, json_option
from outlast.cli.table import render
from outlast.cli.terminal import put_json, say, width
from outlast.cli.words import age, count, size
from outlast.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from outlast.jobs.job import Job

yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.command("delete", cls=Command, short_help="Delete jobs with all their checkpoints, outputs and logs.")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@yes_option
@home_option
@json_option
def command(jobs: tuple[str, ...], yes: bool, home: str | None, as_json: bool) -> int:
    """Delete jobs, with all their checkpoints, outputs and logs. A job that has not ended is refused.

    Killed half-way, the same command goes on. What jobs share (code, data, environments) goes with `outlast prune`.
    """
    from outlast.jobs.delete import delete, size_of
    from outlast.jobs.job_names import drop_name
    from outlast.jobs.sweep_parts import find_whole
    from outlast.jobs.world import system_world

    world = system_world()
    found = list({job.folder_url: job for job in (find_whole(world, job, home, "delete") for job in jobs)}.values())
    _refuse_running(found)
    sizes = {job.folder_url: size_of(job) for job in found}
    total = sum(bytes_ for _, bytes_ in sizes.values())
    if not yes:
        _show(found, {url: bytes_ for url, (_, bytes_) in sizes.items()})
    if not confirmed(f"delete {count(len(found), 'job')}, {size(total)}", yes=yes):
        say("nothing was deleted")
        return EXIT_DONE
    deleted = []
    for job in found:
        objects = delete(world, job)
        drop_name(world.cache_dir, job.id)
        deleted.append({"job": job.id, "folder": job.folder_url, "objects": objects, "bytes": sizes[job.folder_url][1]})
        say(f"deleted `{job.id}`: {count(objects, 'object')}, {size(sizes[job.folder_url][1])}")
    if as_json:
        put_json(deleted)
    return EXIT_DONE


def _refuse_running(jobs: list[Job]) -> None:
    """All of them are looked at before the first is deleted."""
    for job in jobs:
        state = _state(job)
        if state is not None and not state[0]:
            raise UsageError(
                f"job `{job.id}` has not ended: it is {state[1]}",
                state="nothing was deleted",
                hint=f"`outlast stop {job.id}` first",
            )


def _state(job: Job) -> tuple[bool, str, float | None] | None:
    """(final, its word, when it ended); None: a half submit, or damaged."""
    from outlast.errors import Damaged, KeyMissing

    try:
        head = job.folder.read_head().head
    except (KeyMissing, Damaged):
        return None
    return head.state.final, head.state.value, head.ended_at


def _show(jobs: list[Job], sizes: dict[str, int]) -> None:
    rows = []
    for job in jobs:
        state = _state(job)
        ended = "" if state is None else age(state[2], job.folder.store.now())
        rows.append([job.id, "not whole" if state is None else state[1], ended, size(sizes[job.folder_url])])
    for line in render(("JOB", "STATE", "ENDED", "SIZE"), rows, width=width(sys.stderr), right=(3,)):
        say(line)
