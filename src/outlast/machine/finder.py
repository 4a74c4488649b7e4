"""Finds, or makes, the environment that a job's trainer is started in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.dataclass import dataclass
from outlast.errors import NotFound
from outlast.folder.records import LaunchRecord
from outlast.host.machine_dir import MachineDir
from outlast.machine.environment import Wanted, environment_of, find_base, variables
from outlast.machine.interpreter import Interpreter
from outlast.spec.spec import Spec
from outlast.store.store import Store


@dataclass(frozen=True)
class Finder:
    store: Store
    spec: Spec
    launch: LaunchRecord
    paths: MachineDir
    cache: Path
    say: Callable[[str], None]

    def find(self) -> Interpreter:
        environment = self.spec.environment
        assert environment is not None
        inherited = {**self.paths.read_assignment().environ, **self.spec.env}
        path = inherited.get("PATH", os.defpath)
        base = self._base(environment.python_version, path, inherited)
        wanted = Wanted(environment.digest, environment.python_version, base)
        prepare = (lambda root: self._set_up(root, inherited)) if self.spec.setup else None
        root = environment_of(self.store, wanted, self.cache, prepare)
        own = tuple(f"{self.paths.work}/{one}" for one in environment.paths if ".." not in Path(one).parts)
        return Interpreter(str(root / "bin" / "python"), variables(root, path), own)

    def _base(self, version: str, path: str, inherited: Mapping[str, str]) -> str:
        """On a rented machine that has no such Python one is fetched: its image was not chosen for it."""
        try:
            return find_base(self.spec.python, version, path)
        except NotFound:
            if self.spec.machine.rented is None:
                raise
        from outlast.machine.fetch_python import fetch_python

        self.say(f"this machine's image has no python{version}: one is fetched")
        return fetch_python(version, self.cache, {**os.environ, **inherited}, SYSTEM)

    def _set_up(self, root: Path, inherited: Mapping[str, str]) -> None:
        from outlast.machine.setup import Setup

        python = str(root / "bin" / "python")
        env = {**inherited, **variables(root, inherited.get("PATH", os.defpath)), "PIP_PYTHON": python}
        env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
        work = Path(tempfile.mkdtemp(prefix=".setup-", dir=root))
        try:
            unpack(self.store, self.launch.bundle, work)
            Setup(self.spec.setup, work, env, self.say, SYSTEM).run(root)
        finally:
            shutil.rmtree(work, ignore_errors=True)
