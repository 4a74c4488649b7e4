"""A whole job on a real machine: supervisor, init, agent, trainer, and a home in a directory."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from outlast.clock import SYSTEM
from outlast.engines.engine import Condition, Launch
from outlast.engines.local.engine import BOOT, LocalEngine
from outlast.folder.records import State
from outlast.host import files
from outlast.host.process import Process
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job, as_launch
from outlast.jobs.plan import plan
from outlast.jobs.submit import submit
from outlast.jobs.world import World
from outlast.spec.spec import Machine
from outlast.store.registry import open_store
from outlast.testing.engine_place import until
from tests.engines.conftest import leave_nothing

AGENT_BYTES_MAX = 40 << 20


class User:
    """Somebody with a project directory."""

    def __init__(self, scratch: Path) -> None:
        self.user_dir = scratch / "user"
        self.project = scratch / "project"
        self.user_dir.mkdir()
        self.project.mkdir()
        self.boot = BOOT

    def world(self) -> World:
        return World(
            clock=SYSTEM,
            random=SystemRandom(),
            user_dir=self.user_dir,
            open_store=open_store,
            make_engine=lambda name: LocalEngine(self.user_dir, SYSTEM, boot=self.boot),
            environ={},
        )

    def asked(self, script: str, **more: Any) -> Asked:
        (self.project / "train.py").write_text(script)
        return Asked(target="train.py", directory=str(self.project), **more)

    def submit(self, script: str, **more: object) -> Job:
        return submit(self.world(), self.asked(script, **more)).job


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    yield User(tmp_path)
    leave_nothing(tmp_path)


def finished(job: Job) -> State:
    until(lambda: job.folder.read_head().head.state.final, "the job ended")
    return job.folder.read_head().head.state


@pytest.mark.parametrize(
    ("script", "state"), [("print('hello')", State.SUCCEEDED), ("raise SystemExit(3)", State.FAILED)]
)
def test_a_job_runs_to_its_end_and_nothing_is_left(user: User, script: str, state: State) -> None:
    job = user.submit(script)
    assert finished(job) is state
    engine = LocalEngine(user.user_dir, SYSTEM)
    launch = as_launch(job, job.folder.read_launch(1), job.spec())
    until(lambda: engine.state(launch).condition is Condition.ABSENT, "its machine is gone")


def test_a_machine_imports_nothing_that_its_supervisor_has_not_and_stays_small(user: User) -> None:
    """What every machine imports for itself costs every job, and what it holds, every job's memory."""
    import tests.machine.counting  # noqa: F401  so that the supervisor finds it

    user.boot = "tests.machine.counting:boot"
    job = user.submit("import os; open(os.environ['OUTLAST_OUTPUT_DIR'] + '/x', 'w').write('x')")
    assert finished(job) is State.SUCCEEDED
    counted = Path(f"{job.home.url}.counted")
    until(counted.exists, "it was counted")
    resident, *imported = counted.read_text().splitlines()
    assert imported == []
    assert int(resident) < AGENT_BYTES_MAX


def test_a_spec_that_is_damaged_fails_the_boot_and_says_why(user: User) -> None:
    world = user.world()
    planned = plan(world, user.asked("pass"))
    job = Job.of(planned.home, planned.spec.job)
    job.folder.store.put(job.folder.keys.spec, b'{"format": 1, "job": 7}\n', if_generation=0)
    engine = LocalEngine(user.user_dir, SYSTEM)
    launch = _launch(job, planned.spec.job)
    engine.start(launch)
    until(lambda: not engine.state(launch).alive, "it was given up")
    state = engine.state(launch)
    assert state.condition is Condition.BOOT_FAILED
    assert "spec.json` is damaged" in state.why


def test_a_job_that_was_deleted_ends_its_machines(user: User) -> None:
    planned = plan(user.world(), user.asked("pass"))
    engine = LocalEngine(user.user_dir, SYSTEM)
    launch = _launch(Job.of(planned.home, planned.spec.job), planned.spec.job)
    engine.start(launch)
    until(lambda: not engine.state(launch).alive, "its machine left")
    assert engine.state(launch).condition is Condition.ABSENT


def test_a_killed_agent_goes_on_with_the_same_attempt(user: User) -> None:
    job = user.submit("import os, time\nprint('began', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)")
    until(lambda: job.folder.read_head().head.state is State.RUNNING, "it runs")
    engine = LocalEngine(user.user_dir, SYSTEM)
    launch = as_launch(job, job.folder.read_launch(1), job.spec())
    (directory,) = map(Path, engine.state(launch).directories)
    until(lambda: (directory / "spool" / "log").exists(), "the trainer runs")
    for _ in range(2):
        before = Process.read(files.read_json(directory / "agent.json"))
        assert before is not None and before.send(signal.SIGKILL)
        until(lambda before=before: Process.read(files.read_json(directory / "agent.json")) != before, "another came")  # type: ignore[misc]
    (directory / "work" / "go").touch()
    assert finished(job) is State.SUCCEEDED
    assert job.folder.read_head().head.attempt == 1


def _launch(job: Job, name: str) -> Launch:
    return Launch(job.home.url, name, 1, f"launch-{name}", 1, Machine(), SYSTEM.now() + 600)
