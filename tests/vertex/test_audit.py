"""What Vertex AI runs of ours is found in every region, by whoever runs jobs, and goes away when it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast.engines.vertex.audit import VertexAuditor
from outlast.engines.vertex.drills import take_away
from outlast.engines.vertex.engine import VertexEngine
from outlast.engines.vertex.jobs import custom_job
from outlast.errors import UsageError
from outlast.google.connect import connect
from outlast_emulator.testing import Running
from tests.compute.renting import ready
from tests.waiting import until

SLEEPS = "import time\ntime.sleep(300)\n"


def test_a_member_runs_finds_and_stops_a_custom_job(emulator: Running, tmp_path: Path) -> None:
    """With the role that `outlast init --member` gives, and no right beyond it."""
    ann = ready(emulator, tmp_path / "ann")
    ann.write("train.py", SLEEPS)
    said = ann.outlast("run", "--on", "vertex", "--region", "europe-west4", "--detach", "--job-id", "one", "train.py")
    assert said.code == 0, said.err
    until(lambda: ann.outlast("show", "one", "--json").json["state"] == "running", "it runs")
    audit = ann.outlast("audit", "--json")
    assert audit.code == 0, audit.err
    (item,) = [one for one in audit.json["items"] if one["engine"] == "vertex"]
    assert (item["kind"], item["place"], item["job"], item["verdict"]) == (
        "custom job",
        "europe-west4",
        "one",
        "needed",
    )
    assert item["usd_per_hour"] > 0
    entered = ann.outlast("ssh", "one")
    assert entered.code != 0 and "ssh" in entered.err
    assert ann.outlast("stop", "one").code == 0
    assert [one for one in ann.outlast("audit", "--json").json["items"] if one["engine"] == "vertex"] == []


def test_what_has_leaked_is_cancelled(emulator: Running, tmp_path: Path) -> None:
    ann = ready(emulator, tmp_path / "ann")
    ann.write("train.py", SLEEPS)
    assert ann.outlast("run", "--on", "vertex", "--detach", "--job-id", "one", "train.py").code == 0
    auditor = VertexAuditor("emulated")
    (found,) = auditor.found()
    assert found.job == "one"
    auditor.remove(found)
    assert list(auditor.found()) == []
    auditor.remove(found)  # what is gone is no error


def test_google_itself_cannot_be_drilled() -> None:
    """It takes machines away when it likes: a drill there is refused before anything is rented."""
    assert not VertexEngine(SYSTEM, {}).capabilities.preempts
    assert VertexEngine(SYSTEM, {"OUTLAST_EMULATOR": "http://127.0.0.1:1"}).capabilities.preempts
    job = custom_job({"name": "projects/1/locations/r/customJobs/2", "state": "JOB_STATE_RUNNING"})
    with pytest.raises(UsageError) as raised:
        take_away(connect({}), SYSTEM, job, notice_seconds=0)
    assert "outlast drill" in raised.value.hint
