"""An environment of a job's own: found in the home, or resolved and shipped to it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from outlast.bundle.environment.declared import Declared
from outlast.bundle.environment.interpreter import Facts, facts_of
from outlast.bundle.environment.ship import Shelf, Shipped
from outlast.bundle.python import Interpreter
from outlast.dataclass import dataclass, replace
from outlast.engines.engine import Capabilities
from outlast.errors import UsageError
from outlast.folder.home import Home
from outlast.host import system
from outlast.jobs.asked import Asked
from outlast.jobs.environment import Equipment
from outlast.jobs.imports import Needed, check_imports
from outlast.jobs.world import World
from outlast.spec.progress import OnProgress
from outlast.spec.spec import Environment

SCRATCH = ".resolve-"


@dataclass(frozen=True)
class Equipping:
    world: World
    asked: Asked
    home: Home
    directory: Path
    interpreter: Interpreter
    needed: Needed
    on_progress: OnProgress
    capabilities: Capabilities

    def equip(self, declared: Declared | None, *, frozen: bool) -> Equipment:
        facts = facts_of(self.interpreter.path, self.world.cache_dir, _load_resolver)
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
            warnings=(*warnings, *self._compiled(shipped)),
        )

    def _compiled(self, shipped: Shipped) -> tuple[str, ...]:
        """What had no wheel fits this computer, and not by itself the machine."""
        if self.capabilities.same_machine:
            return ()
        names = ", ".join(f"`{one.name} {one.version}`" for one in shipped.manifest.packages if "-linux_" in one.wheel)
        return (
            (f"without a wheel, and compiled here: {names}; machines need a C library as new as this computer's",)
            if names
            else ()
        )

    def _setup(self) -> str:
        if not self.asked.setup:
            return ""
        from outlast.bundle.environment.setup_digest import setup_digest

        return setup_digest(self.directory, self.asked.setup)

    def _resolve(
        self, declared: Declared, facts: Facts, setup: str, below: str, key: str, shelf: Shelf, here: str
    ) -> tuple[Shipped, tuple[str, ...]]:
        from tempfile import TemporaryDirectory

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

    def _has_more(self) -> bool:
        """Whether the image that it is installed into may have packages of its own."""
        return self.capabilities.contained and self.asked.container.brings_packages

    def _check(self, modules: frozenset[str], below: str) -> tuple[str, ...]:
        return check_imports(
            self.needed,
            self.interpreter,
            self.world.cache_dir,
            modules=modules,
            installed=bool(below),
            setup=bool(self.asked.setup) or self._has_more(),
        )


def _load_resolver() -> None:
    """Who does not know the interpreter yet has most likely not resolved anything for it either."""
    from outlast.bundle.environment import resolve, versions

    assert resolve, versions


def _sweep(cache: Path) -> None:
    """What commands have left that were killed while they resolved."""
    for path in cache.glob(f"{SCRATCH}*"):
        maker = path.name.removeprefix(SCRATCH).partition("-")[0]
        if maker.isdigit() and not system.start_time(int(maker)):
            import shutil

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
