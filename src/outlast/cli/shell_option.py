"""`outlast run --shell`: a machine to work on, instead of a target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outlast.cli.words import duration
from outlast.errors import UsageError

if TYPE_CHECKING:
    from outlast.jobs.asked import Asked
    from outlast.spec.spec import Spec

LINGER_SECONDS = 1800.0
MAX_RUN_SECONDS = 12 * 3600.0
"""If not said: somebody who forgets it does not pay for a week."""


def check_target(target: str | None, args: tuple[str, ...], *, shell: bool) -> None:
    """One of both, and not both."""
    if not shell and target is None:
        raise UsageError(
            "missing argument 'TARGET'", hint="`outlast run --help`; without one, `--shell` is a machine to work on"
        )
    if shell and (target is not None or args):
        word = target if target is not None else args[0]
        raise UsageError(
            f"`--shell` runs nothing, and `{word}` is given",
            hint="leave one of them out; on the machine, `outlast ssh JOB -- COMMAND` runs it",
        )


def as_shell(asked: Asked, settings: Any) -> Asked:
    """`--linger` is how long the machine waits for somebody, on every engine; it does not linger after that too."""
    waits_seconds = asked.linger_seconds or LINGER_SECONDS
    return replace(  # noqa: S604  a field of ours
        asked,
        shell=True,
        args=(f"{waits_seconds:g}",),
        linger_seconds=0.0,
        said=tuple(word for word in asked.said if word != "--linger"),
        max_run_seconds=MAX_RUN_SECONDS if settings.source("max-run") == "default" else asked.max_run_seconds,
    )


def way_in_words(spec: Spec) -> str:
    waits = duration(float(spec.args[0]))
    return f"`outlast ssh {spec.job}` enters it once it runs; it ends when nobody has been there for {waits}"
