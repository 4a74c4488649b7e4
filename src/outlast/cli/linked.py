"""What `show` says about the jobs that evaluate a job, and about who was told of its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from outlast.cli.table import render
from outlast.cli.terminal import paint, put, shown, width

if TYPE_CHECKING:
    from outlast.jobs.evaluations import Evaluated
    from outlast.jobs.job import Job
    from outlast.spec.spec import Spec


def linked_document(job: Job) -> dict[str, Any]:
    from outlast.jobs.evaluations import list_evaluations
    from outlast.jobs.notify import list_notifications

    return {
        "evaluations": [one.document() for one in list_evaluations(job)],
        "notifications": list_notifications(job),
    }


def print_linked(job: Job) -> None:
    from outlast.jobs.evaluations import list_evaluations

    rows = [
        [one.job, "" if one.step is None else f"{one.step:,}", shown(one.split), words_of(one)]
        for one in list_evaluations(job)
    ]
    if rows:
        put("")
        first, *lines = render(("EVALUATION", "STEP", "SPLIT", "RESULT"), rows, width=width(sys.stdout), right=(1,))
        put(paint(first, "bold", sys.stdout))
        for line in lines:
            put(line)
    print_notifications(job)


def print_notifications(job: Job) -> None:
    from outlast.jobs.notify import list_notifications

    found = list_notifications(job)
    if found:
        put("")
    for one in found:
        if one["told"] is None:
            put(f"{one['event']}: whether somebody was told is not known")
        for told in one["told"] or ():
            problem = f", in vain: {shown(told['problem'])}" if told["problem"] else ""
            put(f"{one['event']}: told {shown(told['to'])}{problem}")


def evaluates(spec: Spec) -> str:
    of = spec.evaluation
    if of is None:
        return ""
    step = "its outputs" if of.step is None else f"step {of.step:,}"
    return f"job `{of.job}` at {step}{f', split {shown(of.split)}' if of.split else ''}"


def words_of(found: Evaluated) -> str:
    """`accuracy 0.91, loss 0.2`, or what has become of it."""
    if found.state != "succeeded":
        return f"{found.state} (`outlast logs {found.job}`)"
    return ", ".join(f"{shown(name)} {value:g}" for name, value in sorted(found.metrics.items())) or "no metrics"
