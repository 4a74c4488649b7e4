"""What decides how a torch module trains and is in no `state_dict`: which parameters want gradients, which modules are in training.

A script that unfreezes a layer at step 1,000, or freezes a norm, does it once; a process that resumes at step 2,000 would never do it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


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
