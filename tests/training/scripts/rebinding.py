"""numpy, rebound at every step; writes what it ended with."""

import sys
import time

import numpy as np

import outlast

np.random.seed(0)
total, seconds = int(sys.argv[1]), float(sys.argv[2])
state = outlast.State(w=np.zeros(50_000), m=np.zeros(50_000), rng=np.random.default_rng(1), best=1e9)
with open(outlast.output_dir() / "log.csv", "a") as log:
    for step in outlast.steps(total, state, save_every=0.03):
        g = np.random.normal(size=50_000) + state.rng.normal(size=50_000)
        state.m = 0.9 * state.m + g
        state.w = state.w - 0.1 * state.m
        state.best = min(state.best, float(np.abs(state.w).mean()))
        outlast.log(best=state.best)
        log.write(f"{step},{state.best!r}\n")
        log.flush()
        time.sleep(seconds)
np.savez(outlast.output_dir() / "model.npz", w=state.w, m=state.m, best=state.best, next=np.random.random())
print("done")
