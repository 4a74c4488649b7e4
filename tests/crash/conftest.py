"""A user's world with the real local engine and a directory home; nothing of it may be alive at the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from outlast.clock import SYSTEM
from outlast.engines.local.engine import BOOT, LocalEngine
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job
from outlast.jobs.world import World
from outlast.store.registry import open_store

SCRIPT = """
import outlast, time
state = outlast.State(total=0)
for step in outlast.steps(24, state, save_steps=2):
    state.total += step
    outlast.log(step, total=state.total)
    time.sleep(0.1)
print("total", state.total, flush=True)
(outlast.output_dir() / "total.txt").write_text(str(state.total))
"""
IDLE = "import time; time.sleep(0.5)"
TOTAL = str(sum(range(24)))
QUIET_SECONDS_MAX = 120.0


@dataclass
class Laptop:
    """One user at one computer. `world(boot)` is opened anew by every command, as a process would."""

    user_dir: Path
    work: Path

    def world(self, boot: str = BOOT) -> World:
        return World(
            clock=SYSTEM,
            random=Random(os.urandom(8)),
            user_dir=self.user_dir,
            open_store=open_store,
            make_engine=lambda name: LocalEngine(self.user_dir, SYSTEM, boot=boot),
            environ=os.environ,
        )

    def asked(self, job_id: str, target: str = "train.py") -> Asked:
        return Asked(target=target, directory=str(self.work), job_id=job_id)

    def job(self, job_id: str) -> Job:
        return Job.of(self.world().home(), job_id)

    def processes(self) -> list[int]:
        """Everything that was started for this user."""
        found = []
        for name in os.listdir("/proc"):
            try:
                said = Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/environ").read_bytes()
            except OSError:
                continue
            if name.isdigit() and int(name) != os.getpid() and str(self.user_dir).encode() in said:
                found.append(int(name))
        return found


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laptop]:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.2")
    user_dir, work = tmp_path / "user", tmp_path / "work"
    user_dir.mkdir(mode=0o700)
    work.mkdir()
    (work / "train.py").write_text(SCRIPT)
    (work / "idle.py").write_text(IDLE)
    laptop = Laptop(user_dir, work)
    yield laptop
    left = wait_for_quiet(laptop)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "processes were left running"


def wait_for_quiet(laptop: Laptop) -> list[int]:
    """Who is left after a time in which, on any machine, everybody who means to leave has left."""
    until = SYSTEM.monotonic() + QUIET_SECONDS_MAX
    while (left := laptop.processes()) and SYSTEM.monotonic() < until:
        SYSTEM.sleep(0.1)
    return left
