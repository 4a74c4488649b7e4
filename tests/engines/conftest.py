"""A place for an engine that leaves nothing behind: the test fails if a process of it is still there at its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast.engines.local.engine import LocalEngine
from outlast.host import files
from outlast.host.process import Process
from outlast.testing.engine_place import Place, until


def processes_of(directory: Path) -> dict[int, str]:
    """Everything that was started for this directory: it stands in the command line or the environment."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            said = Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/environ").read_bytes()
            if str(directory).encode() in said:
                found[int(name)] = Path(f"/proc/{name}/stat").read_text()[:60] + repr(said[:100])
        except OSError:
            continue
    return found


def supervisor_of(user_dir: Path) -> Process | None:
    process = Process.read(files.read_json(user_dir / "local" / "supervisor.json"))
    return process if process is not None and process.alive() else None


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "4")
    monkeypatch.setenv("OUTLAST_LOCAL_GPUS", "0")
    yield Place(tmp_path, lambda user_dir, program: LocalEngine(user_dir, SYSTEM, boot=program))
    leave_nothing(tmp_path)


def leave_nothing(directory: Path) -> None:
    """Supervisors are asked to go; machines must have gone by themselves."""
    for user_dir in (directory / "user", directory / "other" / "user"):
        process = supervisor_of(user_dir)
        if process is not None:
            process.send(signal.SIGTERM)
    try:
        until(lambda: not processes_of(directory), "no process is left")
    finally:
        left = processes_of(directory)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left
