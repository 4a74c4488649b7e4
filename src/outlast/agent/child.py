"""The trainer's process as the agent sees it: the agent's core knows neither files nor processes."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from outlast.dataclass import dataclass
from outlast.errors import OutlastError

Chunks = Iterator[bytes]


class Reason(enum.Enum):
    """Why a trainer is told to leave."""

    PREEMPTED = "preempted"
    STOP = "stop"
    DEADLINE = "deadline"
    COST = "cost"
    EDIT = "edit"
    EARLY = "early"
    """It is a cell of a sweep, and others do better."""


@dataclass(frozen=True)
class Notice:
    reason: Reason
    seconds: float
    """How long the trainer has from now."""


@dataclass(frozen=True)
class Start:
    """What the trainer is started with."""

    job: str
    attempt: int
    rank: int
    workers: int
    args: tuple[str, ...]
    resumed_step: int | None
    """The step of the restored checkpoint; None: the job begins."""

    adopted: bool = False
    """The restored checkpoint is another job's (`run --from`): its weights count, its position and arguments do not."""

    env: Mapping[str, str] = field(default_factory=dict)
    machine_life_seconds: float | None = None
    """How long this job's machines have lived on average, as far as one knows: the library saves accordingly."""


class SavedFile(Protocol):
    path: str
    """Begins with `checkpoint/` or `output/`."""

    bytes: int
    mode: int
    identity: str
    """Changes whenever the content may have changed: what is equal need not be read again."""

    def chunks(self, offset: int, size: int) -> Chunks:
        """The bytes as they were saved; `Changed` if the trainer has rewritten them since."""
        ...


class Changed(Exception):
    """The trainer rewrote a file while it was being taken: this save cannot be committed, the next one will be."""


class OneName(OutlastError):
    """This computer's file system takes two names of what is put in place for one, as a Mac's does that differ by case; or, if not `taken`,
    has no such name."""

    def __init__(self, path: str, *, taken: bool = True) -> None:
        why = "takes two names of the checkpoint for one" if taken else "has no such name"
        super().__init__(
            f"`{path}` {'is there already' if taken else 'cannot be made'}: this machine's file system {why}"
        )


@dataclass(frozen=True)
class Saved:
    """A whole set of files that the trainer has put in place: a checkpoint, with the outputs as they were at that moment."""

    number: int
    step: int
    complete: bool
    files: tuple[SavedFile, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Exit:
    code: int
    """As a shell would say it: 128 + n for signal n."""

    out_of_memory: bool = False
    disk_full: bool = False
    killed: bool = False
    """By SIGKILL, and neither by us nor for want of memory: somebody outside did it."""


class Child(Protocol):
    """The trainer and its run directory. One child lives through one attempt at a time.

    Everything is on the machine's disk: an agent that was killed and started again finds it as it was.
    """

    def recall(self) -> bytes | None:
        """What `remember` was given last on this machine; None on a machine that has not begun."""
        ...

    def remember(self, note: bytes) -> None:
        """Durable before it returns: the nonce is on disk before it is sent."""
        ...

    def clear(self, bundle: str) -> None:
        """Ends what runs and empties checkpoint, output and run directories: the next attempt begins, with this code."""
        ...

    def edit(self, before: str, after: str) -> None:
        """Makes the code in the working directory what another bundle has, under a trainer that runs."""
        ...

    def restore(self, path: str, mode: int, chunks: Iterable[bytes]) -> None:
        """Puts one file of the checkpoint in place. `OneName`: in the place of another one, or under no name."""
        ...

    def start(self, start: Start) -> None:
        """Starts the trainer; already started for this attempt: nothing."""
        ...

    def started(self, attempt: int) -> bool: ...

    def exit(self) -> Exit | None:
        """How the trainer ended; None while it runs. On disk before anyone is told."""
        ...

    def tell(self, notice: Notice) -> None: ...

    def end(self) -> None:
        """Ends the trainer and all that it started, at once."""
        ...

    def saved(self, after: int, *, last: bool) -> Saved | None:
        """The newest whole save with a number above `after`, if there is one. `last`: the trainer is gone, nothing is being written."""
        ...

    def outputs(self) -> Saved:
        """The outputs as they are now, after the trainer's end."""
        ...

    def step(self) -> int | None:
        """The last step that the trainer was seen at."""
        ...

    def steps_total(self) -> int | None:
        """How many steps it will make, if it has said so."""
        ...

    def unwanted(self) -> str:
        """Why nobody wants this training to go on; empty: it goes on."""
        ...

    def say(self, text: str) -> None:
        """Into the job's log, as a word of ours."""
        ...

    def paused(self) -> str:
        """Where a drill's pause holds the trainer (`step:57`, `save:2`); empty otherwise."""
        ...

    def stream_bytes(self, stream: str) -> int:
        """How long the `log` or `metrics` stream of this attempt is by now."""
        ...

    def stream_read(self, stream: str, offset: int, size: int) -> bytes: ...

    def stream_drop(self, stream: str, before: int) -> None:
        """What lies before that offset is sealed and may be given back to the disk."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleeps until something may have happened to the trainer, or for that long."""
        ...

    def notice(self) -> float | None:
        """Seconds until this machine is taken away, if it was told so."""
        ...

    def timings(self) -> Mapping[str, float]:
        """Seconds that the library measured: `saving` (training stalled), `restoring`, ..."""
        ...
