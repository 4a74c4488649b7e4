"""The environment that Vertex AI gives to a replica, and the names by which the replicas find one another."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.vertex.jobs import Job

PORT = 2222
PLAIN_PORT = 20_000
ROLES = ("chief", "worker", "ps", "evaluator")
"""In TF_CONFIG, by pool."""


@dataclass(frozen=True)
class Replica:
    pool: int
    index: int
    number: int
    """Among all of the job."""
    host: str
    spec: dict[str, Any]
    place: str
    """Where the others find it. Each has a port of its own: a program may listen at all addresses."""

    @property
    def name(self) -> str:
        return f"workerpool{self.pool}-{self.index}"

    @property
    def address(self) -> str:
        """On the loopback that a job's replicas share, each has one."""
        return f"127.0.{1 + self.number // 250}.{1 + self.number % 250}"


def replicas(job: Job, *, plain: bool = False) -> list[Replica]:
    """`plain`: nobody knows their names, and they share this computer's ports with other jobs'."""
    first = PLAIN_PORT + job.id % 1000 * 40 if plain else PORT
    mark = hashlib.sha256(str(job.id).encode()).hexdigest()[:10]
    found: list[Replica] = []
    for pool, spec, count in job.pools:
        for index in range(count):
            host = f"cmle-training-workerpool{pool}-{mark}-{index}"
            place = f"{'127.0.0.1' if plain else host}:{first + len(found)}"
            found.append(Replica(pool, index, len(found), host, spec, place))
    return found


def environment(job: Job, replica: Replica, everybody: list[Replica]) -> dict[str, str]:
    """Beside what the image and the job's own `env` say."""
    cluster: dict[str, list[str]] = {}
    for one in everybody:
        cluster.setdefault(f"workerpool{one.pool}", []).append(one.place)
    task: dict[str, Any] = {"type": f"workerpool{replica.pool}", "index": replica.index}
    described = {"cluster": cluster, "environment": "cloud", "task": task, "job": job.spec}
    found = {
        "CLUSTER_SPEC": json.dumps(described),
        "CLOUD_ML_PROJECT_ID": str(PROJECT_NUMBER),
        "CLOUD_ML_JOB_ID": str(job.id),
    }
    if len(everybody) > 1:
        found["TF_CONFIG"] = json.dumps(_tensorflow(job, replica, everybody))
    base = str(job.spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "")).rstrip("/")
    if base:
        found["AIP_MODEL_DIR"] = f"{base}/model/"
        found["AIP_CHECKPOINT_DIR"] = f"{base}/checkpoints/"
        found["AIP_TENSORBOARD_LOG_DIR"] = f"{base}/logs/"
    if job.spec.get("tensorboard"):
        found["AIP_TENSORBOARD_RESOURCE_NAME"] = str(job.spec["tensorboard"])
    return found


def _tensorflow(job: Job, replica: Replica, everybody: list[Replica]) -> dict[str, Any]:
    cluster: dict[str, list[str]] = {}
    for one in everybody:
        if ROLES[one.pool] != "evaluator":
            cluster.setdefault(ROLES[one.pool], []).append(one.place)
    task = {"type": ROLES[replica.pool], "index": replica.index, "cloud": str(job.id)}
    return {"cluster": cluster, "environment": "cloud", "task": task, "job": job.spec}
