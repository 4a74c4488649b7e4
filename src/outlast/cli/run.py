"""`outlast run`: a job of a script, followed until it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from outlast.cli import sweep_options
from outlast.cli.app import TargetCommand
from outlast.cli.options import json_option
from outlast.cli.outcome import end_line, resume_words
from outlast.cli.progress import shown_progress
from outlast.cli.run_words import say_plan
from outlast.cli.setting_option import setting_option
from outlast.cli.shell_option import check_target
from outlast.cli.target_options import OLDER_NAMES, asked, machine_options
from outlast.cli.terminal import put_json, say, shown
from outlast.errors import EXIT_DONE, EXIT_INTERRUPTED

if TYPE_CHECKING:
    from outlast.jobs.job import Job
    from outlast.jobs.world import World


@click.command(
    "run",
    cls=TargetCommand,
    short_help="Run a script as a job, and follow its log.",
    aliases={**OLDER_NAMES, **sweep_options.OLDER_NAMES},
)
@click.argument("target", required=False)
@click.option(
    "--shell", is_flag=True, help="No target: a machine to work on by `outlast ssh`; it waits for --linger, 30m."
)
@click.option("--detach", is_flag=True, help="Return when the job is submitted; it goes on by itself.")
@click.option("--name", metavar="NAME", help="What to call it; the target's name if not said.")
@click.option(
    "--job-id", metavar="ID", help="Its id; `<name>-<random>` if not said. The same id again is the same job."
)
@click.option("--label", "-l", "labels", multiple=True, metavar="K=V", help="A label, to find it by; repeatable.")
@machine_options
@setting_option("retries", "N", "How often to start again when the script itself fails; 0 if not said.")
@setting_option("max-run", "DURATION", "The most it may take, waiting included; `7d` if not said.")
@setting_option("stall", "DURATION", "Start again after this long without a word; measured if not said, `0` never.")
@click.option(
    "--from",
    "from_job",
    metavar="JOB[@STEP]",
    help="Begin with that job's checkpoint: its last, `@best`, or of a step.",
)
@click.option(
    "--continue-steps", is_flag=True, help="With --from: go on with that job's steps, instead of from step 0."
)
@sweep_options.sweep_options
@click.option("--dry-run", is_flag=True, help="Print the plan and everything that would be made; make nothing.")
@json_option
def command(target: str | None, detach: bool, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Run TARGET as a job: a .py file, a module or a shell script, shipped with the directory that you stand in.

    ARGS go to the target untouched. The log is followed; Ctrl-C detaches, and the job goes on. Exit code: 0 succeeded,
    1 failed, 7 stopped, 8 its time was over.

    With --shell there is no TARGET: the machine waits for you, with your directory and its environment, until nobody has been there for
    --linger, and for 12h at most unless --max-run says otherwise.

    With --json the log goes to stderr and one object to stdout: with --detach what was submitted, else how it ended.
    """
    from outlast.cli import sweep_run
    from outlast.jobs.world import system_world

    check_target(target, given["args"], shell=given["shell"])
    target = target or ""
    world = system_world(make=not dry_run)
    if sweep_run.is_sweep(given):
        return sweep_run.run_sweep(world, target, given, detach=detach, dry_run=dry_run, as_json=as_json)
    if dry_run:
        from outlast.cli.rehearsal import rehearse

        return rehearse(world, asked(world, target, given), as_json=as_json)
    try:
        job = _submit(world, target, given, following=not detach)
    except KeyboardInterrupt:
        say("interrupted while submitting; `outlast jobs` says whether there is a job")
        return EXIT_INTERRUPTED
    if detach:
        if as_json:
            put_json({"job": job.id, "folder": job.folder_url, "state": _state(world, job)})
        return EXIT_DONE
    return follow_to_end(world, job, as_json=as_json)


def _submit(world: World, target: str, given: dict[str, Any], *, following: bool) -> Job:
    from outlast.jobs.job import Job
    from outlast.jobs.plan import plan
    from outlast.jobs.submit import carry_out, check_not_ended
    from outlast.jobs.watch import ring

    begun_at = world.clock.monotonic()
    with shown_progress() as on_progress:
        planned = plan(world, asked(world, target, given), on_progress=on_progress)
    if planned.asked.job_id:
        check_not_ended(planned)
    say_plan(planned, world.clock.monotonic() - begun_at)
    if following:
        ring(Job.of(planned.home, planned.spec.job).folder)  # so that its first line is not waited for
    submitted = carry_out(world, planned)
    if submitted.resubmitted:
        say(f"job `{submitted.job.id}` was there already, and goes on as it was submitted first")
    if planned.image is not None:
        from outlast.cli.links import say_links

        say_links(world, submitted.job)
    return submitted.job


def follow_to_end(world: World, job: Job, *, as_json: bool, first: int = 1) -> int:
    """Follows from that attempt on, says how it ended, and answers the exit code of that."""
    from outlast.cli.follow import follow, out_stream, say_detached
    from outlast.jobs.look import look
    from outlast.jobs.see_off import see_off

    try:
        left = follow(world, job, out=out_stream(as_json), first=first)
    except BrokenPipeError:
        say_detached(job)
        raise
    if left is not None:
        return left
    status = look(world, job)
    if as_json:
        put_json(status.row())
    if status.head.outputs:
        say(f"Outputs are in `{shown(status.folder)}/outputs`; `outlast pull {job.id}` copies them")
    if words := resume_words(status):
        say(words)
    say(end_line(status, see_off(world, job, status.launch, status.spec, status.head)))
    return status.outcome_code


def _state(world: World, job: Job) -> str:
    from outlast.jobs.look import look

    return look(world, job).state
