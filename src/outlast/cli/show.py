"""`outlast show`: all about one job, on one page."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import click

from outlast.cli.app import Command
from outlast.cli.clean import Cleaner
from outlast.cli.linked import evaluates, linked_document, print_linked, print_notifications
from outlast.cli.links import print_links
from outlast.cli.listing import COLOUR_OF_STATE
from outlast.cli.machine_words import hourly_words, machine_words
from outlast.cli.options import cell_argument, home_option, job_argument, json_option, whole
from outlast.cli.outcome import exit_words, resume_words, took_seconds
from outlast.cli.pictures import print_metrics, print_timeline
from outlast.cli.table import render
from outlast.cli.terminal import paint, put, put_json, shown, width
from outlast.cli.typed import quoted
from outlast.cli.words import age, count, duration, money, percent, size
from outlast.engines.compute.told import ENVIRONMENT_PYTHON
from outlast.errors import EXIT_DONE, NotFound, UsageError

if TYPE_CHECKING:
    from outlast.folder.records import Attempt, LaunchRecord
    from outlast.jobs.job import Job
    from outlast.jobs.world import World
    from outlast.results.status import Status
    from outlast.spec.spec import Machine, Spec

USD_PER_CLASS_A = 0.005 / 1000
LAST_BYTES_MAX = 16 << 10
LAST_LINES_MAX = 20
"""How much of the log is shown of a job that failed."""

ATTEMPTS_SHOWN_MAX = 20
"""The newest ones: a job that was taken away for weeks has hundreds."""

SILENT_SECONDS = 180.0
"""A machine writes every 15 seconds, and every minute where a write is billed."""

ATTEMPTS_COLUMNS = 110
MACHINE_COLUMNS = 7
"""On a terminal that is narrower than that, so much of a machine's name is shown."""


@click.command("show", cls=Command, short_help="Show all about a job.", aliases={"max-jobs": "limit"})
@job_argument
@cell_argument
@click.option("--attempt", type=whole(1), metavar="N", help="Only this attempt, with the end of its log.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Draw this one that was logged; repeatable.")
@click.option("--limit", type=whole(0), metavar="N", help="Of a sweep: so many cells; `0`: all. 50 if not said.")
@home_option
@json_option
def command(
    job: str | None,
    cell: int | None,
    attempt: int | None,
    metrics: tuple[str, ...],
    limit: int | None,
    home: str | None,
    as_json: bool,
) -> int:
    """Show a job: its state, attempts, checkpoints, what it logged, where its time went and where its results are.

    Of a sweep: its cells, each with its state and what it logged last. One CELL, or `SWEEP.21`, is shown as a job.
    """
    from outlast.jobs.look import look
    from outlast.jobs.sweep_parts import find_part
    from outlast.jobs.watch import freshen
    from outlast.jobs.world import system_world

    world = system_world()
    found = find_part(world, job, cell, home)
    freshen(world, found)
    status = look(world, found)
    if status.spec.cells is not None:
        return _show_sweep(world, found, status, attempt, metrics, limit, as_json)
    if limit is not None:
        raise UsageError(f"`--limit` is how many cells of a sweep are shown, and job `{found.id}` is none")
    if attempt is not None and str(attempt) not in status.head.attempts:
        legal = ", ".join(str(number) for number, _ in status.attempts) or "none yet"
        raise NotFound(f"job `{found.id}` has no attempt {attempt}", hint=f"its attempts: {legal}")
    if as_json:
        document = {**status.document(), **linked_document(found)}
        if attempt is not None:
            document["attempt_list"] = [one for one in document["attempt_list"] if one["attempt"] == attempt]
        put_json(document)
        return EXIT_DONE
    _print_facts(status)
    print_links(world, found, status)
    _print_attempts(status, attempt)
    if attempt is None:
        print_timeline(status)
        _print_checkpoints(status)
        print_linked(found)
        print_metrics(found, metrics)
        _print_time(status)
    if attempt is not None or status.state == "failed":
        _print_log_end(found, attempt or status.head.attempt)
    return EXIT_DONE


