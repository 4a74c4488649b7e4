"""When the files of an unmodified trainer are whole: nobody has them open for writing, and nothing about them has changed.

A file is in one of three conditions. Quiet: unchanged for its settle time, and no process of the machine writes to it.
Appended to: it has a log's name and is being written; its first bytes are taken. Busy: anything else.

A busy file among the checkpoints holds a save up. One among the outputs does so for BUSY_SECONDS_MAX, and is then left
out; one with a log's name counts as appended to after that, wherever it is.
"""

from __future__ import annotations

import enum
import re
from collections import deque
from collections.abc import Callable, Collection

from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.host import system
from outlast.machine import tree, whole
from outlast.machine.disk_file import Seen
from outlast.pattern import pattern

SETTLE_SECONDS = 2.0
SETTLE_SECONDS_RENAMED = 0.2
SETTLE_SECONDS_UNSEEN = 4.0
"""Where it cannot be seen whether a file is open."""

TORN_SECONDS_MAX = 60.0
"""What is quiet for so long is as its trainer wants it, however odd; but for a checkpoint of a HARD format."""

BUSY_SECONDS_MAX = 30.0
HELD_UP_SECONDS = 600.0
"""So long no look has found the checkpoints quiet: their owner should know that nothing is saved."""

LOOK_SECONDS = 0.2
LOOK_SHARE = 100
"""A look may cost a hundredth of the time between two looks."""

LOOKS_WEIGHED = 4
"""The quickest of so many says what a look costs: others had to wait, for a processor or a disk that a trainer keeps busy."""

_LOG = pattern(r"\.(log|csv|tsv|txt|jsonl|ndjson|out|err|wandb)$|tfevents", re.IGNORECASE)


def quiet_seconds() -> float:
    """How long a file must be unchanged that was not renamed."""
    return SETTLE_SECONDS if system.LINUX else SETTLE_SECONDS_UNSEEN


def has_log_name(path: str) -> bool:
    """It may be written all the time: what is in it says little about when it was saved."""
    return _LOG.search(path) is not None


class Condition(enum.Enum):
    QUIET = "quiet"
    APPENDED = "appended to"
    BUSY = "busy"


@dataclass
class Watched:
    seen: Seen
    changed_at: float
    renamed: bool
    """It came to its name by a rename: its content was written before."""

    look: whole.Look | None = None
    """What its format says; None: not asked yet."""


@dataclass(frozen=True)
class Quiet:
    """A set of files that is whole: path, as in a manifest -> (what it is, whether it is appended to)."""

    files: dict[str, tuple[Seen, bool]]

    def part(self, root: str) -> list[tuple[str, str]]:
        """What decides whether something new is there: a log that grows does not."""
        return sorted(
            (path, seen.identity)
            for path, (seen, appended) in self.files.items()
            if path.startswith(root) and not appended
        )


