"""How long training stands still for a save, against a warm one-thread copy of the same bytes.

    python bench/stall.py [MIB]

Interleaved in one process, medians of ten: copy, save of numpy arrays, copy, save of torch tensors. What is timed is the
boundary of `outlast.steps` at which the snapshot is taken; writing goes on behind it and is waited for outside of the time.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 10
TENSORS = 64


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class Copy:
    """One thread, memory that has been touched before: the least that any snapshot in memory must do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.source = ctypes.create_string_buffer(os.urandom(1) * size, size)
        self.target = ctypes.create_string_buffer(size)

    def __call__(self) -> float:
        return timed(lambda: ctypes.memmove(self.target, self.source, self.size))


class Save:
    """A loop whose state is so large; every boundary saves."""

    def __init__(self, folder: Path, parts: dict[str, Any], name: str) -> None:
        import outlast
        from outlast.training import context

        os.environ["OUTLAST_RUN_DIR"] = str(folder / name)
        context.forget()
        self.arrays = list(parts["arrays"])
        self.loop = outlast.steps(10**9, outlast.State(**parts), save_steps=10**9, name=name)
        next(self.loop)
        self.saver = self.loop._loop.context.saver
        self()
        self()

    def __call__(self) -> float:
        for array in self.arrays:
            array[0] += 1  # a step of training
        self.saver._arena.wait()
        self.loop.save()
        before = self.saver._number
        seconds = timed(lambda: next(self.loop))
        self.saver.wait()
        if self.saver._number == before and self.saver._arena.ready(1):
            return self()
        return seconds


def measure(mebibytes: int) -> dict[str, float]:
    import numpy
    import torch

    size = mebibytes << 20
    each = size // TENSORS // 4
    with tempfile.TemporaryDirectory(dir=os.environ.get("OUTLAST_BENCH_DIR")) as name:
        copy = Copy(size)
        arrays = [numpy.random.default_rng(i).random(each, dtype=numpy.float32) for i in range(TENSORS)]
        tensors = [torch.rand(each) for _ in range(TENSORS)]
        saves = {
            kind: Save(Path(name), {"arrays": made}, kind) for kind, made in (("numpy", arrays), ("torch", tensors))
        }
        times: dict[str, list[float]] = {"copy": [], "numpy": [], "torch": []}
        for _ in range(ROUNDS):
            for kind, save in saves.items():
                times["copy"].append(copy())
                times[kind].append(save())
    return {kind: statistics.median(values) for kind, values in times.items()}


def main() -> None:
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    medians = measure(mebibytes)
    per_gib = 1024 / mebibytes
    print(f"warm one-thread copy   {medians['copy'] * per_gib:6.3f} s per GiB")
    for kind in ("numpy", "torch"):
        ratio = medians[kind] / medians["copy"]
        print(f"stall of a {kind} save {medians[kind] * per_gib:6.3f} s per GiB   {ratio:4.2f}x")


if __name__ == "__main__":
    main()
