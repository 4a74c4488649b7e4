"""How many machines a sweep's money pays for: each has an equal share of it, and must be able to work with that."""

from __future__ import annotations

import math

from outlast.agent.sweep_terms import share_usd_min
from outlast.errors import UsageError
from outlast.folder.bills import Bills
from outlast.folder.records import LaunchRecord
from outlast.folder.sweep import GOOD, SweepFolder, read_progress
from outlast.jobs.job import Job
from outlast.spec.spec import Machine, Spec

USEFUL_SECONDS = 600.0
"""With less than this most of a machine's time is its boot: then there are fewer of them, if nobody says how many."""


def dollars(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 0.01 else f"${usd:.2g}"


def machines_paid_for(machine: Machine, limit_usd: float | None) -> int | None:
    """By shares with which it is worth while to begin; None: no sum limits them."""
    usd = machine.rented.usd_per_hour if machine.rented is not None else 0.0
    if limit_usd is None or not usd:
        return None
    return max(1, int(limit_usd / (usd * USEFUL_SECONDS / 3600)))


def check_shares(machine: Machine, machines: int, limit_usd: float | None) -> None:
    """So many machines that none of them could begin a cell are refused."""
    usd = machine.rented.usd_per_hour if machine.rented is not None else 0.0
    if limit_usd is None or not usd or limit_usd / machines >= share_usd_min(usd):
        return
    most = int(limit_usd / share_usd_min(usd))
    among = f"divided among {machines:,} machines " if machines > 1 else ""
    raise UsageError(
        f"{dollars(limit_usd)} {among}pays for {limit_usd / machines / usd * 60:.1f} min of {'each' if among else 'a machine'}, "
        "too little to boot, work, save and leave",
        state="nothing was started, nothing is being spent",
        hint=f"`--parallel {most}`, or more money" if most else f"`--max-cost {math.ceil(usd * machines)}`",
    )


def again(job: Job, spec: Spec, previous: LaunchRecord, machine: Machine, limit_usd: float | None) -> int:
    """How many machines a sweep that goes on needs, and can pay for with what is left."""
    assert spec.cells is not None and previous.cells is not None
    sweep = SweepFolder(job.folder)
    # As the next launch sees it: what has ended without success is to be done again.
    cells = sum(grid.cells for grid in sweep.grids()[: previous.cells.grids])
    progress = read_progress(sweep, previous, cells)
    to_do = cells - sum(1 for row in progress.rows.values() if row.state in GOOD)
    machines = max(1, min(previous.workers, -(-to_do // spec.cells.per_machine)))
    if limit_usd is None or machine.rented is None:
        return machines
    spent = Bills(job.folder).spent_usd(job.folder.store.now())
    left = limit_usd - spent
    usd = machine.rented.usd_per_hour
    if usd and left < share_usd_min(usd):
        raised = math.ceil(spent + max(limit_usd, usd * machines))
        raise UsageError(
            f"sweep `{job.id}` has cost ${spent:,.2f} of the ${limit_usd:,.2f} that it may cost: what is left pays for no work",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast resume {job.id} --max-cost {raised}`: what it has cost already counts",
        )
    paid = machines_paid_for(machine, left)
    return machines if paid is None else min(machines, paid)
