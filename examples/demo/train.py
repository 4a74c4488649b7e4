"""A small neural network in plain Python learns to tell two spirals apart: a real training that needs nothing installed.

`outlast run train.py` trains it; `outlast drill train.py` trains it twice, once with its machine killed, and compares.
"""

from __future__ import annotations

import argparse
import json
import math
import random

import outlast

Vector = list[float]
HIDDEN = 32
BATCH = 32
POINTS = 240


def spirals(chance: random.Random) -> list[tuple[float, float, float]]:
    """Points of two arms that wind around each other, with a little noise: (x, y, which arm)."""
    points = []
    for i in range(POINTS):
        arm = i % 2
        turn = 0.5 + 3.2 * math.pi * i / POINTS
        radius = turn / (3.2 * math.pi)
        angle = turn + math.pi * arm
        noise_x, noise_y = chance.gauss(0, 0.02), chance.gauss(0, 0.02)
        points.append((radius * math.cos(angle) + noise_x, radius * math.sin(angle) + noise_y, float(arm)))
    return points


def new_weights(chance: random.Random) -> dict[str, Vector]:
    """One hidden layer: two inputs and a bias for each hidden unit, then one output."""
    return {
        "x": [chance.gauss(0, 3) for _ in range(HIDDEN)],
        "y": [chance.gauss(0, 3) for _ in range(HIDDEN)],
        "bias": [chance.gauss(0, 1) for _ in range(HIDDEN)],
        "out": [chance.gauss(0, 0.3) for _ in range(HIDDEN + 1)],
    }


def predict(weights: dict[str, Vector], x: float, y: float) -> tuple[Vector, float]:
    """The hidden activations, and the probability that the point lies on the second arm."""
    hidden = [math.tanh(a * x + b * y + c) for a, b, c in zip(weights["x"], weights["y"], weights["bias"], strict=True)]
    score = sum(h * w for h, w in zip(hidden, weights["out"], strict=False)) + weights["out"][-1]
    return hidden, 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))


def gradient(weights: dict[str, Vector], batch: list[tuple[float, float, float]]) -> tuple[dict[str, Vector], float]:
    """The gradient of the mean cross-entropy over the batch, and that loss."""
    slope = {name: [0.0] * len(values) for name, values in weights.items()}
    loss = 0.0
    for x, y, arm in batch:
        hidden, probability = predict(weights, x, y)
        loss -= math.log(max(1e-12, probability if arm else 1.0 - probability)) / len(batch)
        error = (probability - arm) / len(batch)
        for i, h in enumerate(hidden):
            back = error * weights["out"][i] * (1.0 - h * h)
            slope["out"][i] += error * h
            slope["x"][i] += back * x
            slope["y"][i] += back * y
            slope["bias"][i] += back
        slope["out"][-1] += error
    return slope, loss


def apply_gradient(weights: dict[str, Vector], speed: dict[str, Vector], slope: dict[str, Vector], rate: float) -> None:
    """Gradient descent with momentum, in place."""
    for name, values in weights.items():
        for i, amount in enumerate(slope[name]):
            speed[name][i] = 0.9 * speed[name][i] - rate * amount
            values[i] += speed[name][i]


def accuracy(weights: dict[str, Vector], points: list[tuple[float, float, float]]) -> float:
    right = sum((predict(weights, x, y)[1] > 0.5) == bool(arm) for x, y, arm in points)
    return right / len(points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--rate", type=float, default=0.1)
    arguments = parser.parse_args()

    random.seed(7)
    points = spirals(random.Random(1))
    weights = new_weights(random.Random(2))
    speed = {name: [0.0] * len(values) for name, values in weights.items()}
    state = outlast.State(weights=weights, speed=speed, loss=0.0)

    for step in outlast.steps(arguments.steps, state, save_steps=max(1, arguments.steps // 20)):
        # The batch is drawn from the global generator, which outlast saves and restores with the rest.
        slope, loss = gradient(state.weights, random.sample(points, BATCH))
        apply_gradient(state.weights, state.speed, slope, arguments.rate)
        state.loss = 0.98 * state.loss + 0.02 * loss if step else loss
        if step % 250 == 0:
            outlast.log(loss=state.loss)
            print(f"step {step:5d}  loss {state.loss:.4f}", flush=True)

    right = accuracy(state.weights, points)
    print(f"done: {right:.1%} of the points are told apart", flush=True)
    model = {"weights": state.weights, "loss": state.loss, "accuracy": right}
    (outlast.output_dir() / "model.json").write_text(json.dumps(model, indent=1) + "\n")


if __name__ == "__main__":
    main()
