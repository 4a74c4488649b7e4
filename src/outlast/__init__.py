"""Training that outlasts its machines: `import outlast` in a training script, or to submit jobs from Python.

Every name below is loaded when it is first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # as in `typing`, whose import alone would cost more than this package
if TYPE_CHECKING:
    from outlast.jobs.api import job, push, submit, submit_many
    from outlast.training.batches import batches
    from outlast.training.checkpoint import Checkpoint, checkpoint, due, latest_checkpoint
    from outlast.training.command import main
    from outlast.training.leaving import Interrupted
    from outlast.training.metrics import log
    from outlast.training.notice import seconds_left, should_stop
    from outlast.training.places import checkpoint_dir, config, dataset, output_dir, rank, workers
    from outlast.training.state import State, via
    from outlast.training.steps import steps

_HOMES = {
    "State": "training.state",
    "via": "training.state",
    "steps": "training.steps",
    "batches": "training.batches",
    "Interrupted": "training.leaving",
    "checkpoint": "training.checkpoint",
    "latest_checkpoint": "training.checkpoint",
    "Checkpoint": "training.checkpoint",
    "due": "training.checkpoint",
    "should_stop": "training.notice",
    "seconds_left": "training.notice",
    "log": "training.metrics",
    "output_dir": "training.places",
    "checkpoint_dir": "training.places",
    "dataset": "training.places",
    "config": "training.places",
    "rank": "training.places",
    "workers": "training.places",
    "main": "training.command",
    "submit": "jobs.api",
    "submit_many": "jobs.api",
    "push": "jobs.api",
    "job": "jobs.api",
}
"""Which module each public name lives in, in the order of the documentation."""

__all__ = [
    "State",
    "via",
    "steps",
    "batches",
    "Interrupted",
    "checkpoint",
    "latest_checkpoint",
    "Checkpoint",
    "due",
    "should_stop",
    "seconds_left",
    "log",
    "output_dir",
    "checkpoint_dir",
    "dataset",
    "config",
    "rank",
    "workers",
    "main",
    "submit",
    "submit_many",
    "push",
    "job",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'outlast' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"outlast.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
