"""The directory of one machine on this computer: every path in it, and what a machine is told before it boots.

A machine does not outlive a boot of its computer, so nothing in here is synchronised with the disk: what one of its
processes wrote, the next one reads, and after a power cut the whole directory is a dead machine's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.host import files
from outlast.host.process import Process
from outlast.spec.record import decode, encode

MARK = "OUTLAST_MACHINE"
"""In the environment of all that a trainer starts: by it a dead machine's processes are found."""

NOTICE_SECONDS_DEFAULT = 30.0
"""How long a machine has whose init is asked to end (SIGTERM) without a time: as on Google's Spot machines."""

ORPHAN_SECONDS_MAX = 30 * 60.0
"""So long a trainer runs on while no agent stays alive; then its machine ends."""


@dataclass(frozen=True)
class Assignment:
    """What a machine is told: `machine.json`, written before it boots."""

    home: str
    job: str
    launch: int
    launch_id: str
    rank: int
    workers: int
    boot: int
    """Counts the machines that this rank has had."""

    deadline_at: float
    cpus: int = 1
    gpus: tuple[str, ...] | None = None
    """The devices that it may see; None: this computer has none, and nothing is said about them."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """The base of the trainer's environment, from the shell that submitted."""

    labels: Mapping[str, str] = field(default_factory=dict)
    rented: bool = False
    """The machine is this job's alone: its environment, also what leads to Google, is the trainer's."""

    time_scale: float = 1.0
    """Of an emulator whose seconds are shorter."""

    failed_boots: int = 0
    """How many boots of this rank before this one, in a row, never came up, or never had an agent that stayed."""

    short_lives: int = 0
    """How many machines of this rank before this one, in a row, were gone at once."""

    born_at: float | None = None
    """Since when a rented machine is up, by its own monotonic clock; None: since its agent began."""

    limited: bool = False
    """It leaves before it lives longer than it has paid for."""

    @property
    def machine(self) -> str:
        return f"{self.launch_id}-{self.rank}-{self.boot}"


@dataclass(frozen=True)
class MachineDir:
    path: Path

    @cached_property
    def assignment(self) -> Path:
        return self.path / "machine.json"

    @cached_property
    def init(self) -> Path:
        """Who init is; created by it as its first act, or by a supervisor that found no one and will not wait."""
        return self.path / "init.json"

    @cached_property
    def agent(self) -> Path:
        return self.path / "agent.json"

    @cached_property
    def up(self) -> Path:
        """The agent's first act after it has read what it needs: the boot succeeded."""
        return self.path / "up"

    @cached_property
    def left(self) -> Path:
        """`{"done": bool}`, and `"spare": true` where nobody needs to take its place; absent = the machine died."""
        return self.path / "left.json"

    @cached_property
    def notice(self) -> Path:
        """`{"leave_by_monotonic": seconds}`: the machine is going to be taken away."""
        return self.path / "notice.json"

    @cached_property
    def losses(self) -> Path:
        """`{"losses": count, "at_monotonic": seconds}`: so many agents in a row did not stay, the last one until then. And
        `"given_up": true`: init has ended the machine for that."""
        return self.path / "losses.json"

    @cached_property
    def note(self) -> Path:
        return self.path / "note"

    @cached_property
    def log(self) -> Path:
        """What init and agent have to say; the trainer's log is in the spool."""
        return self.path / "machine.log"

    @cached_property
    def spool(self) -> Path:
        return self.path / "spool"

    @cached_property
    def trainer(self) -> Path:
        """The agent's order to init: argv, env, cwd, attempt."""
        return self.path / "trainer.json"

    @cached_property
    def trainer_secrets(self) -> Path:
        """Variables of the next trainer that must not stand in its order; gone when it has started."""
        return self.path / "trainer-secrets.json"

    def trainer_process(self, attempt: int) -> Path:
        return self.path / f"trainer-{attempt}.pid.json"

    def exit(self, attempt: int) -> Path:
        return self.path / f"exit-{attempt}.json"

    @cached_property
    def reserve(self) -> Path:
        """Space that is given back when the disk is full."""
        return self.path / "reserve"

    @cached_property
    def orders(self) -> Path:
        """A FIFO: the agent's bytes to init."""
        return self.path / "orders"

    @cached_property
    def tidings(self) -> Path:
        """A FIFO: init's bytes to the agent; its end is init's end."""
        return self.path / "tidings"

    @cached_property
    def work(self) -> Path:
        """The bundle, unpacked: the trainer's working directory, fresh for every attempt."""
        return self.path / "work"

    @cached_property
    def run(self) -> Path:
        """Where the trainer's library and the agent meet, fresh for every attempt."""
        return self.path / "run"

    @cached_property
    def taken(self) -> Path:
        """Links to the checkpoint that is being uploaded: the library may remove it meanwhile."""
        return self.path / "taken"

    def vanished(self) -> bool:
        """Somebody has removed it: nothing can be told or kept any more."""
        return not os.path.exists(self.assignment)

    def write_assignment(self, assignment: Assignment) -> None:
        files.put(self.assignment, encode(assignment))

    def read_assignment(self) -> Assignment:
        """`Damaged` if a power cut tore it, or it is not there."""
        return decode(Assignment, files.read(self.assignment) or b"", str(self.assignment))

    def init_process(self) -> Process | None:
        """None also when the machine has left: its processes may be another machine's by now."""
        return None if self.left_done() is not None else Process.read(files.read_json(self.init))

    def left_done(self) -> bool | None:
        """None: it did not leave; it runs, or it died."""
        document = files.read_json(self.left)
        return bool(document["done"]) if isinstance(document, dict) and "done" in document else None

    def given_up(self) -> bool:
        """Init has ended it: no agent stayed."""
        document = files.read_json(self.losses)
        return isinstance(document, dict) and bool(document.get("given_up"))

    def left_spare(self) -> bool:
        document = files.read_json(self.left)
        return isinstance(document, dict) and bool(document.get("spare"))
