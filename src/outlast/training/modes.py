"""What decides how a torch module trains and is in no `state_dict`: which parameters want gradients, which modules are in training, and
buffers that are not persistent.

A script that unfreezes a layer at step 1,000, or freezes a norm, does it once; a process that resumes at step 2,000 would never do it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

BUFFER_BYTES_MAX = 1 << 18
"""A larger buffer that is not persistent is a table or a mask that the script makes again, and no average."""


def loose_buffers(value: Any) -> dict[str, Any]:
    """The small buffers of a module that its `state_dict` leaves out, by name."""
    torch = sys.modules["torch"]
    return {
        f"{prefix}.{name}" if prefix else name: buffer
        for prefix, module in value.named_modules()
        for name, buffer in module._buffers.items()
        if name in module._non_persistent_buffers_set
        and type(buffer) is torch.Tensor
        and buffer.layout == torch.strided
        and not (buffer.is_meta or buffer.is_quantized)
        and buffer.numel() * buffer.element_size() < BUFFER_BYTES_MAX
    }


def fill_loose_buffers(value: Any, saved: dict[str, Any]) -> None:
    """Those that are there and of the same kind; a cache of another size is made again when it is needed."""
    torch, there = sys.modules["torch"], loose_buffers(value)
    with torch.no_grad():
        for name, buffer in there.items():
            made = saved.get(name)
            if made is not None and (made.shape, made.dtype) == (buffer.shape, buffer.dtype):
                buffer.copy_(made)


def modes_of(value: Any) -> dict[str, str] | None:
    """A letter for each parameter and each module, in the module's own order; None for what is no module."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.nn.Module):
        return None
    return {
        "grad": _letters(one.requires_grad for one in value.parameters()),
        "train": _letters(one.training for one in value.modules()),
    }


def set_modes(value: Any, saved: dict[str, str]) -> list[str]:
    """What of the module was otherwise, and is as it was saved now. A module of other parts than it had is left alone."""
    now, changed = modes_of(value), []
    if now is None or any(len(now[name]) != len(saved[name]) for name in now):
        return []
    for parameter, was, wanted in zip(value.parameters(), now["grad"], saved["grad"], strict=True):
        if was != wanted:
            parameter.requires_grad_(wanted == "1")
    for module, wanted in zip(value.modules(), saved["train"], strict=True):
        module.training = wanted == "1"
    if now["grad"] != saved["grad"]:
        changed.append("which parameters are frozen")
    if now["train"] != saved["train"]:
        changed.append("which modules are in training")
    return changed


def _letters(flags: Iterable[bool]) -> str:
    return "".join("1" if flag else "0" for flag in flags)
