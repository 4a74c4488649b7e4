"""The directory of one machine on this computer: every path in it, and what a machine is told before it boots.

A machine does not outlive a boot of its computer, so nothing in here is synchronised with the disk: what one of its
processes wrote, the next one reads, and after a power cut the whole directory is a dead machine's.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.host import files
from outlast.host.process import Process
from outlast.spec.record import decode, encode

MARK = "OUTLAST_MACHINE"
"""In the environment of all that a trainer starts: by it a dead machine's processes are found."""

ENTERED = "entered"
"""In a machine's directory: who is there, one file for each. A machine that waits for people looks at it."""

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

    files_max: int = 0
    """How many files a process may have open, in that shell (`ulimit -n`); -1: any number; 0: nothing is said about it."""

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


class MachineDir:
    """Its paths are texts: a short job asks for a hundred of them, and a `Path` takes microseconds to make and to read."""

    def __init__(self, path: str | Path) -> None:
        at = os.fspath(path)
        self.path = at
        self.assignment = f"{at}/machine.json"
        self.init = f"{at}/init.json"
        """Who init is; created by it as its first act, or by a supervisor that found no one and will not wait."""

        self.agent = f"{at}/agent.json"
        self.up = f"{at}/up"
        """The agent's first act after it has read what it needs: the boot succeeded."""

        self.left = f"{at}/left.json"
        """`{"done": bool}`, and `"spare": true` where nobody needs to take its place; absent = the machine died."""

        self.notice = f"{at}/notice.json"
        """`{"leave_by_monotonic": seconds}`: the machine is going to be taken away."""

        self.preempted = f"{at}/preempted"
        """There when somebody asked for it to be taken away: it did not die by itself."""

        self.losses = f"{at}/losses.json"
        """`{"losses": count, "at_monotonic": seconds}`: so many agents in a row did not stay, the last one until then. And
        `"given_up": true`: init has ended the machine for that."""

        self.note = f"{at}/note"
        self.log = f"{at}/machine.log"
        """What init and agent have to say; the trainer's log is in the spool."""

        self.spool = f"{at}/spool"
        self.trainer = f"{at}/trainer.json"
        """The agent's order to init: argv, env, cwd, attempt."""

        self.trainer_secrets = f"{at}/trainer-secrets.json"
        """Variables of the next trainer that must not stand in its order; gone when it has started."""

        self.reserve = f"{at}/reserve"
        """Space that is given back when the disk is full."""

        self.orders = f"{at}/orders"
        """A FIFO: the agent's bytes to init."""

        self.tidings = f"{at}/tidings"
        """A FIFO: init's bytes to the agent; its end is init's end."""

        self.work = f"{at}/work"
        """The bundle, unpacked: the trainer's working directory, fresh for every attempt."""

        self.run = f"{at}/run"
        """Where the trainer's library and the agent meet, fresh for every attempt."""

        self.taken = f"{at}/taken"
        """Links to the checkpoint that is being uploaded: the library may remove it meanwhile."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MachineDir) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def user_dir(self) -> Path:
        """Of whoever owns this machine: what its machines share (caches, secrets) is there."""
        return _user_dir(os.path.dirname(os.path.dirname(self.path)))

    def trainer_process(self, attempt: int) -> str:
        return f"{self.path}/trainer-{attempt}.pid.json"

    def exit(self, attempt: int) -> str:
        return f"{self.path}/exit-{attempt}.json"

    def vanished(self) -> bool:
        """Somebody has removed it: nothing can be told or kept any more."""
        return not os.path.exists(self.assignment)

    def write_assignment(self, assignment: Assignment) -> None:
        files.put(self.assignment, encode(assignment))

    def read_assignment(self) -> Assignment:
        """`Damaged` if a power cut tore it, or it is not there."""
        return decode(Assignment, files.read(self.assignment) or b"", self.assignment)

    def init_process(self) -> Process | None:
        """None also when the machine has left: its processes may be another machine's by now."""
        return None if self.left_done() is not None else Process.read(files.read_json(self.init))

    def never_began(self) -> bool:
        """Init's name was taken by whoever found no one: it did not come in time, and never will."""
        return files.read(self.init) == b""

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


@functools.lru_cache(maxsize=1)
def _user_dir(machines: str) -> Path:
    """The same for one machine after another."""
    return Path(machines).parents[1]
