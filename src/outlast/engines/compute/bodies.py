"""What Compute Engine is asked for: the template of a launch's machines, and the group that keeps them alive.

No value of the user's becomes code: the startup script is one constant file, and reads what it needs from the machine's metadata.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from outlast.engines.compute import names
from outlast.engines.compute.told import ATTRIBUTE, told_of
from outlast.engines.compute.variants import NOTICE_SECONDS, Variant
from outlast.engines.engine import Launch
from outlast.spec.record import encode
from outlast.spec.spec import Rented

Document = dict[str, Any]

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NETWORK = "global/networks/default"
COMMAND_CHARACTERS_MAX = 4000
RUN_DURATION = "maxRunDuration"
STAYS = "outlast-stays"
"""Of a machine whose run Google limits by money: it does not power off where it reaches nobody, since it would be made again for ever."""

RUN_SECONDS_MIN, RUN_SECONDS_MAX = 30, 120 * 86400
"""Google takes no shorter duration, and no longer one."""


@cache
def script(name: str) -> str:
    return resources.files("outlast.engines.compute").joinpath(name).read_text("utf-8")


def template(
    launch: Launch,
    rented: Rented,
    variant: Variant,
    number: int,
    metadata: Mapping[str, str],
    *,
    time_scale: float = 1.0,
) -> Document:
    """`time_scale`: of an emulator whose seconds are shorter."""
    labels = names.labels(launch)
    scheduling = _scheduling(launch, rented, variant, time_scale)
    if RUN_DURATION in scheduling:
        metadata = {**metadata, STAYS: "1"}
    properties: Document = {
        "description": f"job {launch.job}, launch {launch.launch}",
        "machineType": rented.machine_type,
        "labels": labels,
        "metadata": {"items": [{"key": key, "value": value} for key, value in metadata.items()]},
        "disks": [_disk(rented, labels)],
        "networkInterfaces": [_network(rented)],
        "scheduling": scheduling,
        "serviceAccounts": [{"email": rented.service_account or "default", "scopes": [SCOPE]}],
    }
    if rented.accelerator and not rented.accelerator_built_in:
        properties["guestAccelerators"] = [
            {"acceleratorType": rented.accelerator, "acceleratorCount": launch.machine.gpus}
        ]
    return {"name": names.template_name(launch.id, number), "properties": properties}


def _disk(rented: Rented, labels: Mapping[str, str]) -> Document:
    return {
        "boot": True,
        "autoDelete": True,
        "type": "PERSISTENT",
        "initializeParams": {
            "sourceImage": rented.image,
            "diskSizeGb": str(rented.disk_gb),
            "diskType": rented.disk_type,
            "labels": dict(labels),
        },
    }


def interface(network: str) -> Document:
    """A template takes no bare name."""
    path = (network if "/" in network else f"global/networks/{network}") if network else NETWORK
    return {"subnetwork" if "/subnetworks/" in path else "network": path}


def _network(rented: Rented) -> Document:
    made = interface(rented.network)
    if rented.external_ip:
        made["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]
    return made


def _scheduling(launch: Launch, rented: Rented, variant: Variant, time_scale: float) -> Document:
    scheduling: Document = {"automaticRestart": False, "onHostMaintenance": "TERMINATE"}
    if rented.spot:
        scheduling |= {"provisioningModel": "SPOT", "preemptible": True}
    else:
        scheduling |= {"provisioningModel": "STANDARD"}
        if not rented.accelerator:
            scheduling["onHostMaintenance"] = "MIGRATE"
    if variant.action:
        scheduling["instanceTerminationAction"] = variant.action
    if variant.notice:
        scheduling["preemptionNoticeDuration"] = {"seconds": str(NOTICE_SECONDS)}
    if variant.timed:
        scheduling |= _limit(launch, time_scale)
    return scheduling


def _limit(launch: Launch, time_scale: float) -> Document:
    """When Google itself ends a machine of which nothing of ours is alive: it takes one of these two, so the nearer one.

    A run duration begins anew with each machine, and a group is smaller by one that has reached it. None does that can still leave by
    itself, but for those that wait for a home that nobody reaches.
    """
    seconds = launch.paid_seconds
    if seconds is None or launch.asked_at + seconds >= launch.deadline_at:
        return {"terminationTime": _time(launch.deadline_at)}
    seconds = min(RUN_SECONDS_MAX, max(RUN_SECONDS_MIN, seconds / time_scale))
    return {RUN_DURATION: {"seconds": str(math.ceil(seconds))}}


def group(launch: Launch, rented: Rented, template_path: str, *, moves: bool) -> Document:
    """`moves`: a machine that is replaced may come back in another zone."""
    policy: Document = {"targetShape": "ANY"}
    if rented.zones:
        policy["zones"] = [{"zone": f"projects/{rented.project}/zones/{zone}"} for zone in rented.zones]
    lifecycle: Document = {"defaultActionOnFailure": "REPAIR", "forceUpdateOnRepair": "YES"}
    if moves:
        lifecycle["onRepair"] = {"allowChangingZone": "YES"}
    zones = max(3, len(rented.zones))
    return {
        "name": names.group_name(launch.id),
        "description": f"outlast: job {launch.job}, launch {launch.launch}",
        "baseInstanceName": f"{names.group_name(launch.id)}-#[0]",
        "targetSize": launch.workers,
        "versions": [{"instanceTemplate": template_path}],
        "distributionPolicy": policy,
        "instanceLifecyclePolicy": lifecycle,
        "updatePolicy": {
            "type": "OPPORTUNISTIC",
            "minimalAction": "REPLACE",
            "instanceRedistributionType": "NONE",
            "maxSurge": {"fixed": 0},
            "maxUnavailable": {"fixed": zones},
        },
        "allInstancesConfig": {"properties": {"labels": names.labels(launch)}},
    }


def stopped(launch: Launch, rented: Rented) -> Document:
    """Costs nothing, and is never used."""
    return {
        "name": names.stopped_name(launch.id),
        "properties": {
            "machineType": rented.machine_type,
            "labels": {**names.labels(launch), names.KIND_LABEL: names.STOPPED},
            "disks": [_disk(rented, {})],
            "networkInterfaces": [interface(rented.network)],
        },
    }


def metadata(
    launch: Launch,
    rented: Rented,
    *,
    storage: str,
    group_url: str,
    notice_seconds: float,
    time_scale: float,
    environ: Mapping[str, str],
    program: str = "",
) -> dict[str, str]:
    """The script reads the first ones, word by word; the agent reads `outlast`."""
    bucket = names.bucket_of(launch.home)
    told = told_of(
        launch, rented, notice_seconds=notice_seconds, time_scale=time_scale, program=program, environ=environ
    )
    return {
        "startup-script": script("startup.sh"),
        "shutdown-script": script("shutdown.sh"),
        "outlast-storage": storage,
        "outlast-bucket": bucket.name,
        "outlast-boots": quote(bucket.object(launch.boots), safe=""),
        "outlast-agent": quote(bucket.object(launch.agent), safe=""),
        "outlast-group": group_url,
        ATTRIBUTE: encode(told).decode(),
        "outlast-job": launch.job,
        "outlast-command": launch.command[:COMMAND_CHARACTERS_MAX],
        "enable-guest-attributes": "TRUE",
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
