"""An example that is started by hand, without a job: what it says, and what it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.examples.places import EXAMPLES

SECONDS_MAX = 600.0


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run_example(name: str, *args: str, cwd: Path, **changes: str) -> Ran:
    """`python train.py ARGS` in a scratch directory."""
    script = EXAMPLES / name / "train.py"
    ended = subprocess.run(
        [sys.executable, str(script), *args],
        cwd=cwd,
        env={**os.environ, **changes},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def value(printed: str, name: str) -> str:
    """Of the last line `name: value`."""
    lines = [line for line in printed.splitlines() if line.startswith(f"{name}: ")]
    assert lines, f"no line `{name}: ...` in:\n{printed}"
    return lines[-1].partition(": ")[2]
