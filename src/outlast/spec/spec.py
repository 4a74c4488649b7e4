"""What is asked: the whole job, as it stands in `spec.json` and never changes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass

MAX_RUN_SECONDS_DEFAULT = 7 * 24 * 3600.0
"""Wall time from the launch, waiting included: a forgotten job ends by itself."""

STALL_SECONDS_MIN = 30 * 60.0
STALL_GAPS_MAX = 10
"""A trainer is stalled after ten times the longest silence seen, and never before half an hour."""


class TargetKind(enum.Enum):
    SCRIPT = "script"
    MODULE = "module"
    SHELL = "shell"


@dataclass(frozen=True)
class Target:
    kind: TargetKind
    value: str
    """A path inside the bundle with `/` between its parts, or a module's dotted name."""


@dataclass(frozen=True)
class Pool:
    """Machines of another kind that a service runs beside a launch's first one."""

    machine_type: str = ""
    replicas: int = 0
    """0: nobody is in it; it keeps the place of the next one."""

    accelerator: str = ""
    accelerators: int = 0


@dataclass(frozen=True)
class Rented:
    """A machine of a cloud's, whole: nothing of it is looked up again after submit."""

    project: str
    regions: tuple[str, ...]
    """In the order in which they are tried; in a launch's record only the launch's own."""

    machine_type: str
    zones: tuple[str, ...] = ()
    """Of those regions; empty: all that have the machine."""

    accelerator: str = ""
    """As the cloud calls it, `nvidia-l4`; how many is the machine's `gpus`."""

    accelerator_built_in: bool = False
    """The machine's type brings them along."""

    spot: bool = True
    disk_gb: int = 50
    disk_type: str = "pd-balanced"
    image: str = ""
    """`projects/P/global/images/NAME`: what a family meant at submit; where containers are run, `HOST/REPOSITORY@DIGEST`."""

    service_account: str = ""
    network: str = ""
    external_ip: bool = True
    linger_seconds: float = 0.0
    """How long a machine stays after the job's end."""

    usd_per_hour: float = 0.0
    """Of one machine with its disk."""

    usd_per_hour_on_demand: float = 0.0
    service: str = ""
    """Who runs it for us, `vertex`; empty: nobody, it is a machine and no more."""

    flex_start: bool = False
    """Waits in a queue for a machine that is then nobody else's."""

    tensorboard: str = ""
    topology: str = ""
    """Of a TPU slice, `2x4`."""

    pools: tuple[Pool, ...] = ()
    """Beside this machine, in the service's order: workers, parameter servers, evaluators."""


@dataclass(frozen=True)
class Machine:
    """What one worker needs."""

    cpus: int = 1
    gpus: int = 0
    rented: Rented | None = None
    """What to rent where machines are rented; None: the engine has its machines."""


@dataclass(frozen=True)
class Provenance:
    """Where the code came from and what submitted it: for people, never for decisions."""

    tool_version: str
    python_version: str = ""
    commit: str = ""
    dirty: bool = False
    directory: str = ""
    beside: tuple[str, ...] = ()
    """Directories that were shipped with it."""


@dataclass(frozen=True)
class Drill:
    """What a drill asks of the trainer's library, see docs/home-format.md."""

    steps_max: int | None = None
    """Caps every `outlast.steps` from outside."""

    save_steps: int | None = None
    """The library saves at least so often, whatever the script says: a drill of a minute meets saves that come every hour."""

    pauses: Mapping[str, str] = field(default_factory=dict)
    """Attempt number -> where the library stops and waits for its killer: `step:N`, before that step; `save:N`, in the middle of
    the attempt's Nth save; `saving:N`, in the middle of its first save of step N or later."""


@dataclass(frozen=True)
class Environment:
    """Packages that were resolved at submit and lie in the home: every attempt has exactly these."""

    digest: str
    """Of `environments/<digest>/`."""

    python_version: str
    packages: int = 0
    source: str = ""
    """What declared them, for people: `requirements.txt`, `train.py (PEP 723)`."""

    declaration: str = ""
    """Of `environments/by-declaration/<key>.json`: kept as long as a job has it."""

    paths: tuple[str, ...] = ()
    """Directories of the bundle in which the project's own packages lie: they are on the trainer's path."""


