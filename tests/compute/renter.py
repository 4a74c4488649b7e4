"""Somebody who types commands that rent machines, and what the emulator knows of them afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from outlast_emulator.testing import Running
from tests.cli.user import Said, User
from tests.waiting import until

RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"
BUCKET = "rented-home"

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
class Renter:
    user: User
    emulator: Running

    def ready(self, *roles: str) -> None:
        """The machines' account has these roles on the project, and nothing else."""
        account = {"email": RUNNER, "roles": list(roles)}
        assert self.emulator.call("POST", "/_emulator/iam/service-accounts", account).status == 200
        self.emulator.make_bucket(BUCKET)
        self.user.env.update(self.emulator.variables)
        self.user.env["OUTLAST_HOME"] = f"gs://{BUCKET}"

    def train(self, *, steps: int = 10, pause: float = 0.05) -> None:
        self.user.write("train.py", STEPS.format(steps=steps, pause=pause))

    def run(self, job: str, *words: str, target: tuple[str, ...] = ("train.py",)) -> Said:
        """Submitted; nobody waits for it."""
        return self.user.outlast("run", "--on", "compute", "--detach", "--job-id", job, *words, *target)

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.emulator.call("POST", f"/_emulator/{path}", body)
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def head(self, job: str) -> dict[str, Any]:
        """As it stands in the bucket: nobody looks after the job by this."""
        return dict(json.loads(self.emulator.get(BUCKET, f"jobs/{job}/head.json", alt="media").body))

    def shown(self, job: str) -> dict[str, Any]:
        said = self.user.outlast("show", "--json", job)
        assert said.code == 0, said.err
        return dict(said.json)

    def wait_for_state(self, job: str, *states: str) -> dict[str, Any]:
        """Only machines work on it."""
        until(lambda: self.head(job)["state"] in states, lambda: f"{states}, it is {self.head(job)}")
        return self.head(job)

    def machine(self, job: str, rank: int = 0) -> str:
        return f"outlast-{self.head(job)['launch_id']}-{rank}"

    def machines(self) -> list[dict[str, Any]]:
        return list(self.emulator.call("GET", "/_emulator/machines").json()["machines"])

    def rented(self) -> list[str]:
        alive = self.emulator.call("GET", "/_emulator/ledger").json()["alive"]
        return [one["name"] for one in alive if one["kind"].startswith("compute.")]

    def wait_until_nothing_is_paid_for(self) -> None:
        until(lambda: not self.rented(), "nothing is rented any more")
