"""Numbers of words: Google's own client sends `strategy` and `acceleratorType` as numbers, which discovery documents do not tell."""

from __future__ import annotations

from typing import Any

STRATEGIES = {
    0: "STRATEGY_UNSPECIFIED",
    1: "ON_DEMAND",
    2: "LOW_COST",
    3: "STANDARD",
    4: "SPOT",
    6: "FLEX_START",
}
ACCELERATORS = {
    0: "ACCELERATOR_TYPE_UNSPECIFIED",
    1: "NVIDIA_TESLA_K80",
    2: "NVIDIA_TESLA_P100",
    3: "NVIDIA_TESLA_V100",
    4: "NVIDIA_TESLA_P4",
    5: "NVIDIA_TESLA_T4",
    6: "TPU_V2",
    7: "TPU_V3",
    8: "NVIDIA_TESLA_A100",
    9: "NVIDIA_A100_80GB",
    10: "TPU_V4_POD",
    11: "NVIDIA_L4",
    12: "TPU_V5_LITEPOD",
    13: "NVIDIA_H100_80GB",
    14: "NVIDIA_H100_MEGA_80GB",
    15: "NVIDIA_H200_141GB",
    16: "NVIDIA_B200",
    17: "NVIDIA_GB200",
    18: "NVIDIA_RTX_PRO_6000",
}
RESERVATIONS = {0: "TYPE_UNSPECIFIED", 1: "NO_RESERVATION", 2: "ANY_RESERVATION", 3: "SPECIFIC_RESERVATION"}
WORDS = {
    "strategy": STRATEGIES,
    "acceleratorType": ACCELERATORS,
    "reservationAffinityType": RESERVATIONS,
}


def spell_out(value: Any) -> None:
    """In place: each number of a word becomes the word; one that is unknown stays, as a text."""
    if isinstance(value, list):
        for one in value:
            spell_out(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in WORDS and isinstance(one, int):
                value[name] = WORDS[name].get(one, str(one))
            elif name != "env":
                spell_out(one)
