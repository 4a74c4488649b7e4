"""A place for the vertex engine: an emulator whose containers really run, and a bucket that they share with whoever started them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from outlast.bundle.agent import ship_agent
from outlast.clock import SYSTEM
from outlast.engines.engine import Engine, Launch
from outlast.engines.vertex.engine import VertexEngine
from outlast.folder import layout
from outlast.spec.spec import Machine, Rented
from outlast.store.registry import open_store
from outlast.testing.engine_place import Place
from outlast_emulator.testing import Running

REGION = "us-central1"
TIME_SCALE = 0.02
RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"


def make_engine(user_dir: Path, program: str) -> Engine:
    return VertexEngine(SYSTEM, program=program)


class VertexPlace(Place):
    queued = 5
    rounds = 2

    def __init__(self, scratch: Path, emulator: Running, bucket: str = "contract") -> None:
        self.emulator = emulator
        self.bucket = bucket
        super().__init__(scratch, make_engine)
        account = {"email": RUNNER, "roles": ["roles/storage.admin"]}
        assert emulator.call("POST", "/_emulator/iam/service-accounts", account).status == 200
        self.agent = layout.agent(ship_agent(open_store(self.home), scratch / "cache", testing=True))

    def make_home(self) -> str:
        self.emulator.make_bucket(self.bucket)
        return f"gs://{self.bucket}/home"

    def machine(self, cpus: int) -> Machine:
        """Any image with a Python does: the agent comes from the home."""
        host = self.emulator.url.partition("://")[2]
        return Machine(
            cpus=cpus,
            rented=Rented(
                project="emulated",
                regions=(REGION,),
                machine_type="e2-standard-4",
                disk_gb=100,
                disk_type="pd-ssd",
                image=f"{host}/library/python:3.11-slim",
                service_account=RUNNER,
                service="vertex",
            ),
        )

    def story(self) -> str:
        """For whoever wants to know why a promise was not kept: what Vertex AI has to say of its custom jobs."""
        jobs = self.emulator.call("GET", f"/v1/projects/emulated/locations/{REGION}/customJobs").json()
        runs = self.emulator.call("GET", "/_emulator/vertex/jobs").json()["jobs"]
        asked = {"resourceNames": ["projects/emulated"], "filter": 'resource.type="ml_job"', "pageSize": 200}
        entries = self.emulator.call("POST", "/v2/entries:list", asked).json().get("entries", [])
        states = [f"{one['displayName']} {one['state']} {one.get('error')}" for one in jobs.get("customJobs", [])]
        said = [f"{one.get('timestamp')} {one.get('textPayload') or one.get('jsonPayload')}" for one in entries]
        return "\n".join([*states, *map(str, runs), *said])

    def other(self) -> Place:
        return VertexPlace(self.scratch / "other", self.emulator, f"{self.bucket}-other")

    def named(self, launch: Launch) -> Launch:
        return replace(launch, home=self.home)

    def alive(self, machine: str, process: int) -> bool:
        """The number that a process has inside its container says nothing outside: the launch in its surroundings does."""
        launch, rank, _ = machine.rsplit("-", 2)
        return any(_is_inside(int(one), launch, rank, process) for one in os.listdir("/proc") if one.isdigit())


def _is_inside(pid: int, launch: str, rank: str, process: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
        own = Path(f"/proc/{pid}/environ").read_bytes() if len(numbers) > 2 else b""
    except (OSError, StopIteration):
        return False
    if len(numbers) < 3 or int(numbers[-1]) != process:
        return False
    marks = (f"{launch}-{rank}-".encode(), f'"rank":{rank},'.encode())
    return any(launch.encode() in one and any(mark in one for mark in marks) for one in (own, _first_of(pid)))


def _first_of(pid: int) -> bytes:
    """The surroundings of the first process of its container: a daemon may have forgotten them."""
    try:
        space = os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return b""
    for one in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if os.readlink(f"/proc/{one}/ns/pid") == space:
                found = Path(f"/proc/{one}/environ").read_bytes()
                if found:
                    return found
        except OSError:
            continue
    return b""
