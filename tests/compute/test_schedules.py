"""Whatever happens to its machines, a job ends with the model of the uninterrupted one, and then nothing is paid for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from outlast.jobs.look import look
from outlast.jobs.world import system_world
from outlast_emulator.testing import Running
from tests.compute.schedule import STEPS, Schedule, log_of, model
from tests.waiting import until

SEEDS = 30


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_job_survives(seed: int, emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_DIR", str(tmp_path / "outlast"))
    world = system_world()
    directory = tmp_path / "code"
    directory.mkdir()
    schedule = Schedule(seed)
    job = schedule.run(emulator, world, directory)
    told = "\n".join(schedule.happened)

    until(lambda: job.folder.read_head().head.state.final, f"its end\n{told}")
    head = job.folder.read_head().head
    assert head.state.value == "succeeded", (head.state, head.reason, told)
    until(lambda: not rented(emulator), f"nothing is rented any more\n{told}")

    look(world, job)  # publishes what a machine that was taken away has not
    assert job.folder.store.get(job.folder.keys.output("model")).data.decode() == model(), told
    lines, gaps = log_of(job)
    steps = [int(found[1]) for line in lines if (found := re.fullmatch(r"step (\d+)", line))]
    assert steps[-1] == STEPS - 1, told
    assert gaps or set(steps) == set(range(STEPS)), f"lines are missing, and no gap is shown\n{told}"


def rented(emulator: Running) -> list[str]:
    alive = emulator.call("GET", "/_emulator/ledger").json()["alive"]
    return [one["name"] for one in alive if one["kind"].startswith("compute.")]
