"""What Vertex AI is asked for: a custom job whose containers run the agent.

No value of the user's becomes code: the command is one constant program, which reads what it needs from a variable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from outlast.engines.compute import told as machine
from outlast.engines.compute.names import bucket_of
from outlast.engines.engine import Launch
from outlast.engines.vertex import names
from outlast.engines.vertex.told import VARIABLE, Told
from outlast.spec.record import encode
from outlast.spec.spec import Pool, Rented

Document = dict[str, Any]

TIMEOUT_SECONDS_MIN, TIMEOUT_SECONDS_MAX = 60, 7 * 24 * 3600
"""Vertex AI runs nothing for longer than a week; whoever looks then starts the next one."""

TENSORBOARD = "tensorboard"


@cache
def program() -> str:
    """The constant: it finds the agent in the image or in the home, and becomes it."""
    return resources.files("outlast.engines.vertex").joinpath("bootstrap.py").read_text("utf-8")


def custom_job(
    launch: Launch, rented: Rented, told: Told, *, rank: int, claim: str, now: float, time_scale: float = 1.0
) -> Document:
    """`time_scale`: how much faster an emulator's time runs than the clock by which the deadline is meant."""
    spec: Document = {
        "workerPoolSpecs": [_pool(rented, told, pool) for pool in pools(launch, rented)],
        "scheduling": _scheduling(rented, (launch.deadline_at - now) / time_scale),
    }
    if rented.service_account:
        spec["serviceAccount"] = rented.service_account
    if rented.network:
        spec["network"] = rented.network
    if rented.tensorboard:
        bucket = bucket_of(launch.home)
        spec["tensorboard"] = rented.tensorboard
        spec["baseOutputDirectory"] = {
            "outputUriPrefix": f"gs://{bucket.name}/{bucket.object(f'jobs/{launch.job}/{TENSORBOARD}')}"
        }
    return {
        "displayName": names.display_name(launch, rank),
        "labels": names.labels(launch, rank, claim),
        "jobSpec": spec,
    }


def pools(launch: Launch, rented: Rented) -> tuple[Pool, ...]:
    """The machine itself is the first, alone in its pool: Vertex AI wants it so."""
    return (Pool(rented.machine_type, 1, rented.accelerator, launch.machine.gpus), *rented.pools)


def told_of(
    launch: Launch,
    rented: Rented,
    *,
    rank: int,
    claim: str,
    storage: str,
    time_scale: float = 1.0,
    environ: Mapping[str, str],
    program: str = "",
) -> Told:
    bucket = bucket_of(launch.home)
    alike = machine.told_of(
        launch,
        rented,
        notice_seconds=machine.SOFT_OFF_SECONDS,
        time_scale=time_scale,
        program=program,
        environ=environ,
    )
    return Told(
        **vars(alike),
        claim=claim,
        rank=rank,
        pools=tuple(pool.replicas for pool in pools(launch, rented)),
        storage=storage,
        agent=f"b/{quote(bucket.name, safe='')}/o/{quote(bucket.object(launch.agent), safe='')}"
        if launch.agent
        else "",
    )


def _pool(rented: Rented, told: Told, pool: Pool) -> Document:
    if not pool.replicas:
        return {}
    return {
        "machineSpec": machine_spec(rented, pool),
        "replicaCount": str(pool.replicas),
        "diskSpec": {"bootDiskType": rented.disk_type, "bootDiskSizeGb": rented.disk_gb},
        "containerSpec": {
            "imageUri": rented.image,
            "command": ["python3", "-c", program()],
            "env": [{"name": VARIABLE, "value": encode(told).decode()}],
        },
    }


def machine_spec(rented: Rented, pool: Pool) -> Document:
    spec: Document = {"machineType": pool.machine_type}
    if pool.accelerator:
        spec |= {"acceleratorType": accelerator_type(pool.accelerator), "acceleratorCount": pool.accelerators}
    if rented.topology:
        spec["tpuTopology"] = rented.topology
    return spec


def accelerator_type(cloud_name: str) -> str:
    """`nvidia-tesla-t4` is `NVIDIA_TESLA_T4` there."""
    return cloud_name.upper().replace("-", "_")


def _scheduling(rented: Rented, left_seconds: float) -> Document:
    strategy = "FLEX_START" if rented.flex_start else "SPOT" if rented.spot else "STANDARD"
    timeout = f"{min(TIMEOUT_SECONDS_MAX, max(TIMEOUT_SECONDS_MIN, math.ceil(left_seconds)))}s"
    scheduling: Document = {"strategy": strategy, "timeout": timeout, "restartJobOnWorkerRestart": False}
    if rented.flex_start:
        scheduling["maxWaitDuration"] = timeout
    return scheduling
