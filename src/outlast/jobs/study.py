"""A search that learns, and cells that end early, need Optuna: in the job's environment where it has one, else in a Python that is here."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import TYPE_CHECKING

from outlast.errors import UsageError
from outlast.pattern import pattern
from outlast.spec.plain_file import read_plain
from outlast.spec.spec import Sweep

if TYPE_CHECKING:
    from pathlib import Path

    from outlast.bundle.environment.declared import Declared
    from outlast.bundle.python import Interpreter
    from outlast.jobs.world import World

MODULE = "optuna"
REQUIREMENT = "optuna>=3"
"""As `outlast[search]` in pyproject.toml."""

FILE_BYTES_MAX = 4 << 20
_NAMED = pattern(rb"^\s*optuna(?![\w.-])", re.MULTILINE | re.IGNORECASE)


def check_study(sweep: Sweep) -> None:
    """What a search and early stopping need to be told."""
    if not sweep.learns:
        return
    option = option_of(sweep)
    if not sweep.metric:
        raise UsageError(
            f"`{option}` goes by a metric that the script logs, and none was named",
            state="nothing was submitted, nothing is being spent",
            hint="`--metric loss`, as in `outlast.log(loss=...)`; `--goal min|max` where its name does not tell",
        )


def option_of(sweep: Sweep) -> str:
    return "--search tpe" if sweep.search == "tpe" else f"--early {sweep.early}"


def with_study(
    declared: Declared | None, sweep: Sweep | None, interpreter: Interpreter, world: World, *, same_machine: bool
) -> Declared | None:
    """What is declared, with Optuna where it is needed. UsageError where it has no place to be put and is not there."""
    if sweep is None or not sweep.learns:
        return declared
    from outlast.bundle.environment.declared import Declared, with_line

    if declared is not None:
        return declared if _names(declared) else with_line(declared, REQUIREMENT, option_of(sweep))
    if not same_machine:
        return with_line(Declared(""), REQUIREMENT, option_of(sweep))
    _check_here(sweep, interpreter, world)
    return None


def _names(declared: Declared) -> bool:
    """Whether it is asked for already, in whatever version."""
    lines = [line.encode(errors="surrogateescape") for line in declared.lines]
    return any(_NAMED.search(text) for text in (*lines, *map(_content, declared.files)))


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, FILE_BYTES_MAX)
    except OSError:
        return b""  # the resolver says what is wrong with it


def check_beside(sweep: Sweep | None) -> None:
    """Where a trainer runs in a container its agent is beside it, and has outlast's own Python."""
    if sweep is not None and sweep.learns and importlib.util.find_spec(MODULE) is None:
        raise UsageError(
            f"`{option_of(sweep)}` with `--container` needs Optuna beside the container, and `{sys.executable}` has none",
            state="nothing was submitted, nothing is being spent",
            hint=f"`{sys.executable} -m pip install optuna`",
        )


def _check_here(sweep: Sweep, interpreter: Interpreter, world: World) -> None:
    """As a machine of this computer looks for it."""
    if importlib.util.find_spec(MODULE) is not None:
        return
    from outlast.bundle.environment.interpreter import facts_of
    from outlast.bundle.environment.provided import provides

    facts = facts_of(interpreter.path, world.cache_dir)
    if provides(interpreter.path, facts, {MODULE}, world.cache_dir):
        return
    raise UsageError(
        f"`{option_of(sweep)}` needs Optuna, which neither `{interpreter.path}` ({interpreter.why}) nor outlast's own Python has",
        state="nothing was submitted, nothing is being spent",
        hint=f"`{interpreter.path} -m pip install optuna`, or install outlast with it: `pip install 'outlast[search]'`",
    )