def _show_sweep(
    world: World,
    sweep: Job,
    status: Status,
    attempt: int | None,
    metrics: tuple[str, ...],
    limit: int | None,
    as_json: bool,
) -> int:
    from outlast.cli.sweep_show import cells_of, print_table
    from outlast.jobs.notify import list_notifications
    from outlast.jobs.sweep_watch import freshen_cells
    from outlast.results.sweep_status import SweepStatus, with_cells

    if attempt is not None:
        raise UsageError(
            f"`{sweep.id}` is a sweep, and each of its cells has attempts of its own",
            hint=f"`outlast show {sweep.id}.1 --attempt {attempt}`",
        )
    gc.disable()  # of ten thousand cells there is nothing to collect before this ends
    freshen_cells(world, sweep, status)
    told = with_cells(sweep.folder, status)
    assert isinstance(told, SweepStatus)
    if as_json:
        put_json(
            {
                **told.document(),
                "evaluations": [],  # those of a cell stand with the cell
                "notifications": list_notifications(sweep),
                "cell_list": [one.document() for one in cells_of(told)],
            }
        )
        return EXIT_DONE
    _print_facts(told)
    print_links(world, sweep, told)
    print_table(told, metrics, limit)
    print_notifications(sweep)
    return EXIT_DONE


def _cells(status: Status) -> str:
    from outlast.results.sweep import counts_words
    from outlast.results.sweep_status import SweepStatus

    return counts_words(status.counts) if isinstance(status, SweepStatus) else ""


def _edited(status: Status) -> str:
    step = status.head.edited_at_step
    return "" if step is None else f"edited since step {step:,}"


def _image(status: Status) -> str:
    """Of its container."""
    if status.spec.container is not None:
        container = status.spec.container
        return f"`{shown(container.image)}`, run by {shown(os.path.basename(container.runtime))}"
    rented = status.launch.machine.rented
    return f"`{shown(rented.image)}`" if rented is not None and "@sha256:" in rented.image else ""


def _python(spec: Spec, machine: Machine) -> str:
    version = spec.provenance.python_version
    if spec.environment is None and machine.rented is not None and spec.python != ENVIRONMENT_PYTHON:
        return "its image's own" if machine.rented.service else "its machine's own"
    if spec.environment is None:
        return f"{version} at {shown(spec.python)}"
    packages = count(spec.environment.packages, "package")
    return f"{version}, {packages} of `{shown(spec.environment.source)}`, environment {spec.environment.digest[:12]}"


def _print_facts(status: Status) -> None:
    colour = COLOUR_OF_STATE.get(status.state)
    state = paint(status.state, colour, sys.stdout) if colour else status.state
    put(f"{paint(status.job, 'bold', sys.stdout)}  {state}{_since(status)}")
    spec = status.spec
    args = status.launch.args if status.launch.args is not None else spec.args
    launch = status.launch
    code = f", commit {spec.provenance.commit[:12]}" if spec.provenance.commit else ""
    code += (" with changes" if code else ", never committed") if spec.provenance.dirty else ""
    facts = [
        ("why" if status.final else "note" if status.state == "running" else "waits", _lines(status.why)),
        ("target", shown(" ".join([spec.target.value, quoted(args)])).rstrip()),
        ("cells", _cells(status)),
        ("labels", ", ".join(f"{key}={value}" for key, value in sorted(spec.labels.items()))),
        (
            "on",
            f"{launch.engine}, {machine_words(launch.machine)}, {hourly_words(launch.machine, launch.workers)}, "
            f"{'it cost' if status.final else 'so far'} {money(status.cost_usd)}",
        ),
        (
            "submitted",
            f"{age(spec.submitted_at, status.now)} from {shown(spec.provenance.directory)}{code}",
        ),
        ("code", _edited(status)),
        ("python", _python(spec, status.launch.machine)),
        ("image", _image(status)),
        ("began with", began_with(status)),
        ("evaluates", evaluates(spec)),
        (
            "limit",
            f"ends at the latest {duration(launch.deadline_at - status.now)} from now{_or_money(launch)}"
            if not status.final
            else "",
        ),
        ("next", resume_words(status)),
        ("folder", shown(status.folder)),
        ("store", _store_cost(status.store_writes)),
        (
            "outputs",
            f"`outlast pull {status.job}`"
            if status.head.outputs or status.checkpoints or spec.cells is not None
            else "none"
            if status.final
            else "none yet",
        ),
    ]
    for name, fact in facts:
        if fact:
            put(f"  {name:<10} {fact}")


def _lines(text: str) -> str:
    """The end of a log has lines: each stands below the one before."""
    return f"\n{'':<13}".join(shown(line) for line in text.splitlines())


def _or_money(launch: LaunchRecord) -> str:
    return "" if launch.max_cost_usd is None else f", or when it has cost {money(launch.max_cost_usd)}"


def _store_cost(writes: int) -> str:
    """Only where they are billed; the price is Cloud Storage's for a single region."""
    return f"{count(writes, 'class A operation')} by its machines, {writes * USD_PER_CLASS_A:.4f} USD" if writes else ""


