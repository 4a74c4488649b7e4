"""What a provider has kept of a job whose agent never came up, printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.cli.terminal import put, put_json, say, shown

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World

AT_WIDTH, SEVERITY_WIDTH = 30, 7


def show_provider_log(world: World, job: Job, *, as_json: bool) -> None:
    """Nothing, where the home has the log."""
    from outlast.jobs.provider_log import provider_lines

    first = True
    for line in provider_lines(world, job):
        if as_json:
            put_json(
                {
                    "kind": "provider",
                    "at": line.at,
                    "severity": line.severity,
                    "machine": line.machine,
                    "text": line.text,
                }
            )
            continue
        if first:
            say(f"no agent of job `{job.id}` has come up in this launch: this is what its provider has kept")
            first = False
        put(f"{line.at:<{AT_WIDTH}} :: {line.severity:<{SEVERITY_WIDTH}} :: {shown(line.text)}")