class Settling:
    def __init__(
        self,
        checkpoint: str,
        output: str,
        processes: Callable[[], Collection[int]],
        clock: Clock,
        within: str = "",
    ) -> None:
        self.roots = {"checkpoint/": checkpoint, "output/": output}
        self.within = within
        self.processes = processes
        self.clock = clock
        self.unreadable: set[str] = set()
        """Files and directories that may not be read, and are not kept."""

        self.held_up_by = ""
        """What keeps its checkpoints from being taken, for HELD_UP_SECONDS by now; empty: nothing does."""

        self.watched: dict[str, Watched] = {}
        self.removed_at = clock.monotonic()
        self._look_at = 0.0
        self._looks_took: deque[float] = deque(maxlen=LOOKS_WEIGHED)
        self._disturbed_at: float | None = None
        """Since when no look has found them quiet; None: the last one has, or there is nothing to take."""

        self._disturbed_by = ""
        self._busy_since: dict[str, float] = {}
        self._sizes: dict[str, int] = {}

    def source(self, path: str) -> str:
        root, _, rest = path.partition("/")
        return f"{self.roots[f'{root}/']}/{rest}"

    def scan(self) -> dict[str, Seen]:
        """Everything as it is now."""
        found: dict[str, Seen] = {}
        checkpoint = self.roots["checkpoint/"]
        for root, directory in self.roots.items():
            # A file is kept once, though one directory may lie in the other.
            without = [checkpoint] if root == "output/" else []
            scanned = tree.scan(directory, within=self.within, without=without, unreadable=self.unreadable)
            found.update((root + path, seen) for path, seen in scanned.items())
        return found

    def look(self) -> Quiet | None:
        """The files, if they are quiet; None: not now, or it is too early to look again."""
        begun_at = self.clock.monotonic()
        if begun_at < self._look_at:
            return None
        self._note(self.scan(), begun_at)
        self._disturbed_by = ""
        quiet = self._judge(begun_at) if self._has_checkpoint() else None
        self._note_disturbance(begun_at, quiet=quiet is not None)
        now = self.clock.monotonic()
        self._looks_took.append(now - begun_at)
        self._look_at = now + max(LOOK_SECONDS, LOOK_SHARE * min(self._looks_took))
        return quiet

    def _note_disturbance(self, now: float, *, quiet: bool) -> None:
        if quiet:
            self._disturbed_at, self.held_up_by = None, ""
        elif self._disturbed_by and self._disturbed_at is None:
            self._disturbed_at = now
        elif self._disturbed_by and self._disturbed_at is not None and now - self._disturbed_at >= HELD_UP_SECONDS:
            self.held_up_by = self._disturbed_by

    def last(self, *, killed: bool, ended_at: float) -> Quiet | None:
        """The files now that nobody writes any more. `killed`: it had no chance to come to an end with what it wrote."""
        now = self.clock.monotonic()
        self._note(self.scan(), now)
        if not self._has_checkpoint():
            return None
        taken: dict[str, tuple[Seen, bool]] = {}
        for path, file in self.watched.items():
            if path.startswith("checkpoint/") and self._refused_at_end(path, file, killed=killed, ended_at=ended_at):
                return None
            taken[path] = (file.seen, False)
        return Quiet(taken)

    def _refused_at_end(self, path: str, file: Watched, *, killed: bool, ended_at: float) -> bool:
        look = self._format(path, file)
        if not look.whole:
            return killed or look.format in whole.HARD
        # Written just before the kill, in a format that does not tell, under its own name: it may be cut anywhere.
        age = ended_at - max(file.seen.modified_ns, file.seen.changed_ns) / 1e9
        return killed and not look.format and not file.renamed and age < SETTLE_SECONDS

    def _has_checkpoint(self) -> bool:
        """Outputs alone are nothing to go on from: without a checkpoint the trainer begins at the beginning, and so do they."""
        return any(path.startswith("checkpoint/") for path in self.watched)

    def _note(self, found: dict[str, Seen], now: float) -> None:
        if self.watched.keys() - found.keys():
            self.removed_at = now
        before, self.watched = self.watched, {}
        for path, seen in found.items():
            known = before.get(path)
            if known is None or known.seen != seen:
                replaced = known is not None and known.seen.inode != seen.inode
                # A rename within the same tick of the file system's clock leaves no trace in its times; another file under the
                # same name does, and where openness can be seen, one that nobody has open was written before.
                traced = seen.changed_ns > seen.modified_ns or (replaced and system.LINUX)
                renamed = (known is None or replaced) and traced
                # Whole before it came to its name, and its name says when: a trainer that saves twice a second is still heard.
                age = max(0.0, self.clock.now() - seen.changed_ns / 1e9) if renamed else 0.0
                known = Watched(seen, now - age, renamed)
            self.watched[path] = known

    def _judge(self, now: float) -> Quiet | None:
        if now - self.removed_at < SETTLE_SECONDS_RENAMED:
            return None
        unsettled = {path for path, file in self.watched.items() if not self._settled(file, now)}
        busy = (path for path in sorted(unsettled) if path.startswith("checkpoint/") and not _LOG.search(path))
        self._disturbed_by = next(busy, "")
        if self._disturbed_by:
            return None
        taken: dict[str, tuple[Seen, bool]] = {}
        written = self._written()
        for path, file in self.watched.items():
            condition = self._condition(path, now, unsettled=path in unsettled, written=path in written)
            if condition is Condition.BUSY:
                if path.startswith("checkpoint/") or now - self._busy_since[path] < BUSY_SECONDS_MAX:
                    self._disturbed_by = path
                    return None
                continue
            if condition is Condition.QUIET and self._held_back(path, file, now):
                self._disturbed_by = path
                return None
            taken[path] = (file.seen, condition is Condition.APPENDED)
        return Quiet(taken)

    def _settled(self, file: Watched, now: float) -> bool:
        if file.renamed and file.seen.size > 0:
            return now - file.changed_at >= SETTLE_SECONDS_RENAMED
        return now - file.changed_at >= quiet_seconds()

    def _written(self) -> set[str]:
        """Costs a look at every process of the machine, so it comes after all that costs nothing, and not where it would show nothing."""
        if not system.LINUX:
            return set()
        paths = {(file.seen.device, file.seen.inode): path for path, file in self.watched.items()}
        return {paths[inode] for inode in system.written(self.processes(), paths.keys())}

    def _condition(self, path: str, now: float, *, unsettled: bool, written: bool) -> Condition:
        if not unsettled and not written:
            self._busy_since.pop(path, None)
            return Condition.QUIET
        busy_since = self._busy_since.setdefault(path, now)
        if not _LOG.search(path):
            return Condition.BUSY
        open_for_long = written or path.startswith("output/") or now - busy_since >= BUSY_SECONDS_MAX
        return Condition.APPENDED if open_for_long else Condition.BUSY

    def _held_back(self, path: str, file: Watched, now: float) -> bool:
        """Torn, though nobody writes: its trainer failed in the middle of it, or is about to go on."""
        look = self._format(path, file)
        if look.whole:
            return False
        return (path.startswith("checkpoint/") and look.format in whole.HARD) or (
            now - file.changed_at < TORN_SECONDS_MAX
        )

    def _format(self, path: str, file: Watched) -> whole.Look:
        if file.look is None:
            emptied = file.seen.size == 0 and self._sizes.get(path, 0) > 0
            file.look = whole.Look("emptied", whole=False) if emptied else whole.look(self.source(path))
        if file.seen.size:
            self._sizes[path] = file.seen.size
        return file.look
