"""Which Python and which packages a job gets: decided, checked, resolved and shipped before anything is started.

Declared for this very job (`--requirements`, `--extras`, the script's own block): always an environment of its own. Declared by files that
merely lie there: where the job's machine is another computer, or where nobody has made an environment here. Nothing declared: the
interpreter's own packages here; on another computer those of them that the script imports.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from outlast.bundle.python import Interpreter, choose_python
from outlast.bundle.report import script_of
from outlast.errors import UsageError
from outlast.host import system
from outlast.jobs.imports import Needed, check_imports, imported
from outlast.spec.plain_file import read_plain
from outlast.spec.progress import OnProgress, silent
from outlast.spec.spec import Environment, Target

if TYPE_CHECKING:  # a job without declared packages does without all of these
    from outlast.bundle.environment.declared import Declared
    from outlast.bundle.environment.interpreter import Facts
    from outlast.bundle.environment.ship import Shelf, Shipped
    from outlast.engines.engine import Capabilities, Engine
    from outlast.folder.home import Home
    from outlast.jobs.asked import Asked
    from outlast.jobs.world import World

SCRIPT_BYTES_MAX = 4 << 20
SCRATCH = ".resolve-"


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

    warnings: tuple[str, ...] = ()


def equip(
    world: World,
    asked: Asked,
    home: Home,
    engine: Engine,
    directory: Path,
    target: Target,
    on_progress: OnProgress = silent,
) -> Equipment:
    """Errors come before anything is written; what was shipped is in the home."""
    interpreter = choose_python(
        Path(asked.directory).absolute(), world.environ, cache=world.cache_dir, asked=asked.python
    )
    needed = imported(directory, target, asked, world.cache_dir)
    declared = _declared(asked, directory, target, engine, interpreter)
    frozen = declared is None and not engine.capabilities.same_machine
    if frozen:
        from outlast.bundle.environment.freeze import freeze

        check_imports(needed, interpreter, world.cache_dir, setup=bool(asked.setup))
        declared = freeze(interpreter.path, needed.modules())
    if declared is None and not asked.setup:
        warnings = check_imports(needed, interpreter, world.cache_dir)
        return Equipment(interpreter, interpreter.path, warnings=warnings)
    return _Equipping(world, asked, home, directory, interpreter, needed, on_progress, engine.capabilities).equip(
        declared, frozen=frozen
    )


def _declared(
    asked: Asked, directory: Path, target: Target, engine: Engine, interpreter: Interpreter
) -> Declared | None:
    around = not engine.capabilities.same_machine or not interpreter.is_environment
    script = directory / script_of(target)
    if not (around or asked.requirements or asked.extras or _has_block(script)):
        return None
    from outlast.bundle.environment.declared import declared_around, declared_explicitly

    explicit = declared_explicitly(directory, script_of(target), asked.requirements, asked.extras)
    if explicit is not None or not around:
        return explicit
    return declared_around(directory)


def _has_block(script: Path) -> bool:
    """Most scripts have none, and need no reader of it."""
    try:
        return b"# /// script" in read_plain(script, SCRIPT_BYTES_MAX)
    except OSError:
        return False


@dataclass(frozen=True)
class _Equipping:
    world: World
    asked: Asked
    home: Home
    directory: Path
    interpreter: Interpreter
    needed: Needed
    on_progress: OnProgress
    capabilities: Capabilities

    def equip(self, declared: Declared | None, *, frozen: bool) -> Equipment:
        from outlast.bundle.environment.declared import Declared
        from outlast.bundle.environment.interpreter import facts_of
        from outlast.bundle.environment.ship import Shelf

        facts = facts_of(self.interpreter.path, self.world.cache_dir)
        here, facts = facts.platform, replace(facts, platform=self.capabilities.platform or facts.platform)
        setup = self._setup()
        # With a setup and nothing declared: a layer of its own above the interpreter's packages, which it leaves alone.
        below = self.interpreter.path if declared is None and self.capabilities.same_machine else ""
        declared = declared or Declared(f"--setup {self.asked.setup}")
        _check_python(declared, self.interpreter.path, facts.version)
        began_at = self.world.clock.monotonic()
        key = _key(declared, facts, setup, below)
        shelf = Shelf(self.home.store)
        shipped = shelf.find(key)
        plain = shelf.find(_key(declared, facts, "", below)) if shipped is None and setup else None
        if shipped is not None:
            warnings = self._check(shipped.manifest.packages_modules(), below)
        elif plain is not None:
            # The same packages with another setup: they need not be resolved again.
            warnings = self._check(plain.manifest.packages_modules(), below)
            shipped = replace(shelf.ship(replace(plain.manifest, setup=setup), {}, key), resolved=False)
        else:
            shipped, warnings = self._resolve(declared, facts, setup, below, key, shelf, here)
        return Equipment(
            self.interpreter,
            facts.base,
            Environment(
                digest=shipped.digest,
                python_version=facts.minor,
                packages=len(shipped.manifest.packages),
                source=declared.source,
                declaration=key,
                paths=declared.paths,
            ),
            resolver=shipped.manifest.resolver if shipped.resolved else "",
            seconds=self.world.clock.monotonic() - began_at,
            packages=tuple(f"{one.name} {one.version}" for one in shipped.manifest.packages),
            frozen=frozen,
            warnings=warnings,
        )

    def _setup(self) -> str:
        if not self.asked.setup:
            return ""
        from outlast.bundle.environment.setup_digest import setup_digest

        return setup_digest(self.directory, self.asked.setup)

    def _resolve(
        self, declared: Declared, facts: Facts, setup: str, below: str, key: str, shelf: Shelf, here: str
    ) -> tuple[Shipped, tuple[str, ...]]:
        from outlast.bundle.environment.record import EnvironmentManifest
        from outlast.bundle.environment.resolve import Wheels, resolve
        from outlast.bundle.environment.ship import package_of

        cache = self.world.cache_dir
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(cache)
        self.on_progress("resolving packages", 0, 0, "packages")
        with TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-", dir=cache) as scratch:
            wheels = (
                resolve(
                    declared,
                    directory=self.directory,
                    python=self.interpreter.path,
                    facts=facts,
                    scratch=Path(scratch),
                    cache=cache,
                    environ=self.world.environ,
                    platform=facts.platform if facts.platform != here else "",
                )
                if declared.lines or declared.files
                else Wheels((), "")
            )
            packages = tuple(package_of(path) for path in wheels.paths)
            manifest = EnvironmentManifest(
                python_version=facts.minor,
                platform=facts.platform,
                packages=tuple(sorted(packages, key=lambda one: one.name)),
                setup=setup,
                below=below,
                source=declared.source,
                resolver=wheels.resolver,
            )
            warnings = self._check(manifest.packages_modules(), below)
            by_name = {path.name: path for path in wheels.paths}
            if setup and by_name:
                shelf.ship(replace(manifest, setup=""), by_name, _key(declared, facts, "", below), self.on_progress)
            return shelf.ship(manifest, by_name, key, self.on_progress), warnings

    def _check(self, modules: frozenset[str], below: str) -> tuple[str, ...]:
        return check_imports(
            self.needed,
            self.interpreter,
            self.world.cache_dir,
            modules=modules,
            installed=bool(below),
            setup=bool(self.asked.setup),
        )


def _sweep(cache: Path) -> None:
    """What commands have left that were killed while they resolved."""
    for path in cache.glob(f"{SCRATCH}*"):
        maker = path.name.removeprefix(SCRATCH).partition("-")[0]
        if maker.isdigit() and not system.start_time(int(maker)):
            shutil.rmtree(path, ignore_errors=True)


def _check_python(declared: Declared, python: str, version: str) -> None:
    from outlast.bundle.environment.versions import allows, lowest

    if not allows(declared.requires_python, version):
        other = lowest(declared.requires_python)
        raise UsageError(
            f"{declared.source} needs Python {declared.requires_python}, and `{python}` is {version}",
            state="nothing was submitted, nothing is being spent",
            hint=f"`--python {other or 'VERSION'}` chooses another one",
        )


def _key(declared: Declared, facts: Facts, setup: str, below: str) -> str:
    parts = ["outlast declaration 1", declared.content, facts.minor, facts.platform, setup or "-", below or "-"]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


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
    )
    if all(getattr(one, name) == getattr(other, name) for name in same):
        return replace(before, resolver="", seconds=0.0)
    return None
