"""Machines that Vertex AI trains on: which types it takes, which accelerators fit, what counts against which quota, what an hour costs."""

from __future__ import annotations

import math
from typing import Any

from outlast_emulator.compute import machine_types
from outlast_emulator.compute.machine_types import MachineType

FAMILIES = ("e2", "n1", "n2", "n4", "c2", "m1", "a2", "a3", "a4", "a4x", "g2", "g4")
"""Of Compute Engine's: Vertex AI has fewer."""
SMALLEST = {"standard": 4, "highmem": 2, "highcpu": 16}
"""vCPUs. Of e2, n1 and n2 it has only these shapes, from here up."""
TPU_TYPES = (
    "cloud-tpu",
    *(f"ct5lp-hightpu-{chips}t" for chips in (1, 4, 8)),
    *(f"ct6e-standard-{chips}t" for chips in (1, 4, 8)),
    "tpu7x-standard-4t",
)
TPU_METRICS = {"cloud": "tpu_v2", "ct5lp": "tpu_v5e", "ct6e": "tpu_v6e", "tpu7x": "tpu_v7x"}
"""By the beginning of the machine's name: what its quota is called."""

ACCELERATORS = {
    "NVIDIA_TESLA_T4": "nvidia-tesla-t4",
    "NVIDIA_TESLA_V100": "nvidia-tesla-v100",
    "NVIDIA_TESLA_P100": "nvidia-tesla-p100",
    "NVIDIA_TESLA_P4": "nvidia-tesla-p4",
    "NVIDIA_TESLA_A100": "nvidia-tesla-a100",
    "NVIDIA_A100_80GB": "nvidia-a100-80gb",
    "NVIDIA_L4": "nvidia-l4",
    "NVIDIA_H100_80GB": "nvidia-h100-80gb",
    "NVIDIA_H100_MEGA_80GB": "nvidia-h100-mega-80gb",
    "NVIDIA_H200_141GB": "nvidia-h200-141gb",
    "NVIDIA_B200": "nvidia-b200",
    "NVIDIA_RTX_PRO_6000": "nvidia-rtx-pro-6000",
}
"""Vertex AI's name -> Compute Engine's."""
ATTACHED = {
    "NVIDIA_TESLA_T4": (1, 2, 4),
    "NVIDIA_TESLA_V100": (1, 2, 4, 8),
    "NVIDIA_TESLA_P100": (1, 2, 4),
    "NVIDIA_TESLA_P4": (1, 2, 4),
}
"""What N1 machines may have, and how many."""
FLEXIBLE = (
    "NVIDIA_L4",
    "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB",
    "NVIDIA_H100_80GB",
    "NVIDIA_H100_MEGA_80GB",
    "NVIDIA_H200_141GB",
    "NVIDIA_B200",
)
"""What can be waited for with FLEX_START."""

FEE = 0.15
"""What Vertex AI adds to the price on demand of the machine below, whatever that itself costs."""


def machine(name: str) -> MachineType | None:
    found = machine_types.TYPES.get(name)
    if found is None or found.family not in FAMILIES:
        return None
    shape = name.split("-")[1]
    return None if found.family in ("e2", "n1", "n2") and found.cpus < SMALLEST.get(shape, 1 << 20) else found


def wrong_with(spec: dict[str, Any]) -> str:
    """What is wrong with a machine, in Google's words as far as they are known; "": nothing."""
    name = str(spec.get("machineType", ""))
    if not name:
        return "machine_spec.machine_type is required."
    kind, count = str(spec.get("acceleratorType", "")), int(spec.get("acceleratorCount", 0))
    if kind == "ACCELERATOR_TYPE_UNSPECIFIED":
        kind = ""
    if name in TPU_TYPES:
        return ""
    known = machine(name)
    if known is None:
        return f'Machine type "{name}" is not supported.'
    if bool(kind) != bool(count):
        return "accelerator_type and accelerator_count are set together or not at all."
    if kind and kind not in ACCELERATORS:
        return f'Accelerator type "{kind}" is not supported.'
    if known.accelerator:
        own = next((one for one, other in ACCELERATORS.items() if other == known.accelerator), "")
        if (kind, count) != (own, known.accelerators):
            return (
                f'Machine type "{name}" has {known.accelerators} of accelerator "{own}": '
                "accelerator_type and accelerator_count must say so."
            )
        return ""
    if kind and (known.family != "n1" or count not in ATTACHED.get(kind, ())):
        return f'Machine type "{name}" does not support {count} of accelerator "{kind}".'
    return ""


def metrics(spec: dict[str, Any], replicas: int, *, preemptible: bool) -> dict[str, float]:
    """Quota -> how much of it a pool takes. Spot and FLEX_START have quotas of their own."""
    beginning = "custom_model_training_preemptible_" if preemptible else "custom_model_training_"
    kind, count = str(spec.get("acceleratorType", "")), int(spec.get("acceleratorCount", 0))
    name = str(spec.get("machineType", ""))
    if name in TPU_TYPES:
        tpu = kind.lower() or TPU_METRICS[name.partition("-")[0]]
        sides = [int(side) for side in str(spec.get("tpuTopology", "")).split("x") if side.isdigit()]
        return {f"custom_model_training_{tpu}": float((count or math.prod(sides)) * replicas)}
    known = machine(name)
    found: dict[str, float] = {}
    if known is not None:
        family = "" if known.family in ("n1", "e2") else f"{known.family}_"
        found[f"{beginning}{family}cpus"] = float(known.cpus * replicas)
    if kind:
        card = kind.removeprefix("NVIDIA_").removeprefix("TESLA_").lower()
        found[f"{beginning}nvidia_{card}_gpus"] = float(count * replicas)
    return found


def usd_per_hour(spec: dict[str, Any], *, spot: bool) -> float:
    known = machine(str(spec.get("machineType", "")))
    if known is None:
        return 0.0
    name = ACCELERATORS.get(str(spec.get("acceleratorType", "")), "")
    attached = {name: int(spec.get("acceleratorCount", 0))} if name and not known.accelerator else {}
    full = machine_types.usd_per_hour(known, attached, False)
    return machine_types.usd_per_hour(known, attached, spot) + FEE * full
