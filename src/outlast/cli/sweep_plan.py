"""The cells of a sweep before they are begun: how many, of what, by how many workers; and a rehearsal of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast.cli.machine_words import hourly_words
from outlast.cli.sweep_again import check_running, chosen_rerun
from outlast.cli.terminal import put, say, shown
from outlast.cli.typed import quoted
from outlast.cli.words import count
from outlast.spec.progress import silent

if TYPE_CHECKING:
    from outlast.folder.sweep_records import Source
    from outlast.jobs.asked import Asked
    from outlast.jobs.plan import Plan
    from outlast.jobs.submit import Submitted
    from outlast.jobs.sweep import Again, SweepAsked
    from outlast.jobs.world import World
    from outlast.spec.progress import OnProgress

CELLS_SHOWN_MAX = 20
KEYS_SHOWN_MAX = 8


def check_every_commit(world: World, request: Asked, cells: SweepAsked, refs: Mapping[str, str]) -> None:
    """Keys against the script's flags, which another commit may have others of."""
    from outlast.jobs.sweep_check import check_flags

    for git in refs.values() or (request.git,):
        check_flags(world, replace(request, git=git), cells)


def sources_of(
    world: World, request: Asked, first: Plan, refs: Mapping[str, str], on_progress: OnProgress = silent
) -> tuple[Source, ...]:
    """The code of each commit; that of the first is shipped already."""
    from outlast.folder.sweep_records import Source
    from outlast.jobs.plan import plan

    others = list(refs.values())[1:]
    plans = [first, *(plan(world, replace(request, git=one), on_progress=on_progress) for one in others)]
    return tuple(
        Source(ref, planned.packed.commit, planned.spec.bundle) for ref, planned in zip(refs, plans, strict=True)
    )


def say_cells(planned: Plan, asked: SweepAsked, number: int, to_do: int, why: str, again: Again | None) -> None:
    from outlast.cli.dashed_keys import note_dashes

    spec = planned.spec
    assert spec.cells is not None
    beside = f", {spec.cells.per_machine} on each" if spec.cells.per_machine > 1 else ""
    which = f"{to_do:,} of {again.cells:,} cells" if again is not None else count(number, "cell")
    machines = count(spec.workers, "worker" if spec.machine.rented is None else "machine")
    say(f"  {which}, {machines}{beside} ({why}); {hourly_words(spec.machine, spec.workers)}")
    shape = shape_words(asked)
    if shape:
        say(f"  {shape}")
    note_dashes(asked.document, asked.where)


def shape_words(asked: SweepAsked) -> str:
    """`lr (3) x depth (2)`: how many values each key has; empty where there is nothing to say."""
    from outlast.spec.sweep.expand import expansion
    from outlast.spec.sweep.space import space

    commits = [f"commits ({len(asked.sources)})"] if asked.sources else []
    if asked.cells.search:
        chosen = [",".join(one.names) for one in space(asked.document, asked.where).dimensions if not one.constant]
        words = [f"{asked.cells.search} search over {', '.join(map(shown, _few(chosen)))}"]
        return " x ".join([*words, *commits])
    grids = expansion(asked.document, asked.where).grids
    if len(grids) != 1:
        return " x ".join([f"{len(grids):,} configurations", *commits])
    axes = [one for one in getattr(grids[0], "axes", ()) if len(one.values) > 1]
    return " x ".join([*_few([f"{shown(','.join(one.names))} ({len(one.values):,})" for one in axes]), *commits])


def _few(words: list[str]) -> list[str]:
    hidden = len(words) - KEYS_SHOWN_MAX
    return words if hidden <= 0 else [*words[:KEYS_SHOWN_MAX], f"{hidden} more"]


def rehearse_sweep(world: World, request: Asked, cells: SweepAsked, refs: Mapping[str, str], *, as_json: bool) -> int:
    """What would be submitted, and the first of the cells that would be new."""
    from outlast.cli.rehearsal import rehearse
    from outlast.jobs.plan import plan
    from outlast.jobs.submit import Submitted
    from outlast.jobs.sweep import count_cells, look_again, submit_again, submit_sweep
    from outlast.jobs.sweep_check import with_workers

    count_cells(cells)
    check_every_commit(world, request, cells, refs)
    found: dict[str, Any] = {}

    def verb(world: World, request: Asked) -> Submitted:
        planned = plan(world, request)
        asked = replace(cells, sources=sources_of(world, request, planned, refs)) if refs else cells
        number = count_cells(asked)
        again = look_again(planned, asked)
        rerun = chosen_rerun(asked, again) if again is not None else ""
        to_do = again.to_do(rerun) if again is not None else number
        planned, why = with_workers(world, planned, asked, max(1, to_do))
        say_cells(planned, asked, number, to_do, why, again)
        found["cells"] = {"total": again.cells if again is not None else number, "to_do": to_do}
        found["cells"]["new"] = new_cells(asked, request.args, again)
        if again is None:
            return submit_sweep(world, planned, asked)
        if again.running:
            check_running(asked, again)
        if again.running or to_do:
            submit_again(world, planned, asked, again, rerun)
        return Submitted(again.job, planned, again.spec, resubmitted=True)

    code = rehearse(world, request, as_json=as_json, verb=verb, more=found)
    if not as_json:
        _put_cells(request.target, found["cells"], of_commits=bool(refs))
    return code


def new_cells(asked: SweepAsked, args: tuple[str, ...], again: Again | None) -> list[dict[str, Any]]:
    """The first of those that a sweep does not have yet. What a search will choose is not known before."""
    from outlast.folder.cells import Cells
    from outlast.jobs.sweep import first_grid

    grid = first_grid(asked, args, 0.0)
    every = Cells([grid], asked.cells)
    if every.chosen:
        return []
    before = again.cells - len(again.new) if again is not None else 0
    indices = again.new if again is not None else range(grid.cells)
    return [
        {"cell": before + place, "params": dict(every.params(index + 1)), "args": list(every.args(index + 1))}
        for place, index in enumerate(indices[:CELLS_SHOWN_MAX], 1)
    ]


def _put_cells(target: str, cells: dict[str, Any], *, of_commits: bool) -> None:
    for one in cells["new"]:
        commit = f"  # {shown(one['params']['ref'])}" if of_commits else ""
        put(f"cell {one['cell']} {quoted([target, *one['args']])}{commit}")
    hidden = cells["to_do"] - len(cells["new"])
    if cells["new"] and hidden > 0:
        say(f"and {hidden:,} more; `outlast expand` prints them all")
