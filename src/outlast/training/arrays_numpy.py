"""numpy's arrays."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable
from typing import Any

from outlast.training.arrays import Layout, extent, strides_kept

_PLAIN_KINDS = "biufcmMSU"
"""bool, integers, floats, complex, times and fixed-width text: their bytes are all there is to them."""


def _numpy() -> Any:
    return sys.modules.get("numpy") or importlib.import_module("numpy")


_names: dict[Any, str] = {}
"""Of numbers, of which there are few types; numpy puts a name together each time that it is asked for."""


def dtype_name(dtype: Any) -> str:
    """A name that `dtype_named` understands: `float32` where the order of bytes is the usual one, else numpy's own `>f4`."""
    if dtype.kind not in "biufc":
        return _new_dtype_name(dtype)
    name = _names.get(dtype)
    if name is None:
        name = _names[dtype] = _new_dtype_name(dtype)
    return name


def _new_dtype_name(dtype: Any) -> str:
    if dtype.kind == "V" and dtype.names is None and dtype.type.__module__ == "ml_dtypes":
        return str(dtype.name)  # bfloat16, float8_e4m3fn and the like: numpy itself knows them only as two or one bytes
    if dtype.kind not in _PLAIN_KINDS or dtype.hasobject:
        raise TypeError(f"an array of dtype `{dtype}` cannot be saved as bytes")
    return str(dtype.name) if dtype.kind in "biufc" and dtype.isnative else str(dtype.str)


def dtype_named(name: str) -> Any:
    try:
        return _numpy().dtype(name)
    except TypeError:
        return _numpy().dtype(getattr(importlib.import_module("ml_dtypes"), name))


def _strides(value: Any) -> tuple[int, ...]:
    """In elements; nothing if it lies row by row, or cannot be laid out again as it is."""
    width = value.dtype.itemsize
    if value.flags.c_contiguous or any(step % width for step in value.strides):
        return ()
    return strides_kept(value.shape, tuple(step // width for step in value.strides))


class NumpyLibrary:
    name = "numpy"

    def holds(self, value: object) -> bool:
        return isinstance(value, _numpy().ndarray)

    def layout(self, value: Any) -> Layout:
        numpy = _numpy()
        if type(value) not in (numpy.ndarray, numpy.memmap):
            raise TypeError(f"an array of class `{type(value).__name__}` holds more than its numbers")
        if not value.dtype.itemsize:
            raise TypeError(f"an array of dtype `{value.dtype}` has elements without bytes")
        shape, width, strides = tuple(value.shape), value.dtype.itemsize, _strides(value)
        return Layout(self.name, dtype_name(value.dtype), shape, width, value.nbytes, "", strides)

    def identity(self, value: Any) -> Hashable:
        pointer = value.__array_interface__["data"][0] if value.nbytes else id(value)
        return ("numpy", pointer, value.dtype.str, value.shape, value.strides)

    def span(self, value: Any) -> tuple[str, int, int]:
        first = value.__array_interface__["data"][0]
        if value.flags.c_contiguous:
            return "cpu", first, first + value.nbytes
        steps = [step * (size - 1) for size, step in zip(value.shape, value.strides, strict=True)]
        begin = first + sum(step for step in steps if step < 0)
        return "cpu", begin, first + sum(step for step in steps if step > 0) + value.dtype.itemsize

    def write_into(self, value: Any, target: memoryview) -> None:
        numpy = _numpy()
        numpy.copyto(numpy.frombuffer(target, dtype=value.dtype).reshape(value.shape), value)

    def raw(self, value: Any) -> memoryview:
        if not value.nbytes:
            return memoryview(b"")
        return memoryview(_numpy().ascontiguousarray(value).reshape(-1).view("u1"))

    def _view(self, layout: Layout, source: memoryview) -> Any:
        numpy, dtype = _numpy(), dtype_named(layout.dtype)
        if not layout.nbytes:
            return numpy.empty(layout.shape, dtype)
        return numpy.frombuffer(source, dtype=dtype).reshape(layout.shape)

    def build(self, layout: Layout, source: memoryview) -> Any:
        view = self._view(layout, source)
        if not layout.strides:
            return view.copy()
        before, places = extent(layout.shape, layout.strides)
        memory, width = _numpy().empty(places, view.dtype), layout.item_bytes
        steps = tuple(step * width for step in layout.strides)
        made = _numpy().ndarray(layout.shape, view.dtype, memory, before * width, steps)
        _numpy().copyto(made, view)
        return made

    def is_laid_out(self, live: Any, layout: Layout) -> bool:
        return _strides(live) == layout.strides

    def assign(self, live: Any, layout: Layout, source: memoryview) -> bool:
        if not self.holds(live) or not live.flags.writeable:
            return False
        if tuple(live.shape) != layout.shape or live.dtype != dtype_named(layout.dtype):
            return False
        _numpy().copyto(live, self._view(layout, source))
        return True

    def build_like(self, live: Any, layout: Layout, source: memoryview) -> Any:
        return self.build(layout, source)


NUMPY = NumpyLibrary()
