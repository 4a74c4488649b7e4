"""Saves of a trainer that does not use the library: its files, whenever they are quiet and differ from the last save."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from outlast.agent.child import Saved
from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.host import files
from outlast.machine.disk_file import DiskFile
from outlast.machine.settle import Quiet, Settling
from outlast.pattern import pattern

OUTPUTS_SECONDS_MIN = 60.0
"""When only outputs have changed, they are not saved more often than this."""

HELD_MAX = 256
"""So many files are kept open from a save to the next, so that a trainer that replaces them meanwhile spoils no upload."""

EMPTY = hashlib.sha256(repr([]).encode()).hexdigest()
"""The digest of a directory without files."""

_DATE = pattern(r"(?<!\d)(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d)")
_SHARD = pattern(r"\d+[-_]of[-_]\d+")
_NUMBER = pattern(r"(?<![0-9A-Za-z])[A-Za-z]*?(\d{1,9})(?![0-9A-Za-z])")


@dataclass(frozen=True)
class Memory:
    """What an agent that is started again must know, in `unmodified.json`."""

    number: int = 0
    step: int | None = None
    checkpoint: str = EMPTY
    output: str = EMPTY
    """Digests of the two directories as they were saved last."""


class Unmodified:
    def __init__(self, settling: Settling, memory: str, clock: Clock) -> None:
        self.settling = settling
        self.clock = clock
        self._path = memory
        document = files.read_json(memory)
        self.memory = Memory(**document) if isinstance(document, dict) else Memory()
        self._ready: Saved | None = None
        self._saved_at = 0.0

    def begin(self, resumed_step: int | None, *, empty: bool = False) -> None:
        """What was restored is no save of this attempt. `empty`: it is known that nothing is there."""
        scanned = {} if empty else self.settling.scan()
        quiet = Quiet({path: (seen, False) for path, seen in scanned.items()})
        memory = Memory(0, resumed_step, _digest(quiet, "checkpoint/"), _digest(quiet, "output/"))
        if memory != self.memory:
            self._remember(memory)

    def saved(self, after: int) -> Saved | None:
        quiet = self.settling.look()
        if quiet is not None:
            self._offer(quiet, patient=True)
        return self._ready if self._ready is not None and self._ready.number > after else None

    def last(self, after: int, *, killed: bool, ended_at: float) -> Saved | None:
        quiet = self.settling.last(killed=killed, ended_at=ended_at)
        if quiet is None:
            return None
        self._offer(quiet, patient=False)
        return self._ready if self._ready is not None and self._ready.number > after else None

    def _offer(self, quiet: Quiet, *, patient: bool) -> None:
        checkpoint, output = _digest(quiet, "checkpoint/"), _digest(quiet, "output/")
        memory = self.memory
        if (checkpoint, output) == (memory.checkpoint, memory.output):
            if memory.number and (self._ready is None or self._ready.number != memory.number):
                self._make_ready(quiet)  # of an earlier life of this agent, or it changed while it was being opened
            return
        now = self.clock.monotonic()
        if patient and checkpoint == memory.checkpoint and now - self._saved_at < OUTPUTS_SECONDS_MIN:
            return
        step = memory.step or 0
        if checkpoint != memory.checkpoint:
            step = max(step + 1, number_in(path for path in quiet.files if path.startswith("checkpoint/")))
        self._remember(Memory(memory.number + 1, step, checkpoint, output))
        self._saved_at = now
        self._make_ready(quiet)

    def _make_ready(self, quiet: Quiet) -> None:
        if self._ready is not None:
            for file in self._ready.files:
                if isinstance(file, DiskFile):
                    file.release()
        taken = [
            DiskFile(path, self.settling.source(path), seen, appended=appended)
            for path, (seen, appended) in sorted(quiet.files.items())
        ]
        for file in taken[:HELD_MAX]:
            file.hold()
        self._ready = Saved(self.memory.number, self.memory.step or 0, complete=False, files=tuple(taken))

    def _remember(self, memory: Memory) -> None:
        self.memory = memory
        files.put_json(self._path, vars(memory))


def number_in(paths: Iterable[str]) -> int:
    """The highest number in a checkpoint's name; 0: none. Dates and shards (`00001-of-00003`) are no steps, nor is `.h5`."""
    highest = 0
    for path in paths:
        if "tfevents" in path:
            continue
        stem, _, suffix = path.rpartition(".")
        name = stem if stem and "/" not in suffix and not suffix.isdigit() else path
        for number in _NUMBER.findall(_SHARD.sub("", _DATE.sub("", name))):
            highest = max(highest, int(number))
    return highest


def _digest(quiet: Quiet, root: str) -> str:
    if not quiet.files:
        return EMPTY
    return hashlib.sha256(repr(quiet.part(root)).encode()).hexdigest()
