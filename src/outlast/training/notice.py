"""The notice: this machine is going to be taken away, or the job is to stop."""

from __future__ import annotations

import json
import math
from os import stat
from pathlib import Path

from outlast.clock import SYSTEM, Clock
from outlast.training import context
from outlast.training.fielded import fielded


@fielded(frozen=True)
class Notice:
    reason: str
    leave_by_monotonic: float

    def seconds_left(self, clock: Clock = SYSTEM) -> float:
        return max(0.0, self.leave_by_monotonic - clock.monotonic())


def read_notice(run_dir: Path | None) -> Notice | None:
    """Cheap while there is none: one `stat`. A notice that cannot be read still is one, without time left."""
    if run_dir is None:
        return None
    path = f"{run_dir}/notice.json"
    try:
        stat(path)
    except OSError:
        return None
    try:
        with open(path, "rb") as file:
            record = json.load(file)
        return Notice(str(record["reason"]), float(record["leave_by_monotonic"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Notice("preempted", 0.0)


def should_stop() -> bool:
    """Whether this script has been told to leave. A script that asks is left to leave by itself while there is time."""
    return _look() is not None


def seconds_left() -> float:
    """Seconds until this machine is taken away; infinite while nobody has said so."""
    notice = _look()
    return math.inf if notice is None else notice.seconds_left()


def _look() -> Notice | None:
    here = context.current()
    if here.run_dir is not None and not here.active and not context.in_worker_process():
        here.mark_loop(True)
    return read_notice(here.run_dir)
