"""`outlast results`: what the cells of a sweep found, the best first."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from outlast.cli.app import Command
from outlast.cli.options import home_option, job_argument, json_option, whole
from outlast.cli.terminal import put_json, say, shown
from outlast.cli.words import count
from outlast.errors import EXIT_DONE, UsageError

TOP_DEFAULT = 50
"""How many a person is shown at once."""


@click.command("results", cls=Command, short_help="List what a sweep's cells found, the best first.")
@job_argument
@click.option(
    "--metric", metavar="NAME", help="Sort by this one; the sweep's own, or the first that it logs, if not said."
)
@click.option(
    "--goal", type=click.Choice(["min", "max"]), help="Whether less or more of it is better; by its name if not said."
)
@click.option(
    "--top", type=whole(0), metavar="N", help="The best N; `0`: all. 50 if not said, with --csv and --json all."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, with a line of names first.")
@home_option
@json_option
def command(
    job: str | None,
    metric: str | None,
    goal: str | None,
    top: int | None,
    as_csv: bool,
    home: str | None,
    as_json: bool,
) -> int:
    """List the cells of a sweep that have ended: parameters, the last value of each metric, cost and duration, the best first.

    Cells that failed stand behind those that succeeded. One cell is `SWEEP.NUMBER` to every other command: `outlast pull lr.21`.
    """
    from outlast.cli.sweep_show import no_such_metric
    from outlast.cli.sweep_table import print_cells, put_csv
    from outlast.jobs.find import find
    from outlast.jobs.world import system_world
    from outlast.results.sweep import main_metric, names_of, ranked, see, table

    if as_csv and as_json:
        raise UsageError("`--csv` and `--json` are two forms of the same", hint="choose one of them")
    gc.disable()  # of ten thousand cells there is nothing to collect before this ends
    world = system_world()
    found = find(world, job, home)
    spec, head = found.spec(), found.folder.existing_head().head  # what has ended is read, and nobody is looked after
    said = spec.cells
    if said is None:
        raise UsageError(f"job `{found.id}` is no sweep", hint=_hint(world.cache_dir, found.id, named=job is not None))
    launch = found.folder.read_launch(head.launch)
    every = table(see(found.folder, spec, launch, final=head.state.final), {})
    ended = [cell for cell in every if cell.ended]
    metrics = names_of(cell.metrics for cell in ended)
    if metric is not None and metric not in metrics:
        raise no_such_metric(found.id, metric, metrics)
    main = main_metric(metric or "", said.metric, metrics)
    goal = goal or (said.goal if main == said.metric else "")
    best = ranked(ended, main, goal)
    limit = top if top is not None else 0 if as_csv or as_json else TOP_DEFAULT
    chosen = best[:limit] if limit else best
    if as_json:
        put_json([cell.document() for cell in chosen])
    elif as_csv:
        put_csv(chosen, names_of(cell.params for cell in every), metrics)
    elif chosen:
        columns = [main, *(name for name in metrics if name != main)] if main in metrics else metrics
        print_cells(chosen, every, columns, main=main, whole_in=f"`outlast results {found.id} --csv`")
    _say_rest(found.id, main, goal, len(every), len(ended), len(best) - len(chosen) if top is None else 0)
    return EXIT_DONE


def _say_rest(job: str, main: str, goal: str, cells: int, ended: int, hidden: int) -> None:
    from outlast.spec.sweep.goal import falls

    if hidden:
        say(f"and {hidden:,} more; `outlast results {job} --top 0` lists all")
    if main and ended:
        say(f"by `{shown(main)}`, the {'least' if falls(main, goal) else 'most'} first")
    elif ended:
        say("in the order of their numbers: no cell has logged a metric")
    if ended < cells:
        verb = "has" if cells - ended == 1 else "have"
        say(f"{count(cells - ended, 'cell')} of {cells:,} {verb} not ended; `outlast show {job}` shows them")


def _hint(cache_dir: Path, job: str, *, named: bool) -> str:
    """Who named no job has perhaps meant the newest sweep, as far as one was seen lately."""
    from outlast.jobs.job_names import read_cells

    sweep = next(iter(read_cells(cache_dir)), None)
    return f"`outlast results {sweep}`" if sweep and not named else f"`outlast show {job}` shows what it logged"
