"""Every key of a home, in one place. `docs/home-format.md` is this file in words."""

from __future__ import annotations

INDEX_EPOCH_MILLISECONDS = 10**13
"""Index names count down from here, so that a plain list shows the newest first (until the year 2286)."""

JOB_ID_LENGTH_MAX = 40
JOB_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
"""The form of an id (spec/names.py says it in words); written here too, because a list of jobs reads nothing but names."""

INDEX = "index/"
BUNDLES = "bundles/"
PACKS = "packs/"
ENVIRONMENTS = "environments/"
ENVIRONMENT_PARTS = "environments/parts/"
DECLARATIONS = "environments/by-declaration/"
JOBS = "jobs/"
PRUNES = "prunes/"
DATASETS = "datasets/"
AGENTS = "agents/"
DATASET_NAMES = "datasets/names/"
ZONES = "zones/"


def bundle(digest: str) -> str:
    return f"bundles/{digest}.json"


def pack(digest: str) -> str:
    return f"packs/{digest}"


def agent(digest: str) -> str:
    return f"{AGENTS}{digest}"


def prune(number: int) -> str:
    return f"{PRUNES}{number:06d}.json"


def environment(digest: str) -> str:
    return f"{ENVIRONMENTS}{digest}/manifest.json"


def environment_part(name: str) -> str:
    return f"{ENVIRONMENT_PARTS}{name}"


def declaration(key: str) -> str:
    return f"{DECLARATIONS}{key}.json"


def dataset(digest: str) -> str:
    return f"{DATASETS}{digest}.json"


def dataset_name(name: str) -> str:
    return f"{DATASET_NAMES}{name}.json"


def zones(region: str) -> str:
    """What jobs have met in that region."""
    return f"{ZONES}{region}.json"


def index(submitted_at: float, job: str, launch: int) -> str:
    return f"{INDEX}{INDEX_EPOCH_MILLISECONDS - int(submitted_at * 1000):013d}-{job}-{launch:06d}"


def index_parts(key: str) -> tuple[float, str, int]:
    """(submitted_at, job, launch) of an index key; ValueError if it is none."""
    inverse, _, rest = key.removeprefix(INDEX).partition("-")
    job, _, launch = rest.rpartition("-")
    if not job or job[0] == "-" or len(job) > JOB_ID_LENGTH_MAX or not JOB_ID_CHARACTERS.issuperset(job):
        raise ValueError(key)
    return (INDEX_EPOCH_MILLISECONDS - int(inverse)) / 1000, job, int(launch)


class JobKeys:
    """The keys of one job's folder."""

    def __init__(self, job: str) -> None:
        self.job = job

    @property
    def root(self) -> str:
        return f"jobs/{self.job}/"

    @property
    def spec(self) -> str:
        return f"{self.root}spec.json"

    @property
    def head(self) -> str:
        return f"{self.root}head.json"

    @property
    def launches(self) -> str:
        return f"{self.root}launches/"

    def launch(self, launch: int) -> str:
        return f"{self.root}launches/{launch:06d}.json"

    def boots(self, launch: int) -> str:
        return f"{self.root}launches/{launch:06d}/boots/"

    @property
    def attempts(self) -> str:
        return f"{self.root}attempts/"

    def attempt(self, attempt: int) -> str:
        return f"{self.attempts}{attempt:06d}/"

    def worker(self, attempt: int, rank: int) -> str:
        return f"{self.attempt(attempt)}workers/{rank}.json"

    def exit(self, attempt: int, rank: int) -> str:
        return f"{self.attempt(attempt)}exits/{rank}.json"

    def beat(self, attempt: int) -> str:
        return f"{self.attempt(attempt)}beat.json"

    def parts(self, attempt: int) -> str:
        return f"{self.attempt(attempt)}parts/"

    def part(self, attempt: int, nonce: str, number: int) -> str:
        return f"{self.parts(attempt)}{nonce}/{number:06d}"

    def stream(self, attempt: int, stream: str, rank: int) -> str:
        """Where a stream's sealed segments lie; `stream` is `log` or `metrics`."""
        return f"{self.attempt(attempt)}{stream}/{rank}/"

    def segment(self, attempt: int, stream: str, rank: int, offset: int) -> str:
        return f"{self.stream(attempt, stream, rank)}{offset:015d}"

    def tail(self, attempt: int, stream: str, rank: int) -> str:
        """What is not sealed yet, rewritten while somebody watches: 15 digits of its first byte's offset, then the bytes."""
        return f"{self.attempt(attempt)}{stream}/{rank}.tail"

    @property
    def checkpoints(self) -> str:
        return f"{self.root}checkpoints/"

    def manifest(self, name: str) -> str:
        return f"{self.root}checkpoints/{name}.json"

    @property
    def requests(self) -> str:
        return f"{self.root}requests/"

    def request(self, launch: int, kind: str, nonce: str) -> str:
        return f"{self.root}requests/{launch:06d}-{kind}-{nonce}.json"

    def edit(self, launch: int, at: float, nonce: str) -> str:
        """A wish to change the code: the newest has the highest name."""
        return self.request(launch, "sync", f"{int(at * 1000):013d}-{nonce}")

    @property
    def bell(self) -> str:
        return f"{self.root}requests/bell"

    @property
    def outputs(self) -> str:
        return f"{self.root}outputs/"

    def output(self, path: str) -> str:
        return f"{self.root}outputs/{path}"

    @property
    def published(self) -> str:
        """Names the manifest that `outputs/` shows completely."""
        return f"{self.root}published.json"

    @property
    def notifications(self) -> str:
        return f"{self.root}notify/"

    def notification(self, event: str) -> str:
        """Somebody is about to tell of this event; nobody else will."""
        return f"{self.notifications}{event}.json"

    def notified(self, event: str) -> str:
        """What became of that."""
        return f"{self.notifications}{event}-told.json"

    @property
    def evaluations(self) -> str:
        return f"{self.root}evaluations/"

    def evaluation(self, job: str) -> str:
        """That another job evaluates this one; written at its submit."""
        return f"{self.evaluations}{job}/evaluation.json"

    def result(self, job: str) -> str:
        """What came of it; published when it has succeeded."""
        return f"{self.evaluations}{job}/result.json"

    @property
    def pins(self) -> str:
        return f"{self.root}pins/"

    def pin(self, nonce: str) -> str:
        return f"{self.root}pins/{nonce}.json"


