"""A question to somebody's interpreter, answered in JSON; and answers kept for the next time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from outlast.spec.plain_file import read_plain

ASK_SECONDS_MAX = 120.0
ANSWER_BYTES_MAX = 4 << 20
KEPT_VARIABLES = ("HOME", "PATH", "LD_LIBRARY_PATH", "LANG")
"""What an interpreter needs to start; nothing that tells it where else to look for modules."""

ASK_ERRORS = (OSError, ValueError)


def ask(python: str, question: str, words: Sequence[str] = (), meanwhile: Callable[[], None] = lambda: None) -> Any:
    """What the program printed. One of `ASK_ERRORS` if it does not run, does not end, or prints something else.

    `meanwhile` is called once, while it thinks.
    """
    import subprocess  # what was asked once needs none

    with subprocess.Popen(
        [python, "-c", question, *words],
        cwd="/",
        env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as asked:
        try:
            meanwhile()
            out, err = asked.communicate(timeout=ASK_SECONDS_MAX)
        except subprocess.TimeoutExpired as error:
            asked.kill()
            raise ValueError(str(error)) from error
        except BaseException:
            asked.kill()
            raise
    if asked.returncode:
        raise ValueError(str(subprocess.CalledProcessError(asked.returncode, asked.args, out, err)))
    return json.loads(out)


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
