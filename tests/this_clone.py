"""What is tested is the source beside the tests: asked once per run, of this process and of the programs that it will start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import outlast

SOURCE = Path(__file__).resolve().parent.parent / "src" / "outlast"
ASKS = "import importlib.util; print(importlib.util.find_spec('outlast').origin)"


def check() -> None:
    """A command that a test types (`User.outlast`) is found as the environment has it, whatever PYTHONPATH says: another clone's, if
    that environment is another clone's."""
    asked = subprocess.run(
        [sys.executable, "-I", "-c", ASKS],  # without PYTHONPATH, like a command of a user
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    for who, found in (("this process", str(outlast.__file__)), (f"`{sys.executable}`", asked.stdout.strip())):
        if Path(found).resolve().parent != SOURCE:
            raise pytest.UsageError(
                f"these tests are of `{SOURCE}`, and {who} has `{found or 'no outlast'}`: run them by this clone's own `.venv/bin/python`"
            )
