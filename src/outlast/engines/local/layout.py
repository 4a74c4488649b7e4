"""The local engine's state on disk: every path, and the order that `start` writes.

    incoming/<id>.json   `start`: put here by rename; the supervisor moves it to launches/
    incoming/<id>.stop   the supervisor is to look at stopped/<id>
    launches/<id>.json   taken up by the supervisor: waits in the queue, or has machines
    machines/<id>/<rank>-<n>/
    trash/               directories of dead machines on their way out
    stopped/<id>         the wish that ends a launch, and forbids it to begin, for ever; with an end: what it ended for
    ended/<id>           what became of it; empty: nothing is left of it and there is nothing to say
    supervisor.lock      held by the living supervisor
    supervisor.json      who it is, and what it has to give
    spawn.lock           held while one is being started
    bell                 a FIFO that the supervisor reads: nobody there to hear it = no supervisor

A launch moves through the first, third and last of these in one direction only, and is in the next before it leaves the
one before: who looks in that order never misses it.

Nothing here is synchronised with the disk but the wish to stop: a launch that a power cut swallowed, or of which it left
an empty file, is ABSENT, and the next command that looks starts it again from its record.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from outlast.dataclass import dataclass
from outlast.engines.engine import Condition, Launch, LaunchState
from outlast.errors import UsageError
from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.pattern import pattern
from outlast.spec.record import decode, encode

VERSION = str(vars(sys.modules["outlast"])["__version__"])
"""Of this package. Looked up and not imported: by the names that it offers it depends on everything."""

ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
ID_LENGTH_MAX = 100
_MACHINE = pattern(r"(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
"""RANK-BOOT: whatever else lies there is nobody's machine."""


@dataclass(frozen=True)
class Order:
    """A launch that was started: all that its machines need, also after a reboot."""

    launch: Launch
    started_at: float
    environ: Mapping[str, str] = field(default_factory=dict)
    """What machines inherit from the shell that started the launch, and not from whichever shell started the supervisor."""

    files_max: int = 0
    """Likewise: see `Assignment`."""


@dataclass(frozen=True)
class End:
    """What became of a launch."""

    condition: Condition = Condition.ABSENT
    why: str = ""

    def state(self) -> LaunchState:
        return LaunchState(self.condition, self.why, over=self.condition is Condition.ABSENT)


class LocalDir:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.incoming = path / "incoming"
        self.launches = path / "launches"
        self.machines = path / "machines"
        self.stopped = path / "stopped"
        self.ended = path / "ended"
        self.trash = path / "trash"
        self.lock = path / "supervisor.lock"
        self.supervisor = path / "supervisor.json"
        self.spawn_lock = path / "spawn.lock"
        self.bell = path / "bell"
        self.log = path / "supervisor.log"

    def create(self) -> None:
        """All of it, private to its user; nothing if it is there."""
        if self.bell.exists():
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (self.path, self.incoming, self.launches, self.machines, self.stopped, self.ended):
            directory.mkdir(mode=0o700, exist_ok=True)
        system.spread_below(self.machines)
        self.mend()

    def mend(self) -> None:
        """Where no supervisor listens: whatever stands at one of its names and is nothing that it made goes."""
        for path in (self.lock, self.spawn_lock, self.supervisor, self.log):
            if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
                files.remove(path)
        if self.bell.is_symlink() or not self.bell.is_fifo():
            files.remove(self.bell)
            try:
                os.mkfifo(self.bell, 0o600)
            except FileExistsError:
                pass  # somebody else has just made it

    def incoming_order(self, launch_id: str) -> str:
        return f"{self.incoming}/{launch_id}.json"

    def incoming_stop(self, launch_id: str) -> str:
        return f"{self.incoming}/{launch_id}.stop"

    def order(self, launch_id: str) -> str:
        return f"{self.launches}/{launch_id}.json"

    def holds(self, launch_id: str) -> bool:
        """It has arrived, or was taken up, and is not over."""
        return os.path.exists(self.incoming_order(launch_id)) or os.path.exists(self.order(launch_id))

    def machines_of(self, launch_id: str) -> str:
        return f"{self.machines}/{launch_id}"

    def wish(self, launch_id: str) -> str:
        """That ends it, and forbids it to begin."""
        return f"{self.stopped}/{launch_id}"

    def end(self, launch_id: str) -> str:
        return f"{self.ended}/{launch_id}"

    def machine(self, launch_id: str, rank: int, boot: int) -> MachineDir:
        return MachineDir(f"{self.machines_of(launch_id)}/{rank}-{boot}")

    def machine_dirs(self, launch_id: str) -> Iterator[tuple[int, int, MachineDir]]:
        """(rank, boot, directory) of all that are there, oldest boot first."""
        path = self.machines_of(launch_id)
        if os.path.islink(path):
            return  # whatever it leads to is none of ours
        try:
            names = os.listdir(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        found = sorted((int(name[1]), int(name[2])) for name in map(_MACHINE.fullmatch, names) if name)
        for rank, boot in found:
            directory = self.machine(launch_id, rank, boot)
            if os.path.isdir(directory.path) and not os.path.islink(directory.path):
                yield rank, boot, directory

    def newest_machines(self, launch_id: str) -> dict[int, MachineDir]:
        """Rank -> its newest machine's directory."""
        return {rank: directory for rank, _, directory in self.machine_dirs(launch_id)}

    def read_end(self, launch_id: str) -> End | None:
        data = files.read(self.end(launch_id))
        if data is None:
            return None
        return decode(End, data, self.end(launch_id)) if data else End()

    def write_end(self, launch_id: str, end: End) -> None:
        if end == End():
            files.create(self.end(launch_id))
        else:
            files.put(self.end(launch_id), encode(end))

    def wished_away(self, launch_id: str) -> bool:
        return os.path.exists(self.wish(launch_id))


def encode_order(order: Order) -> bytes:
    return encode(order)


def read_order(path: str) -> Order | None:
    """None: it is not there. `Damaged`: it is not what was written."""
    data = files.read(path)
    return None if data is None else decode(Order, data, path)


def is_id(text: str) -> bool:
    return 0 < len(text) <= ID_LENGTH_MAX and ID_CHARACTERS.issuperset(text)


def check_id(launch_id: str) -> None:
    """Ids become file names."""
    if not is_id(launch_id):
        raise UsageError(f"`{launch_id[:40]}` is no launch id: letters, digits, `-` and `_`, at most {ID_LENGTH_MAX}")
