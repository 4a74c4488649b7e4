"""What is known of a loader before anything is drawn from it: whether it can begin anew, how long an epoch is, what it may remember."""

from __future__ import annotations

import sys
from typing import Any


def check_loader(loader: Any) -> None:
    """TypeError for what cannot be begun again: its position could not be found again either."""
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise TypeError(f"batches needs something to iterate over, not {type(loader).__name__}")
    if hasattr(loader, "__next__"):
        raise TypeError(
            f"batches cannot resume an iterator ({type(loader).__name__}): it can be gone through only once"
            "\n\nhint: give a loader, a list, or an object whose `__iter__` begins anew each time"
        )


def known_length(loader: Any) -> int | None:
    """Only where `len` is sure to tell how many batches an epoch has."""
    if isinstance(loader, (list, tuple, range)):
        return len(loader)
    if not is_torch_loader(loader) or isinstance(loader.dataset, sys.modules["torch.utils.data"].IterableDataset):
        return None
    try:
        return len(loader)
    except (TypeError, NotImplementedError):  # a sampler need not have a length
        return None


def may_remember(loader: Any) -> bool:
    """Whether what it gives next may depend on random numbers that it drew since the epoch began: not with torch's own samplers."""
    if isinstance(loader, (list, tuple, range)):
        return False
    if not is_torch_loader(loader) or isinstance(loader.dataset, sys.modules["torch.utils.data"].IterableDataset):
        return True
    samplers = (loader.sampler, loader.batch_sampler)
    return not all(one is None or type(one).__module__.startswith("torch.utils.data.") for one in samplers)


def is_torch_loader(loader: Any) -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(loader, data.DataLoader)
