"""A machine with a real init and an agent that only waits; the test itself stands in the agent's place."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outlast.agent import init
from outlast.agent.child import Exit, Start
from outlast.clock import SYSTEM
from outlast.host import files, system
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine.furnish import Furnished, Say
from outlast.machine.trainer import ProcessChild
from outlast.spec.spec import Drill, Provenance, Spec, Target, TargetKind
from outlast.testing.engine_place import until
from tests.engines.conftest import processes_of

SOURCE = Path(__file__).resolve().parents[2] / "src"


def idle(directory: str) -> int:
    """An agent that is up and leaves when it is told the exit code."""
    paths = MachineDir(directory)
    files.create(paths.up)
    while True:
        code = files.read(f"{directory}/agent-leaves")
        if code is not None:
            return int(code)
        SYSTEM.sleep(0.005)


class Bench:
    """One machine, and scripts to run on it."""

    def __init__(self, path: Path) -> None:
        self.paths = MachineDir(path)
        self.assignment = Assignment(
            home="", job="job-1", launch=1, launch_id="launch", rank=0, workers=1, boot=1,
            deadline_at=SYSTEM.now() + 600, environ={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        )  # fmt: skip
        self.files: dict[str, str] = {}
        self.spec = Spec(
            job="job-1", name="job", target=Target(TargetKind.SCRIPT, "train.py"), bundle="", python=sys.executable,
            provenance=Provenance(tool_version="0"), submitted_at=0.0,
        )  # fmt: skip
        self.pid = 0
        self._children: list[ProcessChild] = []

    def boot(self, agent: Callable[[str], int] = idle, *, seconds: float = 600) -> None:
        Path(self.paths.path).mkdir(parents=True)
        self.assignment = replace(self.assignment, deadline_at=SYSTEM.now() + seconds)
        self.paths.write_assignment(self.assignment)
        self.pid = os.fork()
        if self.pid == 0:
            system.close_from(3)
            sys.stdout = sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  not pytest's
            os._exit(init.run(self.paths.path, agent))
        until(lambda: Path(self.paths.up).exists() or self._gone(), "the agent is up, or it never will be")

    def _gone(self) -> bool:
        return not system.start_time(self.pid)

    def child(self, **spec: Any) -> ProcessChild:
        """As a new agent would make it."""
        if not self.pid:
            self.boot()
        self.spec = replace(self.spec, **spec)
        child = ProcessChild(
            self.paths,
            self.assignment,
            self.spec,
            furnish=self._furnish,
            edit_code=lambda before, after, say: None,
            trainer_root=str(SOURCE),
            clock=SYSTEM,
        )
        self._children.append(child)
        return child

    def _furnish(self, bundle: str, say: Say) -> Furnished:
        for name, text in self.files.items():
            path = Path(self.paths.work) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Furnished(self.spec.python)

    def run(
        self, script: str, *args: str, attempt: int = 1, resumed_step: int | None = None, **spec: object
    ) -> ProcessChild:
        self.files["train.py"] = script
        child = self.child(**spec)
        child.clear("")
        child.start(start_of(attempt, *args, resumed_step=resumed_step))
        return child

    def finish(self, script: str, *args: str, **spec: Any) -> tuple[ProcessChild, Exit]:
        child = self.run(script, *args, **spec)
        return child, wait_for_exit(child)

    def leave(self, code: int = 0) -> int:
        """The agent leaves; init's exit status."""
        (Path(self.paths.path) / "agent-leaves").write_text(str(code))
        return self.reap()

    def reap(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


def start_of(attempt: int, *args: str, resumed_step: int | None = None, env: Mapping[str, str] | None = None) -> Start:
    return Start("job-1", attempt, 0, 1, args, resumed_step, env=env or {})


def wait_for_exit(child: ProcessChild) -> Exit:
    until(lambda: child.exit() is not None or child.wait(0.5), "the trainer ended")
    exit = child.exit()
    assert exit is not None
    return exit


def log(child: ProcessChild) -> str:
    return child.stream_read("log", 0, child.stream_bytes("log")).decode()


def drill(**values: Any) -> Drill:
    return Drill(**values)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "local" / "machines" / "launch" / "0-1")
    yield made
    if made.pid:
        os.kill(made.pid, signal.SIGKILL)
        made.reap()
    try:
        until(lambda: not processes_of(tmp_path), "no process is left")
    finally:
        for pid in processes_of(tmp_path):
            os.kill(pid, signal.SIGKILL)
