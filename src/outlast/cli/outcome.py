"""The last line about a job: what became of it, what it cost, and that nothing runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from outlast.cli.listing import COLOUR_OF_STATE
from outlast.cli.terminal import paint, shown
from outlast.cli.words import count, duration, money

if TYPE_CHECKING:
    from outlast.results.status import Status

EXIT_CODE_MAX = 128
"""Above it a process was ended by a signal, which `why` names."""


def end_line(status: Status, runs: str = "") -> str:
    """`mnist-7f3a succeeded after 4 min 12 s: $0, 2 preemptions, 14 s lost, nothing runs`. `runs`: why something may."""
    colour = COLOUR_OF_STATE.get(status.state)
    state = paint(status.state, colour, sys.stderr) if colour else status.state
    if not status.final:
        return f"{status.job} is {state}"
    seconds = took_seconds(status)
    code = exit_words(status)
    why = f" ({shown(' '.join(status.why.splitlines()))})" if status.why and not _says_the_code_alone(status) else ""
    lost_seconds = status.goodput.lost + status.goodput.waiting
    facts = [
        money(status.cost_usd) + _under_on_demand(status),
        count(status.preemptions, "preemption"),
        f"{duration(lost_seconds)} lost" if lost_seconds >= 0.001 else "no time lost",
        runs or "nothing runs",
    ]
    return f"{status.job} {state}{code}{why} after {duration(seconds)}: {', '.join(facts)}"


def took_seconds(status: Status) -> float:
    """What is lost is a part of this: both count from where the first attempt began, and not while the job lay stopped."""
    return status.goodput.total if status.head.attempts else ended_at(status) - status.launch.launched_at


def exit_words(status: Status) -> str:
    """` with exit code 7`, of a trainer that failed by itself; of others it says nothing that their state does not."""
    code = status.head.exit_code
    return f" with exit code {code}" if status.state == "failed" and code and code <= EXIT_CODE_MAX else ""


def resume_words(status: Status) -> str:
    """`` `outlast resume x` goes on from step 4,000``; empty if there is nothing to go on with."""
    if not status.final or status.state == "succeeded" or status.spec.sweep:
        return ""
    if status.spec.cells is not None:
        return f"`outlast resume {status.job}` goes on with what is not done"
    if not status.checkpoints and status.head.refused:
        doctor = f"`outlast doctor --on {status.launch.engine}` shows what may be had"
        return f"{doctor}; `outlast resume {status.job}` begins it then, with `--region REGION` elsewhere"
    if not status.checkpoints:
        return ""
    step = status.head.checkpoints[-1].step  # not the farthest: it may have gone back, to an older one
    return f"`outlast resume {status.job}{_limit_words(status)}` goes on from step {step:,}"


def _limit_words(status: Status) -> str:
    """` --max-cost 20`, where the sum that it may cost is spent: without it a resume is refused."""
    if status.launch.max_cost_usd is None:
        return ""
    from outlast.jobs.rent_again import raised_usd

    raised = raised_usd(status.head, status.launch, status.now)
    return f" --max-cost {raised}" if raised is not None else ""


def _says_the_code_alone(status: Status) -> bool:
    from outlast.folder.records import Cause

    last = status.attempts[-1][1].cause if status.attempts else None
    return last is Cause.FAILED and exit_words(status) != ""


def _under_on_demand(status: Status) -> str:
    """`, 71% under on demand`: against the same work without the time that was lost."""
    on_demand, paid = status.cost_usd_on_demand, status.cost_usd
    rented = status.launch.machine.rented
    if rented is None or not rented.spot or not on_demand or not paid:
        return ""
    saved = round((1 - paid / on_demand) * 100)
    return f", {saved}% under on demand" if saved >= 0 else f", {-saved}% above on demand"


def ended_at(status: Status) -> float:
    return status.head.ended_at if status.head.ended_at is not None else status.now
