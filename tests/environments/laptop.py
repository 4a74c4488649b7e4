"""One person at one computer, without processes: equips jobs and puts environments in place."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from outlast.clock import SYSTEM
from outlast.engines.engine import Engine
from outlast.engines.local.engine import LocalEngine
from outlast.jobs.asked import Asked
from outlast.jobs.environment import Equipment, equip
from outlast.jobs.world import World
from outlast.machine.environment import Wanted, environment_of
from outlast.spec.target import parse_target
from outlast.store.registry import open_store
from tests.environments.conftest import offline

FOREIGN = "linux-x86_64" if os.uname().machine in ("aarch64", "arm64") else "linux-aarch64"


class Elsewhere(LocalEngine):
    """Its machines are another computer than this: nothing that is installed here is there."""

    name = "elsewhere"
    capabilities = replace(LocalEngine.capabilities, same_machine=False)


class OtherKind(Elsewhere):
    """Of another kind than this computer, whatever that is."""

    name = "other kind"
    capabilities = replace(Elsewhere.capabilities, platform=FOREIGN)


@dataclass
class Laptop:
    root: Path
    links: Path
    resolver: str = "pip"
    home: str = ""
    python: str = ""

    @property
    def work(self) -> Path:
        path = self.root / "work"
        path.mkdir(exist_ok=True)
        return path

    @property
    def user_dir(self) -> Path:
        path = self.root / "outlast"
        path.mkdir(exist_ok=True, mode=0o700)
        return path

    def world(self) -> World:
        environ = {**offline(self.root, self.links, self.resolver), "HOME": str(self.root)}
        if self.resolver == "uv":
            environ["PATH"] += os.pathsep + os.path.dirname(sys.executable)
        return World(
            clock=SYSTEM,
            random=Random(1),
            user_dir=self.user_dir,
            open_store=open_store,
            make_engine=lambda name: self.engine(name),
            environ=environ,
        )

    def engine(self, name: str = "local") -> Engine:
        kinds = {"elsewhere": Elsewhere, "other kind": OtherKind}
        return kinds.get(name, LocalEngine)(self.user_dir, SYSTEM)

    def write(self, name: str, text: str) -> None:
        (self.work / name).parent.mkdir(parents=True, exist_ok=True)
        (self.work / name).write_text(text)

    def equip(
        self, target: str = "train.py", world: World | None = None, *, image_python: str = "", **asked: Any
    ) -> Equipment:
        world = world or self.world()
        request = Asked(target=target, directory=str(self.work), python=self.python, **asked)
        engine = world.engine(request.on or "local")
        home = world.home(self.home or str(self.root / "home"))
        found = parse_target(target, self.work)
        return equip(world, request, home, engine, self.work, found, image_python=image_python)

    def place(self, equipment: Equipment) -> Path:
        environment = equipment.environment
        assert environment is not None
        store = open_store(self.home or str(self.root / "home"))
        wanted = Wanted(environment.digest, environment.python_version, equipment.python)
        return environment_of(store, wanted, self.user_dir / "cache")


def run(root: Path, code: str) -> str:
    done = subprocess.run([str(root / "bin" / "python"), "-c", code], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
