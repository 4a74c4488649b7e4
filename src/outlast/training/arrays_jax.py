"""JAX's arrays, and its typed random keys. They never change in place, so restoring always makes new ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable
from typing import Any

from outlast.training.arrays import Layout
from outlast.training.arrays_numpy import NUMPY
from outlast.training.fielded import replace


def _jax() -> Any:
    return sys.modules.get("jax") or importlib.import_module("jax")


def _is_key(value: Any) -> bool:
    jax = _jax()
    return bool(jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key))


def _host(value: Any) -> Any:
    """The array as numpy sees it; on a CPU that is the same memory."""
    numpy = importlib.import_module("numpy")
    return numpy.asarray(_jax().random.key_data(value) if _is_key(value) else value)


class JaxLibrary:
    name = "jax"

    def holds(self, value: object) -> bool:
        return isinstance(value, _jax().Array)

    def layout(self, value: Any) -> Layout:
        jax = _jax()
        if isinstance(value, jax.core.Tracer):
            raise TypeError("a traced array has no values: the state belongs outside of `jit` and `grad`")
        if not value.is_fully_addressable:
            raise TypeError("an array that is spread over several processes cannot be saved by one of them")
        note = f"key:{jax.random.key_impl(value)}" if _is_key(value) else ""
        # How it lies in memory is JAX's own affair.
        return replace(NUMPY.layout(_host(value)), library=self.name, note=note, strides=())

    def identity(self, value: Any) -> Hashable:
        return ("jax", id(value))

    def span(self, value: Any) -> tuple[str, int, int]:
        raise AssertionError("never filled")

    def write_into(self, value: Any, target: memoryview) -> None:
        NUMPY.write_into(_host(value), target)

    def raw(self, value: Any) -> memoryview:
        return NUMPY.raw(_host(value))

    def build(self, layout: Layout, source: memoryview) -> Any:
        return self.build_like(None, layout, source)

    def is_laid_out(self, live: Any, layout: Layout) -> bool:
        return True

    def assign(self, live: Any, layout: Layout, source: memoryview) -> bool:
        return False

    def build_like(self, live: Any, layout: Layout, source: memoryview) -> Any:
        jax = _jax()
        # A copy, because on a CPU JAX would go on using the memory that it is given.
        host = NUMPY.build(replace(layout, library="numpy"), source)
        if layout.note.startswith("key:"):
            return jax.random.wrap_key_data(jax.numpy.asarray(host), impl=layout.note.removeprefix("key:"))
        if self.holds(live) and tuple(live.shape) == layout.shape:
            return jax.device_put(host, live.sharding)
        return jax.numpy.asarray(host)


JAX = JaxLibrary()
