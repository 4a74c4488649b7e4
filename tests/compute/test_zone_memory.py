"""A machine says in which zone it is, and when its job has ended the home knows how long machines live there."""

from __future__ import annotations

from tests.compute.renter import BUCKET, Renter
from tests.waiting import until


def test_a_job_that_ends_by_itself_leaves_what_it_has_met_and_no_template(renter: Renter) -> None:
    renter.ready("roles/owner")
    renter.train()
    said = renter.user.outlast("run", "--on", "compute", "--job-id", "one", "train.py")
    assert said.code == 0, said.err
    kept = renter.emulator.call("GET", f"/storage/v1/b/{BUCKET}/o/zones%2Fus-central1.json?alt=media")
    assert kept.status == 200, "its machine has told it"
    (met,) = kept.json()["met"].values()
    assert met["place"].startswith("us-central1-") and met["machines"] == 1 and met["taken"] == 0, met
    assert met["lived_seconds"] > 0 and met["usd_per_hour"] > 0
    assert len(kept.json()["told"]) == 1
    shown = renter.user.outlast("catalog", "regions", "--region", "us-central1").out
    assert "1 machine, " in next(line for line in shown.splitlines() if line.startswith(met["place"]))

    def templates() -> list[str]:
        found = renter.emulator.call("GET", "/compute/v1/projects/emulated/aggregated/instanceTemplates").json()
        return [one["name"] for scope in found["items"].values() for one in scope.get("instanceTemplates", [])]

    until(lambda: not templates(), "whoever followed it to its end has removed its template")
