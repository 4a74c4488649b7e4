"""An emulator that is killed leaves no process, and its jobs go on when it is there again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from outlast_emulator.testing import running
from tests.emulator_vertex.conftest import TIME_SCALE, Vertex
from tests.waiting import until

SLEEPING = "echo up; while true; do sleep 0.05; done"


def processes_with(mark: str) -> list[str]:
    """Whose environment has it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_a_killed_emulator_leaves_nothing_and_its_jobs_go_on(tmp_path: Path) -> None:
    mark = f"{tmp_path.name}-{os.getpid()}"
    with running(tmp_path / "data", process=True, time_scale=TIME_SCALE) as emulator:
        vertex = Vertex(emulator)
        # Its port is another one next time: Google's name for the registry is the same.
        vertex.image = "us-central1-docker.pkg.dev/" + vertex.image.partition("/")[2]
        emulator.switch(log_reads_per_minute=0)
        vertex.control("vertex/quotas", {"metric": "custom_model_training_cpus", "limit": 4})
        pool = vertex.pool(SLEEPING)
        pool["containerSpec"]["env"].append({"name": "MARK", "value": mark})
        job = vertex.create(pool)
        vertex.says(job, "up")
        queued = vertex.create(vertex.pool(), name="queued")
        vertex.is_in(queued, "QUEUED")
        assert processes_with(mark)
        assert emulator.pid is not None
        os.kill(emulator.pid, signal.SIGKILL)
        until(lambda: not processes_with(mark), "something was left")
    with running(tmp_path / "data", process=True, time_scale=TIME_SCALE) as emulator:
        vertex.emulator = emulator
        emulator.switch(log_reads_per_minute=0)
        vertex.says(job, "up", times=2)
        shown = next(one for one in vertex.control("vertex/jobs")["jobs"] if job.endswith(one["job"]))
        assert (shown["internal"], shown["attempts"]) == (1, 2)
        assert vertex.alive() == [f"{job.rpartition('/')[2]}/workerpool0-0"]
        assert vertex.get(queued)["state"] == "JOB_STATE_QUEUED"
        vertex.emulator.call("POST", f"/v1/{job}:cancel", {})
        assert vertex.over(job)["state"] == "JOB_STATE_CANCELLED"
        assert vertex.over(queued)["state"] == "JOB_STATE_SUCCEEDED"
    until(lambda: not processes_with(mark), "something was left")