@dataclass(frozen=True)
class Dataset:
    """One of a job's datasets: shipped by content, or named by a URL."""

    digest: str = ""
    """Of `datasets/<digest>.json`; empty: not in the home."""

    url: str = ""
    """Where it came from, or where it is."""

    mode: str = "copy"
    """`copy`: seen as a local path; `url`: the trainer is given the URL."""

    version: str = ""
    """What the URL held at submit: a machine that finds something else there does not train with it."""

    file: str = ""
    """The name of the file, if the URL is a file's."""


@dataclass(frozen=True)
class Evaluation:
    """This job evaluates another one's checkpoint."""

    job: str
    """The trained job's id, in the same home: the result lands in its folder."""

    checkpoint: str = ""
    """Which of its checkpoints, a manifest's name in its folder; empty: it has none, only outputs."""

    step: int | None = None
    split: str = ""


@dataclass(frozen=True)
class Sweep:
    """The job is many: its cells run, each as a job of its own, with the parameters of its grids."""

    per_machine: int = 1
    """How many cells run side by side on one machine."""

    search: str = ""
    """Who chooses parameters: empty: every combination is asked for; `random`, `sobol`, `tpe`."""

    seed: int = 0
    metric: str = ""
    """What a search looks at, and what results are sorted by; empty: the first that cells log."""

    goal: str = ""
    """`min` or `max`; empty: by the metric's name."""

    early: str = ""
    """How bad cells are ended early: empty: they are not; `asha`, `median`."""

    @property
    def learns(self) -> bool:
        """Whether what is done with a cell depends on what others have found."""
        return self.search == "tpe" or bool(self.early)


@dataclass(frozen=True)
class Container:
    """The trainer runs in an image, on this computer."""

    image: str
    runtime: str
    """The program that runs it, an absolute path."""

    load: tuple[str, ...] = ()
    """The command that gives the image to the runtime, if it has it no more; empty: it comes from a registry."""

    args: tuple[str, ...] = ()
    """Further options for the runtime's `run`."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables of the shell that submitted which tell the runtime where it keeps its things: the trainer does not see them."""


@dataclass(frozen=True)
class Spec:
    job: str
    name: str
    target: Target
    bundle: str
    """The digest of `bundles/<digest>.json`."""

    python: str
    """The interpreter on the local engine, an absolute path."""

    provenance: Provenance
    submitted_at: float
    args: tuple[str, ...] = ()
    engine: str = "local"
    machine: Machine = Machine()
    workers: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0
    max_run_seconds: float = MAX_RUN_SECONDS_DEFAULT
    max_cost_usd: float | None = None
    """The most that all its attempts together may cost; None: no limit but that of time."""

    stall_seconds: float | None = None
    """None: measured (see STALL_GAPS_MAX); 0: off."""

    checkpoint_dir: str = ""
    """An unmodified script's own directory, relative to its working directory; empty: the library's."""

    output_dir: str = ""
    resume_args: tuple[str, ...] = ()
    """Added behind `args` on attempts that begin with a checkpoint."""

    from_job: str = ""
    """The job with whose checkpoint this one began."""

    from_checkpoint: str = ""
    """Which one: a manifest's name in that job's folder; empty: the newest when it was copied."""

    continue_steps: bool = False
    """With `from_job`: steps go on where that job's checkpoint stood, instead of from 0."""

    environment: Environment | None = None
    """None: the interpreter's own packages."""

    setup: str = ""
    """A script of the bundle that runs before the trainer."""

    container: Container | None = None
    """None: the trainer is a process of its machine's, as all others."""

    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    """By name; the one without a name is `""`."""

    config: Mapping[str, Any] | None = None
    """The merged configuration, given to the trainer as a file."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    """Variable -> where its value is found on the machine; never the value."""

    links: tuple[str, ...] = ()
    """Directories of this computer, by absolute path, seen in the working directory under their own names."""

    notify: tuple[str, ...] = ()
    """Commands and URLs that are told of the end, of a failure, of a stall."""

    evaluation: Evaluation | None = None
    drill: Drill | None = None
    sweep: str = ""
    """The sweep whose cell this is."""

    cells: Sweep | None = None
    """This is a sweep; None: one training."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """What later versions add without a new format; ignored by this one."""
