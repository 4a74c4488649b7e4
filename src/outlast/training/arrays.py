"""Arrays of numpy, torch and JAX as what they have in common: a type, a shape and bytes."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterator
from typing import Any, Protocol

from outlast.training.fielded import fielded

SAFETENSORS_DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
}
"""Exact names by which other readers know our types. What is not here is stored as bytes (U8); state.json has its name."""


@fielded(frozen=True)
class Layout:
    """What must be known of an array to make it again from its bytes (row-major, in its own byte order)."""

    library: str
    dtype: str
    shape: tuple[int, ...]
    item_bytes: int
    nbytes: int
    note: str = ""
    """What else its library needs: the kind of a JAX key, "grad" for a torch tensor that wants gradients."""

    strides: tuple[int, ...] = ()
    """From element to element, per axis, of an array that lies otherwise than row by row: sums of it are rounded in that order."""


class Library(Protocol):
    """One array library that the script has imported. Nothing here imports one by itself but to restore."""

    name: str

    def holds(self, value: object) -> bool: ...

    def layout(self, value: Any) -> Layout:
        """TypeError with the reason if this array has no bytes of its own to save."""
        ...

    def identity(self, value: Any) -> Hashable:
        """Equal for two arrays that are the same memory seen in the same way."""
        ...

    def span(self, value: Any) -> tuple[str, int, int]:
        """The memory that it lies in: where, and its first byte and the one after its last. Only arrays that can be filled are asked."""
        ...

    def write_into(self, value: Any, target: memoryview) -> None:
        """Copies the array's bytes; `target` is exactly as long as they are and never empty."""
        ...

    def raw(self, value: Any) -> memoryview:
        """The array's bytes, without a copy where it lies in this machine's memory in one piece."""
        ...

    def build(self, layout: Layout, source: memoryview) -> Any:
        """A new array with memory of its own."""
        ...

    def is_laid_out(self, live: Any, layout: Layout) -> bool:
        """Whether an array of that type and shape lies in memory as the saved one did."""
        ...

    def assign(self, live: Any, layout: Layout, source: memoryview) -> bool:
        """Copies into an existing array if type and shape are the same and it may be written to; else False."""
        ...

    def build_like(self, live: Any, layout: Layout, source: memoryview) -> Any:
        """A new array that lives where `live` does (its device)."""
        ...


SPREAD_MAX = 2
"""An array that takes up more than so many times its own size, a column of a large table, is laid out row by row again."""


def strides_kept(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """What of these strides (in elements, of an array that does not lie row by row) is kept with it; none if it overlaps itself."""
    kept = tuple(step if size > 1 else 0 for size, step in zip(shape, strides, strict=True))
    count = math.prod(shape)
    if any(size > 1 and step == 0 for size, step in zip(shape, kept, strict=True)):
        return ()
    return kept if count <= extent(shape, kept)[1] <= SPREAD_MAX * count else ()


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """How many elements lie before the first one in memory, and how many places there are between the outermost two."""
    steps = [step * (size - 1) for size, step in zip(shape, strides, strict=True)]
    before = -sum(step for step in steps if step < 0)
    return before, before + sum(step for step in steps if step > 0) + 1


def loaded_libraries() -> Iterator[Library]:
    """Those that this process has imported: only they can have made an array."""
    if "torch" in sys.modules:
        from outlast.training import arrays_torch

        yield arrays_torch.TORCH
    if "numpy" in sys.modules:
        from outlast.training import arrays_numpy

        yield arrays_numpy.NUMPY
    if "jax" in sys.modules:
        from outlast.training import arrays_jax

        yield arrays_jax.JAX


def library_of(value: object) -> Library | None:
    for library in loaded_libraries():
        if library.holds(value):
            return library
    return None


def library_named(name: str) -> Library:
    """For restoring. Importing the library itself may fail: then the script has lost what it was trained with."""
    if name == "torch":
        from outlast.training import arrays_torch

        return arrays_torch.TORCH
    if name == "numpy":
        from outlast.training import arrays_numpy

        return arrays_numpy.NUMPY
    if name == "jax":
        from outlast.training import arrays_jax

        return arrays_jax.JAX
    raise ValueError(f"no array library is called {name!r}")
