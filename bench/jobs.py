"""How much a job costs beside its script: one at a time, a thousand at once, and how soon a line is seen."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import (
    Row,
    clean_environment,
    command,
    excess_cpu_row,
    excess_row,
    interleaved,
    limit_row,
    milliseconds,
    wall,
)

MANY = 1000
PYTHON = sys.executable
OUTLAST = str(Path(sys.executable).with_name("outlast"))

SUBMIT_MANY = """
import sys, outlast
from outlast.jobs.asked import Asked
jobs = outlast.submit_many(Asked(target="empty.py") for _ in range(int(sys.argv[1])))
for job in jobs:
    assert job.wait().state == "succeeded", job
"""

LINES = """
import sys, time
for number in range(10):
    print(repr(time.time()), flush=True)
    time.sleep(0.7)
"""


def rows(scratch: Path) -> Iterator[Row]:
    environment = clean_environment(scratch)
    work = scratch / "work"
    work.mkdir()
    (work / "empty.py").write_text("")
    medians = interleaved(
        {
            "bare": wall(command([PYTHON, "empty.py"], cwd=work, env=environment)),
            "run": wall(command([OUTLAST, "run", "empty.py"], cwd=work, env=environment)),
        }
    )
    yield excess_row("`outlast run` of an empty script", medians["run"], medians["bare"], "`python script.py`", 0.300)
    yield from _many(work, environment)
    yield _line(work, environment)


def _many(work: Path, environment: dict[str, str]) -> Iterator[Row]:
    """CPU time of everything that ran, supervisor and machines included."""
    # A user directory of its own: a supervisor that is there already would not be counted.
    environment = {
        **environment,
        "OUTLAST_SUPERVISOR_IDLE_SECONDS": "1",
        "OUTLAST_DIR": str(work.parent / "many"),
    }
    (work / "many.py").write_text(SUBMIT_MANY)
    yield excess_cpu_row(
        f"{MANY:,} empty jobs by `submit_many`, CPU per job", [PYTHON, "many.py", str(MANY)], MANY, work, environment
    )


def _line(work: Path, environment: dict[str, str]) -> Row:
    """The trainer prints the time; how old is it when `logs -f` prints it?"""
    (work / "lines.py").write_text(LINES)
    command([OUTLAST, "run", "--detach", "--job-id", "lines", "lines.py"], cwd=work, env=environment)()
    ages: list[float] = []
    with subprocess.Popen([OUTLAST, "logs", "-f", "lines"], cwd=work, env=environment, stdout=subprocess.PIPE) as logs:
        assert logs.stdout is not None
        for line in logs.stdout:
            ages.append(time.time() - float(line))
    # What was printed before anybody watched is not counted.
    return limit_row("trainer's line to `outlast logs -f`", sorted(ages[2:])[len(ages[2:]) // 2], 0.5, milliseconds)
