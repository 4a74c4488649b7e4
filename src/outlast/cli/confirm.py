"""A question before something is removed: asked on a terminal, and answered by `--yes` everywhere else."""

from __future__ import annotations

import sys

from outlast.cli.terminal import say
from outlast.errors import UsageError


def confirmed(question: str, *, yes: bool, state: str = "nothing was removed") -> bool:
    """`question` without its mark. Nobody there to answer and no `--yes`: an error, never a silent yes or no."""
    if yes:
        return True
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise UsageError(
            f"{question}: nobody is here to say yes",
            state=state,
            hint="add `--yes` to the same command",
        )
    sys.stderr.write(f"{question}? [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        say()
    return answer.strip().lower() in ("y", "yes")
