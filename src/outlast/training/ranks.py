"""Several workers in one training: what each of them keeps, and how their saves become one checkpoint.

Supported: workers that run in lockstep (as DistributedDataParallel does) and save at the same steps, so with several workers
saves are made by counting steps, and a notice is obeyed at the next of them.

- Workers that share a run directory (torchrun on one machine): each saves its own state and generators beside, and rank 0
  takes them all into its checkpoint as `rank-<r>/`. Resuming is exact for all of them.
- One worker per machine: rank 0 saves; the others restore its state, but not its random generators.
"""

from __future__ import annotations

import os
from pathlib import Path

from outlast.clock import SYSTEM
from outlast.training import disk
from outlast.training.context import Attempt
from outlast.training.disk import remove_tree
from outlast.training.say import say, say_once

SAVE_STEPS = 100
"""How often several workers save if the script does not say it: they cannot agree on a time."""

GATHER_SECONDS_MAX = 120.0
POLL_SECONDS = 0.02


def own_folder(checkpoint: Path, attempt: Attempt, number: int) -> Path:
    """Where a rank other than 0 puts its saves for rank 0 to take. What earlier attempts left there is never mistaken for it."""
    return checkpoint / f".rank-{attempt.rank}" / f"attempt-{number}"


def gather(saving: Path, checkpoint: Path, attempt: Attempt, number: int, step: int) -> None:
    """Rank 0 takes the other ranks' saves of the same step in; TimeoutError if one does not come."""
    for rank in range(1, attempt.workers):
        folder = checkpoint / f".rank-{rank}" / f"attempt-{number}"
        found = _wait_for(folder, number, step, f"rank {rank} has not saved step {step}")
        disk.link_whole_tree(found.path, saving / f"rank-{rank}")
        disk.sync_tree(saving / f"rank-{rank}")


def wait_for_commit(checkpoint: Path, number: int, step: int) -> None:
    """The other ranks go on only when rank 0 has taken their save: it is removed after two more."""
    try:
        _wait_for(checkpoint, number, step, f"rank 0 has not committed step {step}")
    except TimeoutError as error:
        say(f"warning: {error}; training goes on")


def _wait_for(folder: Path, number: int, step: int, otherwise: str) -> disk.Found:
    limit = SYSTEM.monotonic() + GATHER_SECONDS_MAX
    while True:
        for found in disk.list_checkpoints(folder, skip_damaged=True):
            if found.step == step and found.attempt == number:
                return found
        if SYSTEM.monotonic() > limit:
            raise TimeoutError(otherwise)
        SYSTEM.sleep(POLL_SECONDS)


def folder_for(found: disk.Found, attempt: Attempt) -> disk.Found:
    """The part of a checkpoint that is this rank's."""
    own = found.path / f"rank-{attempt.rank}"
    if attempt.rank == 0 or not own.is_dir():
        return found
    return disk.read_checkpoint(own)


def shares_generators(folder: Path, attempt: Attempt) -> bool:
    """Whether the generators in that folder are this rank's own; another rank's would make both draw the same."""
    if attempt.rank == 0 or f"rank-{attempt.rank}" in folder.parts:
        return True
    say_once(
        "generators",
        f"rank {attempt.rank} has no save of its own: its random generators go on as the script has seeded them",
    )
    return False


def clear(checkpoint: Path, attempt: Attempt) -> None:
    remove_tree(checkpoint / f".rank-{attempt.rank}")
    os.makedirs(checkpoint, exist_ok=True)
