"""`outlast evaluate`: a job that evaluates another one's checkpoint."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from outlast.cli.app import Command
from outlast.cli.linked import words_of
from outlast.cli.options import json_option
from outlast.cli.outcome import end_line
from outlast.cli.setting_option import setting_option
from outlast.cli.target_options import OLDER_NAMES, asked, machine_options
from outlast.cli.terminal import put, put_json, say, shown
from outlast.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, UsageError

if TYPE_CHECKING:
    from outlast.folder.records import Checkpoint
    from outlast.jobs.evaluate import Wanted
    from outlast.jobs.evaluations import Evaluated
    from outlast.jobs.job import Job
    from outlast.jobs.plan import Plan
    from outlast.jobs.world import World

SUFFIXES = (".py", ".sh", ".bash")


class EvaluateCommand(Command):
    """`[OPTIONS] [JOB] [TARGET] [-- ARGS]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.params["args"] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


@click.command(
    "evaluate", cls=EvaluateCommand, short_help="Evaluate a job's checkpoint, by a job of its own.", aliases=OLDER_NAMES
)
@click.argument("words", nargs=-1, metavar="[JOB] [TARGET]")
@click.option("--split", metavar="NAME", default="", help="Which part of the data: passed on as `--split NAME`.")
@click.option(
    "--checkpoint", metavar="WHICH", default="last", help="`last`, `best`, a step, or a name; `last` if not said."
)
@click.option("--follow", is_flag=True, help="Evaluate each new checkpoint while it trains; ends with the training.")
@click.option("--rebuild", is_flag=True, help="Ship the directory that you stand in, not the code that trained.")
@click.option("--detach", is_flag=True, help="Return when the evaluation is submitted; it goes on by itself.")
@click.option("--name", metavar="NAME", help="What to call it; the trained job's name and `-eval` if not said.")
@click.option("--job-id", metavar="ID", help="Its id; the same id again is the same job.")
@click.option("--train-folder", hidden=True, help="The job, as an older tool wanted it.")
@click.option("--label", "-l", "labels", multiple=True, metavar="K=V", help="A label, to find it by; repeatable.")
@machine_options
@setting_option("retries", "N", "How often to start again when the script itself fails; 0 if not said.")
@setting_option("max-run", "DURATION", "The most it may take, waiting included; `7d` if not said.")
@setting_option("stall", "DURATION", "Start again after this long without a word; measured if not said, `0` never.")
@click.option("--dry-run", is_flag=True, help="Print the plan and everything that would be made; make nothing.")
@json_option
def command(words: tuple[str, ...], follow: bool, detach: bool, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Evaluate a checkpoint of JOB, the newest training if not said, by a job of its own with JOB's code and data.

    Without a TARGET it is JOB's own, with `--mode evaluate` behind its arguments. It sees the checkpoint
    (`outlast.latest_checkpoint()`), the outputs and the configuration, and can change none of them. The last value of
    each metric that it logs is the result, kept in JOB's folder. Nothing that costs money is taken over from JOB.

    With --json the log goes to stderr and one object to stdout, with the metrics; with --follow one object per checkpoint.
    """
    from outlast.jobs.world import system_world

    world = system_world(make=not dry_run)
    trained, wanted = _wanted(world, words, given)
    try:
        if dry_run:
            return _rehearse(world, trained, wanted, as_json=as_json)
        if follow:
            return _follow(world, trained, wanted, as_json=as_json, detach=detach)
        return _evaluate(world, trained, wanted, as_json=as_json, detach=detach)
    except KeyboardInterrupt:
        say()
        say("left; what was submitted goes on, and the same command goes on with it")
        return EXIT_INTERRUPTED


def _wanted(world: World, words: tuple[str, ...], given: dict[str, Any]) -> tuple[Job, Wanted]:
    from outlast.jobs.evaluate import Wanted, newest_trained
    from outlast.jobs.find import find

    if len(words) > 2:
        raise UsageError(
            f"`{words[2]}` stands behind the target `{words[1]}`",
            state="arguments of the target stand behind `--`",
            hint=f"`outlast evaluate {words[0]} {words[1]} -- {words[2]}`",
        )
    job: str | None
    if older := given.pop("train_folder"):  # as an older tool named it
        say(f"note: `--train-folder {shown(older)}` is `outlast evaluate {shown(older)}`")
        words = (f"gs://{older}" if "/" in older and "://" not in older else older, *words)
    job, target = (words[0] if words else None), (words[1] if len(words) > 1 else "")
    if len(words) == 1 and words[0].endswith(SUFFIXES):
        job, target = None, words[0]
    split, checkpoint, rebuild = given.pop("split"), given.pop("checkpoint"), given.pop("rebuild")
    request = asked(world, target, given)
    home = given.get("home")
    trained = newest_trained(world, home) if job is None else find(world, job, home)
    return trained, Wanted(request, checkpoint, split, rebuild)


def _rehearse(world: World, trained: Job, wanted: Wanted, *, as_json: bool) -> int:
    from dataclasses import replace

    from outlast.cli.rehearsal import rehearse
    from outlast.jobs.evaluate import evaluate

    return rehearse(
        world,
        wanted.asked,
        as_json=as_json,
        verb=lambda pretended, request: evaluate(pretended, trained, replace(wanted, asked=request)),
    )


def _evaluate(world: World, trained: Job, wanted: Wanted, *, as_json: bool, detach: bool) -> int:
    from outlast.cli.follow import follow, out_stream
    from outlast.jobs.evaluate import plan_evaluation
    from outlast.jobs.evaluations import evaluated
    from outlast.jobs.job import Job
    from outlast.jobs.look import look
    from outlast.jobs.see_off import see_off
    from outlast.jobs.submit import carry_out
    from outlast.jobs.watch import ring

    planned = plan_evaluation(world, trained, wanted)
    _say_plan(planned, rebuilt=wanted.rebuild)
    if not detach:
        ring(Job.of(planned.home, planned.spec.job).folder)
    job = carry_out(world, planned).job
    if detach:
        if as_json:
            put_json({"job": job.id, "folder": job.folder_url, "state": look(world, job).state, "trained": trained.id})
        return EXIT_DONE
    left = follow(world, job, out=out_stream(as_json))
    if left is not None:
        return left
    status = look(world, job)
    found = evaluated(trained, job)
    if as_json:
        put_json({**status.row(), **_result(trained, found)})
    else:
        _say_metrics(found)
    say(end_line(status, see_off(world, job, status.launch, status.spec, status.head)))
    return status.outcome_code


def _result(trained: Job, found: Evaluated) -> dict[str, Any]:
    document = found.document()
    return {
        "trained": trained.id,
        "checkpoint": document["checkpoint"],
        "checkpoint_step": document["step"],
        "split": document["split"],
        "metrics": document["metrics"],
    }


def _say_plan(planned: Plan, *, rebuilt: bool) -> None:
    from outlast.cli.run_words import say_machine, say_shipped

    spec = planned.spec
    of = spec.evaluation
    assert of is not None
    if rebuilt:
        say_shipped(planned)
    step = "its outputs" if of.step is None else f"step {of.step:,}"
    code = "the code in this directory" if rebuilt else "the code that trained"
    say(f"Evaluates job `{of.job}` at {step}, with {code}")
    for note in planned.notes:
        say(note)
    say_machine(planned)
    say(f"  `outlast stop {spec.job}` stops it")


def _say_metrics(found: Evaluated) -> None:
    for name, value in sorted(found.metrics.items()):
        put(f"{shown(name)} {value:g}")
    if found.state == "succeeded" and not found.metrics:
        say("it logged no metrics: `outlast.log(accuracy=...)` in the script makes a result")


def _follow(world: World, trained: Job, wanted: Wanted, *, as_json: bool, detach: bool) -> int:
    from outlast.jobs.evaluate_each import follow_training

    if detach or wanted.checkpoint != "last" or wanted.asked.job_id:
        raise UsageError(
            "`--follow` makes one job for each checkpoint, and waits for them: "
            "`--detach`, `--checkpoint` and `--job-id` have no meaning with it",
            hint=f"`outlast evaluate {trained.id} --follow`",
        )
    failed = 0
    for found in follow_training(world, trained, wanted, on_begin=_say_begin):
        failed += found.state != "succeeded"
        if as_json:
            put_json({**found.document(), "trained": trained.id})
        else:
            put(f"step {found.step}: {words_of(found)}")
        sys.stdout.flush()
    return EXIT_FAILED if failed else EXIT_DONE


def _say_begin(job: Job, checkpoint: Checkpoint) -> None:
    say(f"step {checkpoint.step:,}: job `{job.id}`")
