"""Somebody who types commands that Vertex AI carries out, and what the emulator knows of them afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from outlast_emulator.testing import Running
from tests.cli.user import Said, User
from tests.waiting import until

RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"
BUCKET = "vertex-home"
REGION = "us-central1"

STEPS = """
import os, time
import outlast

state = outlast.State(count=0)
for step in outlast.steps({steps}, state, save_steps=2):
    state.count += 1
    time.sleep({pause})
(outlast.output_dir() / "count").write_text(str(state.count))
"""


@dataclass
class Trainer:
    user: User
    emulator: Running
    bucket: str = BUCKET

    def ready(self, *roles: str) -> None:
        """The containers' account has these roles on the project, and nothing else."""
        account = {"email": RUNNER, "roles": list(roles or ("roles/storage.objectAdmin",))}
        assert self.emulator.call("POST", "/_emulator/iam/service-accounts", account).status == 200
        self.emulator.make_bucket(self.bucket)
        self.user.env.update(self.emulator.variables)
        self.user.env["OUTLAST_HOME"] = f"gs://{self.bucket}"

    def train(self, *, steps: int = 10, pause: float = 0.05) -> None:
        self.user.write("train.py", STEPS.format(steps=steps, pause=pause))

    def run(self, job: str, *words: str, target: tuple[str, ...] = ("train.py",)) -> Said:
        """Submitted; nobody waits for it."""
        said = self.user.outlast("run", "--on", "vertex", "--detach", "--job-id", job, *words, *target)
        assert said.code == 0, said.err
        return said

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.emulator.call("POST", f"/_emulator/{path}", body)
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def head(self, job: str) -> dict[str, Any]:
        """As it stands in the bucket: nobody looks after the job by this."""
        return dict(json.loads(self.emulator.get(self.bucket, f"jobs/{job}/head.json", alt="media").body))

    def shown(self, job: str) -> dict[str, Any]:
        said = self.user.outlast("show", "--json", job)
        assert said.code == 0, said.err
        return dict(said.json)

    def wait_for_state(self, job: str, *states: str) -> dict[str, Any]:
        """Only containers work on it."""
        until(lambda: self.head(job)["state"] in states, f"{states}, it is {self.head(job)}")
        return self.head(job)

    def custom_jobs(self, region: str = REGION) -> list[dict[str, Any]]:
        """The oldest first."""
        answer = self.emulator.call("GET", f"/v1/projects/emulated/locations/{region}/customJobs").json()
        return sorted(answer.get("customJobs", []), key=lambda one: str(one["createTime"]))

    def runs(self, job: str) -> list[dict[str, Any]]:
        found = self.emulator.call("GET", "/_emulator/vertex/jobs").json()["jobs"]
        return [one for one in found if one["display_name"] == job]

    def output(self, job: str, name: str) -> bytes:
        return self.emulator.get(self.bucket, f"jobs/{job}/outputs/{name}", alt="media").body

    def paid_for(self) -> list[str]:
        """Machines, not buckets."""
        alive = self.emulator.call("GET", "/_emulator/ledger").json()["alive"]
        return [one["name"] for one in alive if not one["kind"].startswith(("storage.", "artifactregistry."))]
