"""What a machine puts in place before the trainer starts: code, environment, data, configuration, secrets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.dataclass import dataclass
from outlast.engines.compute.told import ENVIRONMENT, ENVIRONMENT_PYTHON
from outlast.errors import NotFound
from outlast.folder.records import LaunchRecord
from outlast.host import image_places
from outlast.host.machine_dir import MachineDir
from outlast.machine.config import write_config
from outlast.machine.datasets import Datasets
from outlast.machine.edit import edit
from outlast.machine.environment import variables
from outlast.machine.image import furnish_from_image, interpreter_of_image
from outlast.machine.interpreter import Interpreter
from outlast.machine.links import place_links
from outlast.machine.secrets import bring
from outlast.machine.trained import TRAINED, furnish_trained
from outlast.spec.spec import Spec
from outlast.store.registry import open_store
from outlast.store.store import Store

Say = Callable[[str], None]
"""One line into the job's log."""


@dataclass(frozen=True)
class Furnished:
    """What the trainer is started with, beside what its attempt says."""

    python: str
    env: Mapping[str, str] = field(default_factory=dict)
    """Ours: stronger than the user's own variables."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    """Variables whose values are masked in the log."""

    paths: tuple[str, ...] = ()
    """What else is on the trainer's PYTHONPATH, before the user's own."""


@dataclass(frozen=True)
class Furnisher:
    """Anew for every attempt, and the same each time: all of it is named by the spec and the launch."""

    store: Store
    spec: Spec
    launch: LaunchRecord
    paths: MachineDir
    user_dir: Path

    def furnish(self, bundle: str, say: Say) -> Furnished:
        """Fills `work`, which is empty. Errors are the job's end: `OutlastError`, but those of a store that is away."""
        if not furnish_from_image(bundle, self.paths.work):
            unpack(self.store, bundle, self.paths.work)
        place_links(self.spec.links, self.paths.work)
        inputs = self._inputs(say)
        found = self.interpreter(say)
        inputs = {**inputs, **furnish_trained(self.store, self.spec, f"{self.paths.run}/{TRAINED}")}
        return Furnished(found.python, env={**found.env, **inputs}, paths=found.paths, secrets=self._secrets())

    def interpreter(self, say: Say) -> Interpreter:
        if (found := interpreter_of_image(self.spec, self.paths.work, self._path)) is not None:
            return found
        if self.spec.container is not None:
            return self._in_container()
        if self.spec.environment is None:
            return self._own_python()
        from outlast.machine.finder import Finder  # a job without an environment does without the reader of wheels

        return Finder(self.store, self.spec, self.launch, self.paths, self.user_dir / "cache", say).find()

    def edit(self, before: str, after: str, say: Say) -> None:
        edit(self.store, before, after, Path(self.paths.work), say)

    def _in_container(self) -> Interpreter:
        """The image has its packages; the code is the machine's own copy, as everywhere."""
        from outlast.machine.container_command import PYTHON

        own = self.spec.environment.paths if self.spec.environment is not None else ()
        paths = [f"{self.paths.work}/{one}" for one in own if ".." not in Path(one).parts]
        return Interpreter(PYTHON, paths=(*paths, image_places.SITE))

    def _own_python(self) -> Interpreter:
        """The one that the spec names, if it is here; a job that needs no packages makes do with this machine's."""
        there = os.access(self.spec.python, os.X_OK)
        if self.spec.python != ENVIRONMENT_PYTHON:
            return Interpreter(self.spec.python if there else sys.executable)
        if not there:
            raise NotFound(f"this machine's image has no environment: there is no `{ENVIRONMENT_PYTHON}`")
        return Interpreter(self.spec.python, variables(Path(ENVIRONMENT), self._path()))

    def _path(self) -> str:
        """Where the trainer's commands are looked for."""
        return {**self.paths.read_assignment().environ, **self.spec.env}.get("PATH", os.defpath)

    def _inputs(self, say: Say) -> Mapping[str, str]:
        """Datasets and configuration: the variables that lead to them."""
        datasets = self._datasets(say) if self.spec.datasets else {}
        return {**datasets, **write_config(self.spec.config, datasets, self.paths.run)}

    def _datasets(self, say: Say) -> Mapping[str, str]:
        return Datasets(self.store, self.user_dir / "cache", open_store, SYSTEM, say).environment(self.spec)

    def _secrets(self) -> Mapping[str, str]:
        if not self.spec.secrets:
            return {}
        kept = bring(self.user_dir, self.spec, self.launch.id, self.store.url)
        missing = sorted(self.spec.secrets.keys() - (kept.variables.keys() if kept is not None else set()))
        if kept is None or missing:
            raise NotFound(f"the value of {', '.join(f'`{name}`' for name in missing)} is not on this machine any more")
        return kept.variables
