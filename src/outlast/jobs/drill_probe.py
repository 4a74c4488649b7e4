"""How many steps fit into the time that a drill may take."""

from __future__ import annotations

from outlast.errors import OutlastError, UsageError
from outlast.jobs.drill_plan import SAVES_PER_KILL, Plan
from outlast.jobs.drill_runner import Runner
from outlast.jobs.drill_story import Story

PROBE_STEPS = 8
PROBE_GROWTH = 4
PROBE_SHARE = 0.08
"""A probe that took this share of the time is long enough to judge by."""

DRILL_LENGTHS = 3.5
"""Reference, killed training with its repeated steps and restarts, and the probes: so many times one training."""


def choose_steps(runner: Runner, seconds: float, kills: int) -> int | None:
    """None: the whole training is short enough."""
    if seconds <= 0:
        raise UsageError(f"`--for {seconds:.0f}s` leaves no time to drill")
    runner.report(f"Looking how many steps fit into {seconds:.0f} s")
    steps = PROBE_STEPS
    before: tuple[int, float] | None = None
    while True:
        story = runner.run(Plan(), steps)
        made = _steps(story)
        if made < steps:
            return None
        if story.seconds >= PROBE_SHARE * seconds:
            chosen = _fit(before, (steps, story.seconds), seconds / DRILL_LENGTHS)
            runner.report(f"  {chosen:,} steps")
            return max(chosen, SAVES_PER_KILL * (kills + 1))
        before = (steps, story.seconds)
        steps *= PROBE_GROWTH


def _steps(story: Story) -> int:
    if not story.succeeded:
        raise OutlastError(
            f"the script itself {story.head.state.value}, without any kill: {story.head.reason}",
            hint=f"`outlast logs {story.job.folder_url}` shows what it said",
        )
    last = story.head.checkpoints[-1] if story.head.checkpoints else None
    if last is None or not last.complete:
        raise UsageError(
            "`--for` caps `outlast.steps` and `outlast.batches` from outside, and this script has no such loop",
            hint="leave `--for` out, and give the script fewer steps in its own arguments behind `--`",
        )
    return last.step


def _fit(before: tuple[int, float] | None, now: tuple[int, float], seconds: float) -> int:
    """Steps that take `seconds`, from two measurements, so that the time to start does not count as steps."""
    steps, took = now
    if before is None or took <= before[1]:
        return max(1, int(steps * seconds / took))
    each = (took - before[1]) / (steps - before[0])
    starting = max(0.0, took - each * steps)
    return max(1, int((seconds - starting) / each))