def began_with(status: Status) -> str:
    spec = status.spec
    if not spec.from_job:
        return ""
    which = f"checkpoint {shown(spec.from_checkpoint)}" if spec.from_checkpoint else "the last checkpoint"
    return f"{which} of {shown(spec.from_job)}{', its steps going on' if spec.continue_steps else ''}"


def _since(status: Status) -> str:
    if status.head.ended_at is not None:
        took = duration(took_seconds(status))
        code = " early" if status.head.early else exit_words(status)
        return f"{code} {age(status.head.ended_at, status.now)}, after {took}"
    last = status.attempts[-1][1] if status.attempts else None
    since = last.started_at if last is not None and last.ended_at is None else status.launch.launched_at
    step = "" if status.step is None else f", step {status.step:,}"
    if step and status.steps_total is not None:
        step += f" of {status.steps_total:,}"
        step += "" if status.left_seconds is None else f", about {duration(status.left_seconds)} left"
    doing = f", {shown(status.doing)}" if status.doing else ""
    if status.silent_seconds > SILENT_SECONDS:  # a full home, a machine without a network, a computer that slept
        doing += f", nothing heard of it for {duration(status.silent_seconds)}"
    return f" for {duration(status.now - since)}{step}{doing}"


def _print_attempts(status: Status, only: int | None) -> None:
    shown_ones = [(n, one) for n, one in status.attempts if only in (None, n)][-ATTEMPTS_SHOWN_MAX:]
    rows = [_attempt_cells(n, one, status.now) for n, one in shown_ones]
    if (width(sys.stdout) or ATTEMPTS_COLUMNS) < ATTEMPTS_COLUMNS:
        # How it ended is worth more than a machine's whole name, of which the end tells one from another.
        for row in rows:
            row[1] = row[1] if len(row[1]) <= MACHINE_COLUMNS else f"…{row[1][-MACHINE_COLUMNS + 1 :]}"
    if rows:
        put("")
        header = ("ATTEMPT", "MACHINE", "STARTED", "TOOK", "RESUMED FROM", "STEPS LOST", "ENDED AS")
        _print_table(header, rows, right=(0, 4, 5), whole=(0, 2, 3, 4, 5))
    hidden = len(status.attempts) - len(shown_ones) if only is None else 0
    if hidden:
        put(f"{count(hidden, 'attempt')} before these; `--attempt N` shows one, `--json` all")
    for number, attempt in status.attempts:
        for name, problem in attempt.passed_over.items() if only in (None, number) else ():
            put(f"attempt {number} passed over checkpoint {shown(name)}: {shown(problem)}")


def _attempt_cells(number: int, attempt: Attempt, now: float) -> list[str]:
    ended = "" if attempt.cause is None else attempt.cause.value
    if attempt.reason:
        ended += f": {attempt.reason}"
    step, lost = attempt.resumed_from_step, attempt.steps_lost
    return [
        str(number),
        attempt.machine,
        age(attempt.started_at, now),
        duration((attempt.ended_at or now) - attempt.started_at),
        "the beginning" if step is None else f"step {step:,}",
        f"{lost:,}" if lost is not None else "unknown" if attempt.cause and attempt.step is not None else "",
        ended,
    ]


def _print_checkpoints(status: Status) -> None:
    if status.checkpoints:
        put("")
        rows = [
            [one.name, f"{one.step:,}", size(one.bytes), age(one.committed_at, status.now)]
            for one in status.checkpoints
        ]
        _print_table(("CHECKPOINT", "STEP", "SIZE", "COMMITTED"), rows, right=(1, 2))


def _print_table(
    header: tuple[str, ...], rows: list[list[str]], right: tuple[int, ...], whole: tuple[int, ...] = ()
) -> None:
    first, *lines = render(header, rows, width=width(sys.stdout), right=right, whole=whole)
    put(paint(first, "bold", sys.stdout))
    for line in lines:
        put(line)


def _print_time(status: Status) -> None:
    goodput = status.goodput.document()
    ratio = goodput.pop("ratio")
    if ratio is not None:
        put("")
        buckets = ", ".join(f"{name} {duration(seconds)}" for name, seconds in goodput.items() if seconds)
        put(f"goodput {percent(ratio)}: {buckets}")


def _print_log_end(job: Job, attempt: int) -> None:
    from outlast.results.logs import read_last

    data = read_last(job.folder, attempt, bytes_max=LAST_BYTES_MAX) if attempt else b""
    lines = [line.rpartition("\r")[2] for line in Cleaner(colour=False).clean(data, final=True).rstrip().split("\n")]
    if lines != [""]:
        put("")
        put(paint(f"the end of the log, `outlast logs {job.id}` has all of it:", "bold", sys.stdout))
        for line in lines[-LAST_LINES_MAX:]:
            put(f"  {line}")
