"""Which Python the trainer is started with: the one that the spec names, or that of the job's environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass


@dataclass(frozen=True)
class Interpreter:
    python: str
    env: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    """Directories of the bundle that are on the trainer's path."""
