"""Logistic regression in numpy, written the way numpy is written: every step makes new arrays and binds them to old names."""

from __future__ import annotations

import argparse

import numpy as np

import outlast


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()

    data = np.random.default_rng(1)
    inputs = data.normal(size=(512, 32))
    labels = (inputs @ data.normal(size=32) + 0.5 * data.normal(size=512) > 0).astype(float)

    np.random.seed(3)  # the global generator is saved and restored without being named
    state = outlast.State(w=np.zeros(32), mean=np.zeros(32), rng=np.random.default_rng(2), best=float("inf"))
    for step in outlast.steps(arguments.steps, state, save_steps=25):
        chosen = state.rng.permutation(len(inputs))[:64]
        noise = np.random.normal(scale=0.1, size=(64, 32))
        batch = inputs[chosen] + noise
        for _ in range(60):  # stands for a larger model, so that a step takes a while
            guess = 1.0 / (1.0 + np.exp(-(batch @ state.w)))
        state.w = state.w - 0.05 * (batch.T @ (guess - labels[chosen])) / len(chosen)
        state.mean = state.mean + (state.w - state.mean) / (step + 1)
        everywhere = 1.0 / (1.0 + np.exp(-(inputs @ state.mean)))
        loss = float(-np.mean(np.log(np.where(labels > 0.5, everywhere, 1.0 - everywhere) + 1e-12)))
        state.best = min(state.best, loss)
        outlast.log(loss=loss)

    np.savez(outlast.output_dir() / "model.npz", w=state.w, mean=state.mean, best=state.best)
    print(f"best loss {state.best:.6f}")


if __name__ == "__main__":
    main()
