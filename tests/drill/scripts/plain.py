"""A training without any library, as the control scripts share it: a weighted walk that only needs its numbers and its generator."""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from typing import Any

KEPT_SECONDS_MAX = 120.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--step-seconds", type=float, default=0.05)
    parser.add_argument("--save-steps", type=int, default=16)
    parser.add_argument("--kept", default="", help="a directory with a file for each save of a job that is committed")
    given = parser.parse_args()
    os.makedirs("checkpoints", exist_ok=True)
    os.makedirs("results", exist_ok=True)
    return given


def begin() -> dict[str, Any]:
    return {"step": 0, "weights": [0.0] * 200, "chance": _packed(random.Random(1))}


def load(path: str) -> dict[str, Any]:
    with open(path) as file:
        return dict(json.load(file))


def train_step(state: dict[str, Any], seconds: float) -> None:
    chance = random.Random()
    version, numbers, gauss = state["chance"]
    chance.setstate((version, tuple(numbers), gauss))
    state["weights"] = [0.9 * weight + chance.gauss(0, 1) for weight in state["weights"]]
    state["chance"] = _packed(chance)
    state["step"] += 1
    time.sleep(seconds)


def save(state: dict[str, Any], path: str = "checkpoints/last.json") -> None:
    """Whoever looks sees the old one or the new one."""
    with open(path + ".tmp", "w") as file:
        json.dump(state, file)
    os.replace(path + ".tmp", path)


def wait_until_kept(given: argparse.Namespace, saves: int) -> None:
    """Until so many saves of this job are committed, if anybody says when that is."""
    give_up_at = time.monotonic() + KEPT_SECONDS_MAX
    while given.kept and saves and not os.path.exists(f"{given.kept}/{os.environ['OUTLAST_JOB']}-{saves}"):
        if time.monotonic() > give_up_at:
            raise SystemExit(f"save {saves} was not kept")
        time.sleep(0.01)


def finish(state: dict[str, Any]) -> None:
    with open("results/model.json", "w") as file:
        json.dump({"weights": state["weights"], "step": state["step"]}, file)


def _packed(chance: random.Random) -> list[Any]:
    version, numbers, gauss = chance.getstate()
    return [version, list(numbers), gauss]
