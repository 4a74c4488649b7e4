"""A laptop that dies: whoever types `run`, `stop` and `resume` at it, and a home of its own in an emulator's bucket."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.world import World, system_world
from outlast_emulator.testing import Running


@dataclass
class Laptop:
    emulator: Running
    bucket: str
    """Also the job's id."""

    directory: Path

    def asked(self) -> Asked:
        return Asked("train.py", directory=str(self.directory), on="compute", job_id=self.bucket)

    def verb(self, name: str) -> Callable[[World], object]:
        verbs: dict[str, Callable[[World], object]] = {
            "run": lambda world: submit(world, self.asked()),
            "stop": lambda world: stop(world, find(world, self.bucket), grace_seconds=0.0),
            "resume": lambda world: resume(world, find(world, self.bucket)),
        }
        return verbs[name]

    def prepare(self, name: str) -> None:
        """The state in which the verb is called."""
        for earlier in {"run": (), "stop": ("run",), "resume": ("run", "stop")}[name]:
            self.verb(earlier)(system_world())


def new_home(emulator: Running, scratch: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> tuple[str, Path]:
    """Its bucket, and the directory with `train.py`; this process uses both from now on."""
    bucket = f"killed-{os.urandom(4).hex()}"
    variables = {"OUTLAST_DIR": str(scratch / "outlast"), "OUTLAST_HOME": f"gs://{bucket}"}
    for name, value in {**emulator.variables, **variables}.items():
        monkeypatch.setenv(name, value)
    emulator.make_bucket(bucket)
    directory = scratch / "code"
    directory.mkdir()
    (directory / "train.py").write_text(script)
    return bucket, directory


def each(points: dict[str, int]) -> list[tuple[str, int]]:
    return [(name, point) for name, count in points.items() for point in range(count)]
