"""torch's tensors, wherever they live; numpy is not needed for them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable
from typing import Any

from outlast.training.arrays import Layout, strides_kept


def _torch() -> Any:
    return sys.modules.get("torch") or importlib.import_module("torch")


def _refuse(value: Any) -> None:
    torch = _torch()
    nn = torch.nn
    uninitialized = getattr(nn.parameter, "UninitializedTensorMixin", ())
    if isinstance(value, uninitialized):
        raise TypeError("a lazy parameter has no values yet; run the model once before the loop")
    if type(value) is not torch.Tensor and not isinstance(value, (nn.Parameter, getattr(nn, "Buffer", nn.Parameter))):
        raise TypeError(f"a tensor of class `{type(value).__name__}` holds more than its numbers")
    if value.layout != torch.strided or value.is_quantized:
        raise TypeError(f"a tensor of layout `{value.layout}`, dtype `{value.dtype}` has no plain bytes")
    if value.is_meta:
        raise TypeError("a tensor on the `meta` device has no values")


def _strides(value: Any) -> tuple[int, ...]:
    """In elements; nothing if it lies row by row, or cannot be laid out again as it is."""
    return () if value.is_contiguous() else strides_kept(tuple(value.shape), value.stride())


class TorchLibrary:
    name = "torch"

    def holds(self, value: object) -> bool:
        return isinstance(value, _torch().Tensor)

    def layout(self, value: Any) -> Layout:
        _refuse(value)
        nbytes = value.numel() * value.element_size()
        note = "grad" if value.requires_grad and value.is_leaf else ""
        dtype = str(value.dtype).removeprefix("torch.")
        shape, width = tuple(value.shape), value.element_size()
        return Layout(self.name, dtype, shape, width, nbytes, note, _strides(value))

    def identity(self, value: Any) -> Hashable:
        pointer = value.data_ptr() if value.numel() else id(value)
        # A conjugate, and the imaginary part of one, is the same memory read in another way.
        read = (value.dtype, value.is_conj(), value.is_neg())
        return ("torch", str(value.device), pointer, read, tuple(value.shape), value.stride())

    def span(self, value: Any) -> tuple[str, int, int]:
        places = sum(step * (size - 1) for size, step in zip(value.shape, value.stride(), strict=True)) + 1
        return str(value.device), value.data_ptr(), value.data_ptr() + places * value.element_size()

    def write_into(self, value: Any, target: memoryview) -> None:
        torch = _torch()
        value = value.detach().resolve_conj().resolve_neg()
        if value.device.type == "cpu" and value.is_contiguous():
            # Not by `copy_`: it wakes torch's threads, and on a busy machine waits for them several times as long as it copies.
            import ctypes

            ctypes.memmove(ctypes.addressof(ctypes.c_char.from_buffer(target)), value.data_ptr(), len(target))
            return
        try:
            torch.frombuffer(target, dtype=value.dtype).view(value.shape).copy_(value)
        except (NotImplementedError, RuntimeError):  # types so new that torch itself cannot copy them yet
            torch.frombuffer(target, dtype=torch.uint8).copy_(value.contiguous().view(torch.uint8).reshape(-1))

    def raw(self, value: Any) -> memoryview:
        nbytes = value.numel() * value.element_size()
        if not nbytes:
            return memoryview(b"")
        value = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
        import ctypes

        memory = (ctypes.c_ubyte * nbytes).from_address(value.data_ptr())
        memory._owner = value  # the memory lives as long as the view of it
        return memoryview(memory).cast("B")

    def _view(self, layout: Layout, source: memoryview) -> Any:
        torch = _torch()
        dtype = getattr(torch, layout.dtype)
        if not layout.nbytes:
            return torch.empty(layout.shape, dtype=dtype)
        if layout.item_bytes & (layout.item_bytes - 1) == 0:
            return torch.frombuffer(source, dtype=dtype).view(layout.shape)
        return torch.frombuffer(source, dtype=torch.uint8).view(dtype).view(layout.shape)

    def build(self, layout: Layout, source: memoryview) -> Any:
        return self.build_like(None, layout, source)

    def is_laid_out(self, live: Any, layout: Layout) -> bool:
        return _strides(live) == layout.strides

    def assign(self, live: Any, layout: Layout, source: memoryview) -> bool:
        torch = _torch()
        if not self.holds(live) or live.is_meta or live.layout != torch.strided:
            return False
        if tuple(live.shape) != layout.shape or live.dtype != getattr(torch, layout.dtype):
            return False
        if live.numel() > 1 and any(
            step == 0 and size > 1 for step, size in zip(live.stride(), live.shape, strict=True)
        ):
            return False  # an expanded tensor: many elements in one place
        with torch.no_grad():
            live.copy_(self._view(layout, source))
        return True

    def build_like(self, live: Any, layout: Layout, source: memoryview) -> Any:
        value = self._view(layout, source)
        if layout.strides:
            value = _torch().empty_strided(layout.shape, layout.strides, dtype=value.dtype).copy_(value)
        else:
            value = value.clone()
        if self.holds(live):
            value = value.to(live.device)
        return value.requires_grad_() if layout.note == "grad" else value


TORCH = TorchLibrary()
