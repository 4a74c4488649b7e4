"""The records of a job's folder: small, frozen, strictly decoded."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field

from outlast.dataclass import dataclass
from outlast.spec.spec import Machine

KEPT_CHECKPOINTS = 3
OPS_KEPT = 16
"""How many operations head remembers, so that a writer whose answer was lost finds its own."""


class State(enum.Enum):
    """Head's state. `status` (results/status.py) turns it into what a person is told."""

    SUBMITTED = "submitted"
    GATHERING = "gathering"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    EXPIRED = "expired"

    @property
    def final(self) -> bool:
        return self in FINAL


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.STOPPED, State.EXPIRED})


class Cause(enum.Enum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PREEMPTED = "preempted"
    STALLED = "stalled"
    EDITED = "edited"
    """Its code was changed, and its user wanted it to begin again with that."""

    KILLED = "killed"
    """The trainer alone, by somebody outside: the machine is well, and the job goes on."""

    STOPPED = "stopped"
    EXPIRED = "expired"
    OUT_OF_MEMORY = "out of memory"
    DISK_FULL = "disk full"
    DAMAGED = "damaged"
    MOVED = "moved"


@dataclass(frozen=True)
class SweepLaunch:
    """Which cells of a sweep a launch is to do."""

    grids: int
    """The sweep's first so many grids."""

    turn: int = 1
    """Counts how often all cells were begun anew; what earlier turns have done does not count."""

    failed_too: bool = True
    """Also those that have ended in an earlier launch of this turn without success."""


@dataclass(frozen=True)
class LaunchRecord:
    """One call of an engine's `start`, written before it; whoever finds it may make the same call again."""

    launch: int
    id: str
    """Random: resource names and request ids come from it, so a job deleted and submitted again never meets its past."""

    engine: str
    workers: int
    machine: Machine
    launched_at: float
    deadline_at: float
    bundle: str
    usd_per_hour: float = 0.0
    """Of one machine with its disk; 0: nothing, or nobody knows."""

    max_cost_usd: float | None = None
    """What all attempts of the job, those of earlier launches too, may cost together; None: no limit."""

    resume_from: str = ""
    """A kept checkpoint's name, when `resume --checkpoint` asked for another than the newest."""

    agent: str = ""
    """The digest of the agent that its machines fetch, where they bring none."""

    place: str = ""
    """The computer whose machines it has, if its engine is one computer's: `name:digest`."""

    args: tuple[str, ...] | None = None
    """Other arguments than the spec's, when `resume -- ARGS --allow-changed` asked for them."""

    cells: SweepLaunch | None = None
    """Which cells of a sweep it is to do; None: the job is none."""


@dataclass(frozen=True)
class Checkpoint:
    """A kept checkpoint, as head names it; the rest is in its manifest."""

    name: str
    step: int
    bytes: int
    attempt: int
    committed_at: float
    complete: bool = False
    adopted: bool = False
    """Copied from another job at submit (`run --from`)."""

    continued: bool = False
    """Of an adopted one: its steps go on (`--continue-steps`), instead of from 0."""

    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """Values of one attempt, filled in as they become known; never summed up, so that merging twice changes nothing."""

    launch: int
    started_at: float
    machine: str = ""
    by: int = -1
    """The rank whose machine began it."""

    running_at: float | None = None
    ended_at: float | None = None
    cause: Cause | None = None
    exit_code: int | None = None
    reason: str = ""
    resumed_from_step: int | None = None
    step: int | None = None
    """The last step that it was seen at."""

    steps_lost: int | None = None
    committed_step: int | None = None
    """The highest step that it committed."""

    committed_at: float | None = None
    progressed: bool = False
    """It committed a step above every earlier attempt's."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Goodput's buckets, as the owner measured them."""

    store_writes: int = 0
    """Writes and lists of its machine that the store bills by number."""

    usd_per_hour: float = 0.0
    """What its machines cost together, with their disks."""

    usd_per_hour_on_demand: float = 0.0
    """What they would cost if nobody might take them away."""

    passed_over: Mapping[str, str] = field(default_factory=dict)
    """Damaged checkpoints that it would have begun with, by name, and what is wrong with each."""


@dataclass(frozen=True)
class Head:
    """The only mutable truth of a job."""

    job: str
    launch: int
    launch_id: str
    state: State
    bundle: str
    attempt: int = 0
    nonce: str = ""
    by: int = -1
    barren: int = 0
    """How many attempts in a row reached `running` and committed no step above every earlier one."""

    best_step: int = -1
    """The highest step ever committed."""

    checkpoints: tuple[Checkpoint, ...] = ()
    outputs: str = ""
    """The manifest of the outputs, named by the final swap."""

    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    beside_usd: Mapping[str, float] = field(default_factory=dict)
    """What rented machines have cost beside attempts, by who has counted it: those that never came up, by the machine after them or by
    their launch at its end; those that have waited for others' successors, by the attempt that began with them."""

    ends: Mapping[str, str] = field(default_factory=dict)
    """Launch number -> its final state (or `moved`), written once, in the swap that ends it."""

    ended_at: float | None = None
    exit_code: int | None = None
    reason: str = ""
    """In a person's words, for a final state that needs some."""

    early: bool = False
    """Stopped, as a cell of a sweep, because others did better."""

    refused: bool = False
    """Failed since no machine could be had, however long it would have waited."""

    edit: str = ""
    """The newest wish to change the code that was carried out: the end of its key."""

    edited_at_step: int | None = None
    """Where the job was when its code was changed for the first time."""

    ops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    key: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class File:
    """A file of a checkpoint. `path` begins with `checkpoint/` or `output/`, the two directories that are kept and restored."""

    path: str
    bytes: int
    sha256: str
    mode: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Manifest:
    """A checkpoint, or the final outputs: create-only, after its parts."""

    name: str
    attempt: int
    step: int
    complete: bool
    created_at: float
    files: tuple[File, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Worker:
    """Describes a machine; never decides."""

    nonce: str
    launch: int
    rank: int
    machine: str
    address: str = ""
    started_at: float = 0.0


@dataclass(frozen=True)
class Beat:
    """The owner's heartbeat, rewritten without condition."""

    attempt: int
    at: float
    step: int | None
    log_bytes: int
    metrics_bytes: int = 0
    doing: str = ""
    rung: str = ""
    """The last ring of the bell that was heard: what is told here, and in the tails, is newer than it."""

    store_writes: int = 0
    """Writes and lists in this attempt so far that the store bills by number."""

    steps_total: int | None = None
    """The step at which the trainer will be done, if it has said so."""


@dataclass(frozen=True)
class Request:
    """A wish of the user, for one launch only."""

    kind: str
    launch: int
    at: float
    deadline_at: float | None = None
    bundle: str = ""
    """Of a wish to change the code: the new one."""

    restart: bool = False
    """The trainer is to begin again with it, from its newest checkpoint."""


@dataclass(frozen=True)
class Bell:
    """What the agent polls: something was asked, or somebody watches until then (the store's time)."""

    rung: str
    watch_until: float = 0.0


@dataclass(frozen=True)
class Pin:
    """A reader's hold on a checkpoint while it copies."""

    manifest: str
    until: float


@dataclass(frozen=True)
class WorkerExit:
    """How a rank other than 0 ended."""

    rank: int
    exit_code: int
    at: float
    out_of_memory: bool = False
    disk_full: bool = False
    stalled: bool = False
    killed: bool = False


@dataclass(frozen=True)
class Notification:
    """One event, claimed by the machine that tells of it: `end-<launch>`, `stalled-<attempt>`."""

    event: str
    at: float
    machine: str


@dataclass(frozen=True)
class Notified:
    """Whom it has told, and what went wrong with each; empty: nothing."""

    event: str
    at: float
    machine: str
    problems: Mapping[str, str]


@dataclass(frozen=True)
class EvaluationLink:
    """In the trained job's folder: another job evaluates it."""

    job: str
    checkpoint: str
    step: int | None
    split: str
    submitted_at: float


@dataclass(frozen=True)
class EvaluationResult:
    """In the trained job's folder: the last value of each metric that the evaluation has logged."""

    job: str
    checkpoint: str
    step: int | None
    split: str
    metrics: Mapping[str, float]
    ended_at: float


@dataclass(frozen=True)
class Published:
    """Written after the last published output."""

    manifest: str


@dataclass(frozen=True)
class Prune:
    """What a prune has condemned: nobody who begins after it was written relies on any of it, whether or not it is gone yet."""

    number: int
    at: float
    records: Mapping[str, int] = field(default_factory=dict)
    """Key -> generation, of what is written with a condition. Written anew, it has another generation and is spared."""

    masses: tuple[str, ...] = ()
    """Keys of what is written without one. None of these names is ever written again."""
