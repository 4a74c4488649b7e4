"""A question to somebody's interpreter, answered in JSON; and answers kept for the next time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outlast.spec.plain_file import read_plain

ASK_SECONDS_MAX = 120.0
ANSWER_BYTES_MAX = 4 << 20
KEPT_VARIABLES = ("HOME", "PATH", "LD_LIBRARY_PATH", "LANG")
"""What an interpreter needs to start; nothing that tells it where else to look for modules."""

ASK_ERRORS = (OSError, subprocess.SubprocessError, ValueError)


def ask(python: str, question: str, words: Sequence[str] = ()) -> Any:
    """What the program printed. One of `ASK_ERRORS` if it does not run, does not end, or prints something else."""
    done = subprocess.run(
        [python, "-c", question, *words],
        cwd="/",
        env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ASK_SECONDS_MAX,
        check=True,
    )
    return json.loads(done.stdout)


def recall(path: Path) -> Any:
    """None: nothing is kept, or nothing that can be read."""
    try:
        return json.loads(read_plain(path, ANSWER_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return None


def keep(path: Path, answer: object) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(answer))
        temporary.replace(path)
    except OSError:
        pass  # asked again next time
