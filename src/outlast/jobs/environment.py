"""Which Python and which packages a job gets: decided, checked, resolved and shipped before anything is started.

Declared for this very job (`--requirements`, `--extras`, the script's own block): always an environment of its own. Declared by files that
merely lie there: where the job's machine is another computer, or where nobody has made an environment here. Nothing declared: the
interpreter's own packages here; on another computer those of them that the script imports. Where the machine's image has an environment,
that one, unless something is declared for this very job.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from outlast.bundle.python import Interpreter, choose_python
from outlast.bundle.report import script_of
from outlast.dataclass import dataclass, replace
from outlast.jobs.imports import check_imports, imported
from outlast.jobs.study import with_study
from outlast.spec.plain_file import read_plain
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Environment, Spec, Target

if TYPE_CHECKING:  # a job without declared packages does without all of these
    from outlast.bundle.environment.declared import Declared
    from outlast.engines.engine import Engine
    from outlast.folder.home import Home
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World

SCRIPT_BYTES_MAX = 4 << 20


@dataclass(frozen=True)
class Equipment:
    interpreter: Interpreter
    python: str
    """What the spec names: the interpreter itself, or the one that the environment is made of."""

    environment: Environment | None = None
    resolver: str = ""
    """What has just resolved it; empty: the home had it."""

    seconds: float = 0.0
    packages: tuple[str, ...] = ()
    """`name version`, for people."""

    frozen: bool = False
    """Nothing was declared: the packages were taken from what is installed here, and are to be shown."""

    elsewhere: bool = False
    """Its machine is another one, whose own Python runs it: it needs no package."""

    warnings: tuple[str, ...] = ()


def equip(
    world: World,
    asked: Asked,
    home: Home,
    engine: Engine,
    directory: Path,
    target: Target,
    on_progress: OnProgress = silent,
    *,
    image_python: str = "",
) -> Equipment:
    """Errors come before anything is written; what was shipped is in the home. `image_python`: the version in the machine's image."""
    if asked.equipped_like is not None:
        return as_trained(asked.equipped_like)
    if image_python and not (asked.python or asked.setup or _is_explicit(asked, directory, target)):
        return _of_image(image_python)
    interpreter = choose_python(
        Path(asked.directory).absolute(), world.environ, cache=world.cache_dir, asked=asked.python
    )
    needed = imported(directory, target, asked, world.cache_dir)
    declared = _declared(asked, directory, target, engine, interpreter)
    frozen = declared is None and not engine.capabilities.same_machine
    if frozen and engine.capabilities.contained and asked.container.brings_packages:
        return Equipment(interpreter, interpreter.path, elsewhere=True)
    if frozen:
        from outlast.bundle.environment.freeze import freeze

        check_imports(needed, interpreter, world.cache_dir, setup=bool(asked.setup))
        declared = freeze(interpreter.path, needed.modules())
        if declared is None and asked.python:
            from outlast.bundle.environment.declared import Declared

            declared = Declared(f"--python {asked.python}")  # no packages, and still that version and no other
    declared = with_study(declared, asked.cells, interpreter, world, same_machine=engine.capabilities.same_machine)
    if declared is None and not asked.setup:
        warnings = check_imports(needed, interpreter, world.cache_dir)
        return Equipment(interpreter, interpreter.path, elsewhere=frozen, warnings=warnings)
    from outlast.jobs.equipping import Equipping

    return Equipping(world, asked, home, directory, interpreter, needed, on_progress, engine.capabilities).equip(
        declared, frozen=frozen
    )


def as_trained(of: Spec) -> Equipment:
    """The Python and the packages of that job, which are in the home."""
    return Equipment(Interpreter(of.python, "as it trained", of.provenance.python_version), of.python, of.environment)


def _of_image(version: str) -> Equipment:
    """Nothing of this computer is looked at: what the image has, its machines know."""
    from outlast.engines.compute.told import ENVIRONMENT_PYTHON

    return Equipment(Interpreter(ENVIRONMENT_PYTHON, "the image's environment", version), ENVIRONMENT_PYTHON)


def _is_explicit(asked: Asked, directory: Path, target: Target) -> bool:
    return bool(asked.requirements or asked.extras) or _has_block(directory / script_of(target))


def _declared(
    asked: Asked, directory: Path, target: Target, engine: Engine, interpreter: Interpreter
) -> Declared | None:
    around = not engine.capabilities.same_machine or not interpreter.is_environment
    if not (around or _is_explicit(asked, directory, target)):
        return None
    from outlast.bundle.environment.declared import declared_around, declared_explicitly

    variant = _variant(asked) if engine.capabilities.contained else ""
    explicit = declared_explicitly(directory, script_of(target), asked.requirements, asked.extras, variant)
    if explicit is not None or not around:
        return explicit
    return declared_around(directory, variant)


def _variant(asked: Asked) -> str:
    """Of the image: a project's extra that is called so belongs to it."""
    from outlast.spec.machine import parse_gpus

    return asked.container.variant or ("gpu" if parse_gpus(str(asked.gpus))[0] else "cpu")


def _has_block(script: Path) -> bool:
    """Most scripts have none, and need no reader of it."""
    try:
        return b"# /// script" in read_plain(script, SCRIPT_BYTES_MAX)
    except OSError:
        return False


def equipment_like(before: Equipment, one: Asked, other: Asked) -> Equipment | None:
    """What was put together for one request, if it serves another one too."""
    same = (
        "target",
        "directory",
        "extra_dirs",
        "requirements",
        "extras",
        "setup",
        "python",
        "home",
        "on",
        "env",
        "git",
        "container",
        "image",
        "shell",
        "equipped_like",
    )
    if all(getattr(one, name) == getattr(other, name) for name in same):
        return replace(before, resolver="", seconds=0.0)
    return None
