"""What the tests of drills ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from outlast.jobs.asked import Asked

SCRIPTS = Path(__file__).parent / "scripts"
EXAMPLES = Path(__file__).parents[2] / "examples"


def asked_for(script: Path, *, args: tuple[str, ...] = (), env: Mapping[str, str] | None = None) -> Asked:
    return Asked(target=script.name, directory=str(script.parent), args=args, env=dict(env or {}))


def unmodified(script: Path, *, args: tuple[str, ...] = (), resume_args: tuple[str, ...] = ()) -> Asked:
    """A script that keeps its own checkpoints and takes an argument to resume."""
    return Asked(
        target=script.name,
        directory=str(script.parent),
        args=args,
        checkpoint_dir="checkpoints",
        output_dir="results",
        resume_args=resume_args,
    )
