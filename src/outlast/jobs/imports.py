"""Imports that nothing provides are found before anything is started, let alone paid for."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.bundle.environment.reach import Outside, Reach, Reached
from outlast.bundle.report import script_of
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.spec.spec import Target, TargetKind

if TYPE_CHECKING:
    from outlast.bundle.python import Interpreter
    from outlast.jobs.asked import Asked

OURS = frozenset({"outlast", "__main__", "__future__"})
TOLD_MAX = 5
COMPILED = (".so", ".pyd", ".pyc", ".pyx")
LOOKED_AT_MAX = 5000
"""A directory with more files holds data, not modules."""


@dataclass(frozen=True)
class Needed:
    """What the target imports from outside of its bundle."""

    directory: Path
    reached: Reached
    own: frozenset[str] = frozenset()
    """Directories that lie beside the script by `--dir` and `--link`."""

    def modules(self) -> set[str]:
        return {one.module for one in self.reached.outside} - OURS - self.own


def imported(directory: Path, target: Target, asked: Asked, cache: Path) -> Needed:
    """Nothing of a shell script, and of a machine to work on: nobody knows what they start."""
    if target.kind is TargetKind.SHELL or asked.shell:
        return Needed(directory, Reached((), (), moves_path=False))
    start = directory / script_of(target)
    if target.kind is TargetKind.MODULE and not start.is_file():
        start = directory.joinpath(*target.value.split("."), "__main__.py")
    first = start.parent if target.kind is TargetKind.SCRIPT else directory
    roots = [first, *_own_roots(directory, asked)]
    beside = frozenset(Path(one).name for one in (*asked.extra_dirs, *asked.links))
    return Needed(directory, Reach(directory, roots, cache).from_file(start), beside)


def _own_roots(directory: Path, asked: Asked) -> list[Path]:
    """What of the bundle is on the path beside the script's own directory."""
    given = [Path(one) for one in asked.env.get("PYTHONPATH", "").split(os.pathsep) if one]
    roots = [directory / one for one in given]
    if asked.extras or (directory / "pyproject.toml").is_file():
        roots += [one for one in (directory / "src",) if one.is_dir()]
    return roots


def check_imports(
    needed: Needed,
    interpreter: Interpreter,
    cache: Path,
    *,
    modules: frozenset[str] = frozenset(),
    installed: bool = True,
    setup: bool = False,
) -> tuple[str, ...]:
    """Warnings. UsageError for what surely fails: neither the bundle, nor `modules`, nor, if `installed` counts, the interpreter has it."""
    wanted = needed.modules() - modules
    if not wanted:
        return ()
    from outlast.bundle.environment.imports import Surely
    from outlast.bundle.environment.interpreter import facts_of
    from outlast.bundle.environment.provided import provides

    facts = facts_of(interpreter.path, cache)
    found = provides(interpreter.path, facts, wanted, cache) if installed else wanted & set(facts.stdlib)
    missing = [one for one in needed.reached.outside if one.module in wanted - found and one.surely < Surely.GUARDED]
    missing = [one for one in missing if not _lies_somewhere(needed, one)]
    certain = [one for one in missing if one.surely is Surely.YES]
    if certain and not needed.reached.moves_path and not setup:
        raise _refused(certain, interpreter, installed=installed)
    return tuple(f"`{one.path}` line {one.line} imports `{one.dotted}`, which nothing provides" for one in missing)


def _lies_somewhere(needed: Needed, one: Outside) -> bool:
    """In a directory that the script may put on its path by itself."""
    folder = needed.directory
    near = [folder, *(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))]
    return any(_has(place, one.module) for place in near)


def _has(place: Path, module: str) -> bool:
    """As source, as a package, or compiled."""
    if (place / f"{module}.py").is_file() or (place / module / "__init__.py").is_file():
        return True
    try:
        with os.scandir(place) as entries:
            seen = islice(entries, LOOKED_AT_MAX)
            return any(entry.name.startswith(f"{module}.") and entry.name.endswith(COMPILED) for entry in seen)
    except OSError:
        return False


def _refused(missing: list[Outside], interpreter: Interpreter, *, installed: bool) -> UsageError:
    from outlast.bundle.environment.provided import likely_package

    told = [f"`{one.path}` line {one.line} imports `{one.dotted}`" for one in missing[:TOLD_MAX]]
    more = f", and {len(missing) - TOLD_MAX} more" if len(missing) > TOLD_MAX else ""
    packages = " ".join(dict.fromkeys(likely_package(one.module, one.dotted) for one in missing[:TOLD_MAX]))
    where = (
        f"neither the bundle nor `{interpreter.path}` ({interpreter.why}) provides"
        if installed
        else "nothing that is declared provides"
    )
    hint = (
        f"`{interpreter.path} -m pip install {packages}`, or list them in a file: `--requirements requirements.txt`"
        if installed
        else f"add what provides it to what is declared, probably `{packages}`"
    )
    return UsageError(
        f"{'; '.join(told)}{more}: {where} {'it' if len(missing) == 1 else 'them'}",
        state="nothing was submitted, nothing is being spent",
        hint=hint,
    )