class SweepKeys:
    """What the folder of a sweep has beside a job's."""

    def __init__(self, sweep: str) -> None:
        self.root = f"jobs/{sweep}/"
        self.grids = f"{self.root}grids/"
        self.rows = f"{self.root}rows/"
        self.bills = f"{self.root}bills/"
        self.trials = f"{self.root}trials/"
        self.cells = f"{self.root}cells/"

    def grid(self, number: int) -> str:
        return f"{self.grids}{number:06d}.json"

    def claims(self, launch: int) -> str:
        return f"{self.root}claims/{launch:06d}/"

    def claim(self, launch: int, cell: int, number: int) -> str:
        return f"{self.claims(launch)}{cell:06d}-{number}"

    def row_segment(self, machine: str, number: int) -> str:
        return f"{self.rows}{machine}-{number:06d}"

    def bill(self, machine: str) -> str:
        return f"{self.bills}{machine}.json"

    def spare(self, machine: str) -> str:
        """Empty: its worker leaves, or has left, and nobody comes in its place."""
        return f"{self.bills}{machine}.spare"

    def rungs(self, turn: int) -> str:
        """What cells measured on their way; the names of empty objects say all of it (see rungs.py)."""
        return f"{self.root}rungs/{turn:06d}/"

    def trial(self, cell: int, turn: int) -> str:
        return f"{self.trials}{cell:06d}{_turn(turn)}.json"


def cell_id(sweep: str, cell: int) -> str:
    return f"{sweep}.{cell}"


def cell_parts(job: str) -> tuple[str, int] | None:
    """(sweep, number) of a cell's id; None: it is a job's."""
    sweep, dot, number = job.partition(".")
    return (sweep, int(number)) if dot and number.isascii() and number.isdecimal() and len(number) < 10 else None


def worker_of(machine: str) -> int:
    """`<launch id>-<worker>-<boot>`: the number in the middle."""
    return int(machine.rpartition("-")[0].rpartition("-")[2])


def claim_parts(name: str) -> tuple[int, int] | None:
    """(cell, number) of the last part of a claim's key; None: a foreign file."""
    cell, dash, number = name.partition("-")
    return (int(cell), int(number)) if dash and cell.isdecimal() and number.isdecimal() else None


def _turn(turn: int) -> str:
    return f".{turn}" if turn > 1 else ""


class CellKeys(JobKeys):
    """The keys of one cell's folder: what is said to the sweep is said to all its cells, and its launches are theirs."""

    def __init__(self, sweep: str, cell: int, turn: int = 1) -> None:
        super().__init__(cell_id(sweep, cell))
        self._sweep = JobKeys(sweep)
        self._root = f"{self._sweep.root}cells/{cell:06d}{_turn(turn)}/"

    @property
    def root(self) -> str:
        return self._root

    @property
    def spec(self) -> str:
        return self._sweep.spec

    @property
    def launches(self) -> str:
        return self._sweep.launches

    def launch(self, launch: int) -> str:
        return self._sweep.launch(launch)

    def boots(self, launch: int) -> str:
        return self._sweep.boots(launch)

    @property
    def requests(self) -> str:
        return self._sweep.requests

    def request(self, launch: int, kind: str, nonce: str) -> str:
        return self._sweep.request(launch, kind, nonce)

    @property
    def bell(self) -> str:
        return self._sweep.bell

    @property
    def pins(self) -> str:
        """A reader's hold on a cell is one on its sweep: who deletes that looks in one place."""
        return self._sweep.pins

    def pin(self, nonce: str) -> str:
        return self._sweep.pin(nonce)
