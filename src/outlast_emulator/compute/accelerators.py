"""Accelerators: which there are, where, how many a machine can have, and what an hour of one costs.

Zones as of 2026-08-21; prices in USD, list price of us-central1 (where it is offered there) on demand and as Spot.
"""

from __future__ import annotations

from typing import NamedTuple


class Accelerator(NamedTuple):
    title: str
    cards_max: int
    usd: float
    spot_usd: float
    metric: str
    """In the names of quotas."""
    zones: frozenset[str]


def _zones(text: str) -> frozenset[str]:
    """`us-central1-abc` is three zones."""
    return frozenset(f"{region}-{letter}" for region, _, letters in map(_split, text.split()) for letter in letters)


def _split(word: str) -> tuple[str, str, str]:
    return word.rpartition("-")


ACCELERATORS: dict[str, Accelerator] = {
    "nvidia-tesla-t4": Accelerator(
        "NVIDIA T4",
        4,
        0.35,
        0.1905,
        "NVIDIA_T4",
        _zones(
            "asia-east1-ac asia-east2-ac asia-northeast1-ac asia-northeast3-bc asia-south1-ab "
            "asia-southeast1-abc asia-southeast2-ab australia-southeast1-ac europe-central2-bc "
            "europe-west1-bcd europe-west2-ab europe-west3-b europe-west4-abc me-west1-bc "
            "northamerica-northeast1-c southamerica-east1-abc us-central1-abcf us-east1-bcd us-east4-abc "
            "us-west1-ab us-west2-bc us-west3-b us-west4-ab"
        ),
    ),
    "nvidia-tesla-p4": Accelerator(
        "NVIDIA Tesla P4",
        4,
        0.6,
        0.24,
        "NVIDIA_P4",
        _zones(
            "asia-southeast1-abc australia-southeast1-ab europe-west4-bc northamerica-northeast1-abc "
            "us-central1-ac us-east4-abc us-west2-bc"
        ),
    ),
    "nvidia-tesla-v100": Accelerator(
        "NVIDIA V100",
        8,
        2.48,
        1.357,
        "NVIDIA_V100",
        _zones("asia-east1-c europe-west4-abc us-central1-abcf us-east1-bc us-west1-ab"),
    ),
    "nvidia-tesla-p100": Accelerator(
        "NVIDIA Tesla P100", 4, 1.46, 0.589, "NVIDIA_P100", _zones("us-central1-cf us-west1-ab europe-west4-a")
    ),
    "nvidia-l4": Accelerator(
        "NVIDIA L4",
        8,
        0.56,
        0.336,
        "NVIDIA_L4",
        _zones(
            "asia-east1-abc asia-northeast1-abc asia-northeast3-ab asia-south1-abc asia-southeast1-abc "
            "europe-west1-bc europe-west2-ab europe-west3-ab europe-west4-abc europe-west6-bc me-central2-ac "
            "northamerica-northeast1-bc northamerica-northeast2-ab us-central1-abc us-east1-bcd us-east4-ac "
            "us-west1-abc us-west4-ac"
        ),
    ),
    "nvidia-tesla-a100": Accelerator(
        "NVIDIA A100 40GB",
        16,
        2.934,
        1.694,
        "NVIDIA_A100",
        _zones(
            "asia-northeast1-ac asia-northeast3-ab asia-southeast1-abc europe-west4-ab me-west1-ac "
            "us-central1-abcf us-east1-b us-west1-b us-west3-b us-west4-b"
        ),
    ),
    "nvidia-a100-80gb": Accelerator(
        "NVIDIA A100 80GB",
        8,
        3.928,
        2.268,
        "NVIDIA_A100_80GB",
        _zones("asia-southeast1-c europe-west4-a us-central1-ac us-east4-c us-east5-ab"),
    ),
    "nvidia-h100-80gb": Accelerator(
        "NVIDIA H100 80GB",
        8,
        9.797,
        5.878,
        "NVIDIA_H100",
        _zones(
            "asia-east1-c asia-northeast1-b asia-south1-c asia-south2-b asia-southeast1-bc "
            "australia-southeast1-c europe-north1-c europe-west1-bc europe-west3-c europe-west4-bc "
            "europe-west9-c us-central1-abc us-east4-abc us-east5-a us-west1-ab us-west4-a"
        ),
    ),
    "nvidia-h100-mega-80gb": Accelerator(
        "NVIDIA H100 80GB MEGA",
        8,
        10.2,
        6.1,
        "NVIDIA_H100_MEGA",
        _zones("europe-west1-bc europe-west4-bc us-central1-abc us-east4-abc us-west1-ab us-west4-a"),
    ),
    "nvidia-h200-141gb": Accelerator(
        "NVIDIA H200 141GB",
        8,
        9.31,
        5.378,
        "NVIDIA_H200",
        _zones("asia-south1-b europe-west1-b europe-west4-a us-central1-b us-east4-b us-south1-b us-west1-c"),
    ),
    "nvidia-b200": Accelerator(
        "NVIDIA B200 180GB",
        8,
        11.278,
        4.954,
        "NVIDIA_B200",
        _zones(
            "asia-northeast1-b asia-southeast1-b europe-north1-b europe-west4-b us-central1-b us-east1-b "
            "us-east4-b us-south1-b us-west2-c us-west3-bc"
        ),
    ),
    "nvidia-rtx-pro-6000": Accelerator(
        "NVIDIA RTX PRO 6000", 8, 1.096, 0.482, "NVIDIA_RTX_PRO_6000", _zones("us-central1-b")
    ),
}


def in_zone(name: str, zone: str) -> bool:
    known = ACCELERATORS.get(name)
    return known is not None and zone in known.zones
