"""`outlast resume`: a job that was stopped, failed or ran out of time goes on where it was."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.machine_words import hourly_words, limit_words, machine_words
from outlast.cli.options import MAX_RUN, home_option, job_argument, json_option
from outlast.cli.rent_options import rent_changes, rent_options
from outlast.cli.run import follow_to_end
from outlast.cli.setting_option import setting_option
from outlast.cli.sweep_follow import follow_sweep
from outlast.cli.terminal import put_json, say, say_interrupted
from outlast.cli.vertex_options import managed_changes, vertex_options
from outlast.cli.words import count
from outlast.errors import EXIT_DONE

if TYPE_CHECKING:
    from outlast.jobs.job import Job

ALLOW_CHANGED = "--allow-changed"
CELLS_NAMED_MAX = 10


class ResumeCommand(Command):
    """`[JOB] [OPTIONS] [-- ARGS]`; ARGS may end with `--allow-changed`, which is ours there too."""

    theirs = f"arguments of the script stand behind `--`: `outlast resume JOB -- ARGS {ALLOW_CHANGED}`"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        theirs: tuple[str, ...] | None = None
        if "--" in args:
            at = args.index("--")
            theirs, args = tuple(args[at + 1 :]), args[:at]
            if theirs[-1:] == (ALLOW_CHANGED,):
                theirs, args = theirs[:-1], [*args, ALLOW_CHANGED]
        ctx.params["args"] = theirs
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), f"[-- ARGS... {ALLOW_CHANGED}]"]


@click.command("resume", cls=ResumeCommand, short_help="Go on with a job that ended before it was done.")
@job_argument
@click.option("--checkpoint", metavar="STEP", help="Go on from this checkpoint; from the last one if not said.")
@click.option(ALLOW_CHANGED, is_flag=True, help="Let ARGS, and values of `@outlast.main`, differ from before.")
@click.option("--max-run", type=MAX_RUN, metavar="DURATION", help="The most it may take from now on.")
@click.option("--detach", is_flag=True, help="Return when it is started; it goes on by itself.")
@click.option("--dry-run", is_flag=True, help="Print what would be made and what it would cost; make nothing.")
@click.option("--on", metavar="ENGINE", help="Go on at another engine: `compute` or `vertex`; as before if not said.")
@setting_option("project", "PROJECT", "The Google Cloud project that pays; as before if not said.")
@setting_option("cpus", "N", "CPUs that it may use; as before if not said.")
@setting_option("gpus", "GPUS", "GPUs that it may use: `2`, and where rented `L4` or `4xA100`; as before if not said.")
@rent_options
@vertex_options
@click.option(
    "--base-image", metavar="IMAGE", default="", help="Where containers run it: begin its image with this one."
)
@click.option(
    "--image-tag", metavar="IMAGE", default="", help="Where containers run it: use this image, which is there."
)
@home_option
@json_option
def command(job: str | None, home: str | None, detach: bool, as_json: bool, max_run: float | None, **given: Any) -> int:
    """Go on with a job that was stopped, failed, or whose time was over, from its last checkpoint.

    Attempts, checkpoints and history stay. The log is followed as by `outlast run`, from here on. A job that succeeded is not
    resumed: `outlast run --from JOB` begins a new one with its weights. A sweep goes on with each cell that failed or is missing.
    """
    from outlast.jobs.look import look
    from outlast.jobs.resume import resume
    from outlast.jobs.sweep_parts import find_whole
    from outlast.jobs.watch import ring
    from outlast.jobs.world import system_world

    world = system_world()
    found = find_whole(world, job, home, "resume")
    goes_on = partial(
        resume,
        checkpoint=given["checkpoint"],
        args=given["args"],
        allow_changed=given["allow_changed"],
        max_run_seconds=max_run,
        changes={**rent_changes(given), **managed_changes(given), **({"on": given["on"]} if given["on"] else {})},
    )
    sweep = found.spec().cells is not None
    cells = _cells_words(found) if sweep else ""
    if given["dry_run"]:
        from outlast.cli.rehearsal import rehearse_resume

        if cells:
            say(f"It would go on {cells}")
        return rehearse_resume(world, found, as_json=as_json, verb=goes_on)
    before = found.folder.existing_head().head
    if not detach:
        ring(found.folder)
    try:
        goes_on(world, found)
    except KeyboardInterrupt:
        return say_interrupted(f"`outlast show {found.id}` says whether it goes on")
    head = found.folder.existing_head().head
    step = head.checkpoints[-1].step if head.checkpoints else None
    how = "from the beginning" if step is None else f"from step {step:,}"
    how = cells or how
    say(
        f"Job `{found.id}` had {before.state.value} and goes on {how}"
        if before.state.final
        else f"Job `{found.id}` goes on"
    )
    record = found.folder.read_launch(head.launch)
    hourly = hourly_words(record.machine, record.workers)
    seconds = record.deadline_at - record.launched_at
    limit = limit_words(record.machine, record.workers, seconds, record.max_cost_usd)
    say(f"  on `{record.engine}`: {machine_words(record.machine)}, {hourly}, {limit}")
    say(f"  `outlast stop {found.id}` stops it")
    if sweep and not detach:
        return follow_sweep(world, found, as_json=as_json)
    if not detach:
        if before.attempt and before.state.final:
            say(f"  `outlast logs {found.id}` prints what it said before")
        first = before.attempt + 1 if before.state.final else max(1, before.attempt)
        return follow_to_end(world, found, as_json=as_json, first=first)
    if as_json:
        put_json({"job": found.id, "folder": found.folder_url, "state": look(world, found).state})
    return EXIT_DONE


def _cells_words(sweep: Job) -> str:
    """Which of its cells a sweep goes on with."""
    from outlast.jobs.sweep_parts import cells_to_resume

    cells, every = cells_to_resume(sweep)
    numbers = ", ".join(map(str, cells[:CELLS_NAMED_MAX])) + (" ..." if cells[CELLS_NAMED_MAX:] else "")
    return f"with {len(cells):,} of {count(every, 'cell')}, those that failed or are missing: {numbers}"
