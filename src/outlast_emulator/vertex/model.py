"""Vertex AI without HTTP: what its API, the control surface and the ledger all speak to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from outlast_emulator.containers.host import ContainerHost
from outlast_emulator.containers.images import Image
from outlast_emulator.containers.network import Network
from outlast_emulator.iam.state import OWNER, PROJECT, PROJECT_NUMBER
from outlast_emulator.iam.tokens import CLOUD_PLATFORM
from outlast_emulator.machines import world
from outlast_emulator.machines.metadata import Metadata
from outlast_emulator.vertex import outcomes
from outlast_emulator.vertex.database import Database
from outlast_emulator.vertex.jobs import FAILED, PENDING, RUNNING, Job, Jobs
from outlast_emulator.vertex.room import Room
from outlast_emulator.vertex.run import INTERNAL_RESTARTS_MAX, Run
from outlast_emulator.vertex.usage import Usage

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

TENANT, TENANT_NUMBER = "x1emulated-tp", 535353535353
"""The project in which containers run is Google's own: what they find out about it is not the user's."""
SERVICE_AGENT = f"service-{PROJECT_NUMBER}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
"""Whose rights a container has where no service account was asked for."""
SERVICE_AGENT_ROLE = "roles/aiplatform.customCodeServiceAgent"


class Vertex:
    def __init__(self, emulator: Emulator) -> None:
        root = emulator.data / "vertex"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.database = Database(root / "vertex.db")
        self.clock = emulator.clock
        self.switches = emulator.switches
        self.jobs = Jobs(self.database, self.clock)
        self.room = Room(self)
        self.usage = Usage(self.database, self.clock)
        self.log: Callable[[dict[str, Any]], None] = lambda entry: emulator.entries.write([entry])
        self._emulator = emulator
        self._root = root
        self._lock = threading.RLock()
        self._host: ContainerHost | None = None
        self._runs: dict[int, Run] = {}
        self._started = False
        self._closed = False

    def start(self) -> None:
        """Once the emulator is served: jobs that a killed emulator left go on. May be called again and again."""
        with self._lock:
            if self._started or self._closed:
                return
            self._started = True
            if (self._root / "containers").exists():
                self.host()
            for job in self.jobs.all():
                if not job.is_over:
                    self._recover(job)

    def _recover(self, job: Job) -> None:
        """What ran is gone: to Vertex AI an error of its own."""
        self.usage.end(job)
        job.state["machines"] = False
        state = job.document["state"]
        if state == RUNNING:
            failed = job.count("internal") > INTERNAL_RESTARTS_MAX
            job.document["state"] = FAILED if failed else PENDING
            if failed:
                outcome = outcomes.internal("")
                job.document["error"] = {"code": outcome.code, "message": outcome.message}
                job.document["endTime"] = job.document["updateTime"]
                job.state["holds"] = False
        self.jobs.save(job)
        if not job.is_over:
            self._begin(job)

    def create(self, region: str, document: dict[str, Any]) -> Job:
        """`document`: as `rules.checked` returns it."""
        self.start()
        with self._lock:
            self.room.refuse_too_large(Job(0, region, 0.0, document))
            job = self.jobs.add(region, document)
            self._begin(Job(job.id, job.region, job.created_at, {**job.document}, {}))
            return job

    def _begin(self, job: Job) -> None:
        run = self._runs[job.id] = Run(self, job)
        run.start()

    def run_of(self, job: Job) -> Run | None:
        """None: it is over."""
        with self._lock:
            return self._runs.get(job.id)

    def runs(self) -> list[Run]:
        with self._lock:
            return list(self._runs.values())

    def forget(self, run: Run) -> None:
        with self._lock:
            self._runs.pop(run.job.id, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for run in self.runs():
            run.close()
        self.database.close()

    # ---------------------------------------------------------------------------------------------------- for containers

    def host(self) -> ContainerHost:
        with self._lock:
            if self._host is None:
                self._host = ContainerHost(self._root / "containers")
            return self._host

    def image(self, address: str) -> Image:
        """NoImage says why it cannot be had."""
        token, _ = self._emulator.authority.token(f"user:{OWNER}")
        return self.host().images.ready(address, self._emulator.url, token)

    def network(self, job: Job) -> Network:
        contents = self._emulator.compute.contents
        metadata = Metadata(_tree(job), token=contents.token, identity=contents.identity)
        isolated = self.host().kind == "isolated"
        return Network(metadata, contents.port(), self._emulator.listen, isolated=isolated)

    def surroundings(self) -> dict[str, str]:
        """The emulator's addresses, and what a test says: real containers have none of these."""
        return {**self._emulator.compute.contents.environment(), **self._world().environment}

    def shown(self) -> Mapping[str, str]:
        return self._world().shown

    def _world(self) -> world.World:
        return world.read(self._emulator.data / "compute" / "machines")

    def give_service_agent_its_role(self) -> None:
        """As Google does when the first job needs it."""
        member = f"serviceAccount:{SERVICE_AGENT}"
        bindings = self._emulator.authority.state.document["policies"][f"projects/{PROJECT}"]
        if any(one["role"] == SERVICE_AGENT_ROLE and member in one["members"] for one in bindings):
            return
        with self._emulator.authority.state.change() as document:
            document["policies"][f"projects/{PROJECT}"].append({"role": SERVICE_AGENT_ROLE, "members": [member]})


def _tree(job: Job) -> dict[str, Any]:
    email = str(job.spec.get("serviceAccount") or SERVICE_AGENT)
    account = {"aliases": ["default"], "email": email, "scopes": [CLOUD_PLATFORM]}
    return {
        "instance": {
            "attributes": {},
            "id": job.id,
            "name": f"training-{job.id}",
            "service-accounts": {"default": account, email: account},
            "zone": f"projects/{TENANT_NUMBER}/zones/{job.region}-a",
        },
        "project": {"attributes": {}, "numeric-project-id": TENANT_NUMBER, "project-id": TENANT},
    }
