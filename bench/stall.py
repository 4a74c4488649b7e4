"""How long training stands still for a save, against a warm one-thread copy of the same bytes.

What is timed is the boundary of `outlast.steps` at which the snapshot is taken; writing goes on behind it and is waited for
outside of the time. By itself: `python -m bench.stall [MIB]`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.measure import Row, interleaved, ratio_row, wall

MEBIBYTES = 1024
TENSORS = 64
LIMIT = 1.5


class Copy:
    """One thread, memory that has been touched before: the least that any snapshot in memory must do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.source = ctypes.create_string_buffer(b"x" * size, size)
        self.target = ctypes.create_string_buffer(size)

    def __call__(self) -> float:
        return wall(lambda: ctypes.memmove(self.target, self.source, self.size))()


class Save:
    """A loop whose state is so large; every boundary that is asked to saves."""

    def __init__(self, folder: Path, arrays: list[Any]) -> None:
        import outlast
        from outlast.training import context

        os.environ["OUTLAST_RUN_DIR"] = str(folder)
        context.forget()
        self.arrays = arrays
        self.loop = outlast.steps(10**9, outlast.State(arrays=arrays), save_every="1000h", name=folder.name)
        next(self.loop)
        self.saver = context.current().saver
        self()  # makes the memory ready

    def __call__(self) -> float:
        while True:
            for array in self.arrays:
                array[0] += 1  # a step of training
            self.saver.wait()
            before = self.saver.saved_step
            self.loop.save()
            seconds = wall(lambda: next(self.loop))()
            if self.saver.saved_step != before:
                self.saver.wait()
                return seconds
            self.saver.wait_for_memory()


def rows(scratch: Path, mebibytes: int = MEBIBYTES) -> Iterator[Row]:
    import numpy
    import torch

    size = mebibytes << 20
    each = size // TENSORS // 4
    chance = numpy.random.default_rng(1)
    contenders: dict[str, Callable[[], float]] = {
        "copy": Copy(size),
        "numpy": Save(scratch / "numpy", [chance.random(each, dtype=numpy.float32) for _ in range(TENSORS)]),
        "torch": Save(scratch / "torch", [torch.rand(each) for _ in range(TENSORS)]),
    }
    medians = interleaved(contenders)

    def per_gib(seconds: float) -> str:
        return f"{seconds * 1024 / mebibytes:.3f} s"

    for kind, named in (("numpy", "numpy arrays"), ("torch", "torch tensors")):
        what = f"training stall per GiB of {named} saved"
        yield ratio_row(what, medians[kind], medians["copy"], "warm one-thread memory copy", LIMIT, per_gib)


def main() -> None:
    mebibytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEBIBYTES
    with tempfile.TemporaryDirectory() as scratch:
        for row in rows(Path(scratch), mebibytes):
            print(f"{row.what}: {row.ours}; {row.against}; {row.ratio} (at most {row.limit})")


if __name__ == "__main__":
    main()
