"""A script that has never heard of outlast: it keeps its own checkpoint and can be told to resume from one.

`outlast run --checkpoint-dir checkpoints --output-dir results --resume-args "--resume checkpoints/last.npz" train.py`
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np

CHECKPOINT = "checkpoints/last.npz"


def save(path: str, **arrays: np.ndarray) -> None:
    """Written beside its place and renamed into it: whoever looks sees the old one or the new one."""
    with open(path + ".tmp", "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", metavar="PATH")
    parser.add_argument("--steps", type=int, default=240)
    arguments = parser.parse_args()

    os.makedirs("checkpoints", exist_ok=True)
    os.makedirs("results", exist_ok=True)
    data = np.random.default_rng(1)
    inputs = data.normal(size=(256, 16))
    targets = np.tanh(inputs @ data.normal(size=16))

    chance = np.random.default_rng(2)
    weights, first = np.zeros(16), 0
    if arguments.resume:
        with np.load(arguments.resume) as saved:
            weights, first = saved["weights"], int(saved["step"])
            chance.bit_generator.state = json.loads(str(saved["chance"]))

    for step in range(first, arguments.steps):
        chosen = chance.choice(len(inputs), 32)
        error = inputs[chosen] @ weights - targets[chosen]
        weights = weights - 0.05 * inputs[chosen].T @ error / len(chosen)
        time.sleep(0.025)  # stands for a larger model
        if (step + 1) % 40 == 0:
            state = json.dumps(chance.bit_generator.state)
            save(CHECKPOINT, weights=weights, step=np.array(step + 1), chance=np.array(state))
            print(f"step {step + 1}: mean error {np.abs(inputs @ weights - targets).mean():.4f}", flush=True)

    np.savez("results/model.npz", weights=weights)


if __name__ == "__main__":
    main()
