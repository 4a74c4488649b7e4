"""What a new custom job must look like: 400, in Google's words as far as they are known."""

from __future__ import annotations

import re
from typing import Any

from outlast_emulator.errors import ApiError, not_implemented, young
from outlast_emulator.vertex import enums, shapes

NAME_CHARACTERS_MAX = 128
POOLS_MAX = 4
ENVIRONMENT_MAX = 100
LABELS_MAX = 64
LABEL_CHARACTERS_MAX = 64
WEEK_SECONDS = 7 * 24 * 3600.0
STRATEGIES = ("STRATEGY_UNSPECIFIED", "ON_DEMAND", "LOW_COST", "STANDARD", "SPOT", "FLEX_START")
ABSENT = ("persistentResourceId", "pscInterfaceConfig")
ABSENT_OF_POOL = ("pythonPackageSpec", "nfsMounts", "lustreMounts")
ABSENT_OF_MACHINE = ("gpuPartitionSize", "reservationAffinity")
"""What a job would be run without, if nobody said so: 501."""
MOUNTS = "/gcs/"
_KEY = re.compile(r"[a-z\u00df-\uffff][a-z0-9_\u00df-\uffff-]*")
_VALUE = re.compile(r"[a-z0-9_\u00df-\uffff-]*")
_NETWORK = re.compile(r"projects/\d+/global/networks/[a-z]([-a-z0-9]*[a-z0-9])?")
_OUTPUT = {"name", "state", "createTime", "startTime", "endTime", "updateTime", "error", "webAccessUris"}


def checked(body: dict[str, Any]) -> dict[str, Any]:
    """The job as it is kept: without what only Google says, with what it fills in."""
    found = {name: value for name, value in body.items() if name not in _OUTPUT}
    enums.spell_out(found.get("jobSpec"))
    name = found.get("displayName", "")
    if not name or len(name) > NAME_CHARACTERS_MAX:
        raise _wrong(f"display_name is required, with at most {NAME_CHARACTERS_MAX} characters.")
    _check_labels(found.get("labels", {}))
    spec = found.get("jobSpec") or {}
    pools = spec.get("workerPoolSpecs") or []
    if not pools or not pools[0]:
        raise _wrong("job_spec.worker_pool_specs[0] is required.")
    if len(pools) > POOLS_MAX:
        raise _wrong(f"job_spec.worker_pool_specs has more than {POOLS_MAX} pools.")
    for at, pool in enumerate(pools):
        if pool:
            _check_pool(at, pool)
    for absent in ABSENT:
        if spec.get(absent):
            raise _absent(absent)
    _check_scheduling(spec.get("scheduling", {}), pools)
    network = spec.get("network", "")
    if network and not _NETWORK.fullmatch(network):
        raise _wrong(f"network `{network}` is not projects/NUMBER/global/networks/NAME.")
    output = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "")
    if output and not output.startswith("gs://"):
        raise _wrong(f"base_output_directory.output_uri_prefix `{output}` is not gs://BUCKET/PREFIX.")
    if any(pool.get("machineSpec", {}).get("machineType") in shapes.TPU_TYPES for pool in pools) and len(pools) > 1:
        raise _wrong("A job on TPUs has exactly one worker pool.")
    return found


def _check_pool(at: int, pool: dict[str, Any]) -> None:
    where = f"job_spec.worker_pool_specs[{at}]"
    count = int(pool.setdefault("replicaCount", "1"))
    if count < 1 or (at == 0 and count != 1):
        raise _wrong(f"{where}.replica_count is {count}" + ("; of the first pool it must be 1." if at == 0 else "."))
    pool.setdefault("diskSpec", {}).setdefault("bootDiskType", "pd-ssd")
    pool["diskSpec"].setdefault("bootDiskSizeGb", 100)
    wrong = shapes.wrong_with(pool.get("machineSpec", {}))
    if wrong:
        raise _wrong(f"{where}: {wrong}")
    if ("containerSpec" in pool) == ("pythonPackageSpec" in pool):
        raise _wrong(f"{where} must have either container_spec or python_package_spec.")
    asked = {**{name: pool.get(name) for name in ABSENT_OF_POOL}, **pool["machineSpec"]}
    absent = [name for name in (*ABSENT_OF_POOL, *ABSENT_OF_MACHINE) if asked.get(name)]
    if absent:
        raise _absent(absent[0])
    container = pool["containerSpec"]
    variables = [str(one.get("value", "")) for one in container.get("env", [])]
    if any(MOUNTS in word for word in (*container.get("command", []), *container.get("args", []), *variables)):
        raise _absent(f"`{MOUNTS}BUCKET`: no bucket is mounted")
    if not container.get("imageUri"):
        raise _wrong(f"{where}.container_spec.image_uri is required.")
    environment = container.get("env", [])
    if len(environment) > ENVIRONMENT_MAX:
        raise _wrong(f"{where}.container_spec.env has more than {ENVIRONMENT_MAX} variables.")
    for one in environment:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", one.get("name", "")):
            raise _wrong(f"{where}.container_spec.env: `{one.get('name', '')}` is no name of a variable.")


def _check_scheduling(scheduling: dict[str, Any], pools: list[dict[str, Any]]) -> None:
    strategy = scheduling.get("strategy", "STANDARD")
    if strategy not in STRATEGIES:
        raise _wrong(f"Invalid value at 'custom_job.job_spec.scheduling.strategy', \"{strategy}\"")
    timeout = seconds_of(scheduling.get("timeout", "604800s"))
    if timeout <= 0:
        raise _wrong("scheduling.timeout must be positive.")
    if strategy != "FLEX_START":
        return
    if timeout > WEEK_SECONDS:
        raise _wrong("scheduling.timeout is at most 7 days with FLEX_START.")
    for pool in pools:
        kind = pool.get("machineSpec", {}).get("acceleratorType", "") if pool else "NVIDIA_L4"
        if kind not in shapes.FLEXIBLE:
            raise _wrong(
                f"FLEX_START is not supported for accelerator `{kind or 'none'}`: {', '.join(shapes.FLEXIBLE)}."
            )


def _check_labels(labels: dict[str, str]) -> None:
    if len(labels) > LABELS_MAX:
        raise _wrong(f"A job has at most {LABELS_MAX} labels.")
    for key, value in labels.items():
        long = len(key) > LABEL_CHARACTERS_MAX or len(value) > LABEL_CHARACTERS_MAX
        if long or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise _wrong(
                f"Label `{key}={value}` is not valid: keys and values have at most {LABEL_CHARACTERS_MAX} lowercase letters, "
                "digits, underscores and dashes; keys begin with a letter."
            )


def seconds_of(duration: str) -> float:
    return float(duration.removesuffix("s"))


def _absent(what: str) -> ApiError:
    return not_implemented(f"aiplatform.projects.locations.customJobs.create with {what}")


def _wrong(message: str) -> ApiError:
    return young("INVALID_ARGUMENT", message)
