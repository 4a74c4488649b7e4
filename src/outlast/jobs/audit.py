"""What is paid for at every provider, compared with what the homes say: what belongs to a living job, and what has leaked."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from outlast.dataclass import dataclass
from outlast.engines.engine import Auditor, Found, home_digest
from outlast.engines.registry import auditors
from outlast.errors import Denied, KeyMissing, OutlastError
from outlast.folder.bills import Bills
from outlast.folder.home import Home
from outlast.folder.records import Head
from outlast.jobs.complaints import stuck_words
from outlast.jobs.job import Job
from outlast.jobs.roles import LEAVE_GROUP
from outlast.jobs.world import World

GRACE_SECONDS = 120.0
"""So long after its job's end a machine may still be on its way out; and a launch that was just made may not be in its home yet."""

TEMPLATE_SECONDS = 3600.0
"""A template may be somebody's who is about to use it; after an hour it is nobody's."""


class Verdict(enum.Enum):
    NEEDED = "needed"
    KEPT = "kept"
    """Made to stay: an image."""

    GOING = "going"
    """Its job has ended a moment ago."""

    UNKNOWN = "unknown"
    """Of a home that this user does not know."""

    LEAK = "leak"
    LITTER = "litter"
    """Nobody's, and free."""


@dataclass(frozen=True)
class Judged:
    engine: str
    found: Found
    verdict: Verdict
    why: str
    trapped: bool = False
    """A machine that its group would make again, were it deleted by itself."""


@dataclass
class Audit:
    project: str
    now: float
    """By the clock of who was asked: what is there is dated by it."""

    items: list[Judged] = field(default_factory=list)
    away: dict[str, str] = field(default_factory=dict)
    """Homes that could not be read, and why."""

    removed: list[Judged] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def usd_per_hour(self) -> float:
        return round(sum(item.found.usd_per_hour for item in self.items), 5)

    @property
    def leaks(self) -> list[Judged]:
        return [item for item in self.items if item.verdict is Verdict.LEAK]


def audit(world: World, project: str = "", home: str | None = None, *, fix: bool = False) -> Audit:
    """`fix`: what has leaked is removed, then looked for again."""
    rounds = 2 if fix else 1
    removed: list[Judged] = []
    failed: dict[str, str] = {}
    for number in range(rounds):
        result = _look(world, project, home)
        result.removed, result.failed = removed, failed
        if number + 1 < rounds:
            _remove(world, project, home, result)
    return result


def _look(world: World, project: str, home: str | None) -> Audit:
    result = Audit(project, world.clock.now())
    homes = {home_digest(one.url): one for one in world.homes(home)}
    for engine, auditor in auditors(project, world.environ).items():
        found = list(auditor.found())
        judge = _Judge(world, homes, auditor.now)
        result.now = auditor.now()
        judged = [(one, *judge.judge(one)) for one in found]
        result.items += [Judged(engine, one, verdict, why, one.name in judge.trapped) for one, verdict, why in judged]
        result.away |= judge.away
    return result


class _Judge:
    """Reads each job's head once."""

    def __init__(self, world: World, homes: Mapping[str, Home], now: Callable[[], float]) -> None:
        self.world = world
        self.homes = homes
        self.now = now
        self.away: dict[str, str] = {}
        self._heads: dict[tuple[str, str], Head | None] = {}
        self.trapped: set[str] = set()
        """Machines that idle in the group of a job that has not ended, since they lack the right to leave it."""

        self._idle: dict[tuple[str, str], frozenset[str]] = {}

    def judge(self, found: Found) -> tuple[Verdict, str]:
        if found.kept:
            return Verdict.KEPT, "until it is deleted"
        free = found.kind == "template"
        if found.until_at:
            over = self.now() > found.until_at
            return (Verdict.LEAK, "an image was made on it") if over else (Verdict.NEEDED, "an image is made on it")
        if not found.launch:
            return Verdict.LEAK, "it names no launch"
        home = self.homes.get(found.home)
        if home is None:
            return Verdict.UNKNOWN, "of a home that is not known here; `--home` names one"
        try:
            head = self._head(home, found.job)
        except OutlastError as error:
            self.away[home.url] = error.message
            return Verdict.UNKNOWN, f"`{home.url}` cannot be read"
        age_seconds = home.store.now() - found.made_at
        verdict, why = self._by_head(home, head, found, age_seconds)
        if free and verdict in (Verdict.LEAK, Verdict.GOING):
            return (Verdict.LITTER if age_seconds > TEMPLATE_SECONDS else Verdict.GOING), why
        return verdict, why

    def _by_head(self, home: Home, head: Head | None, found: Found, age_seconds: float) -> tuple[Verdict, str]:
        if head is None:
            return _unless_fresh(age_seconds), f"there is no job `{found.job}`"
        if head.launch_id != found.launch:
            return _unless_fresh(age_seconds), f"job `{head.job}` goes on with another launch"
        if not head.state.final:
            if found.kind == "machine" and self._is_idle(home, head, found):
                self.trapped.add(found.name)
                return (
                    Verdict.LEAK,
                    f"job `{head.job}` needs it no more, and it may not leave: `outlast init` gives the right `{LEAVE_GROUP}`",
                )
            return Verdict.NEEDED, f"job `{head.job}` has not ended"
        ended_seconds = home.store.now() - (head.ended_at or 0.0)
        if found.kind != "template" and ended_seconds < self._linger_seconds(home, head):
            return (
                Verdict.NEEDED,
                f"job `{head.job}` has {head.state.value}, and its machine lingers as it was asked to",
            )
        return _unless_fresh(ended_seconds), f"job `{head.job}` has {head.state.value}{self._stuck(home, head, found)}"

    def _stuck(self, home: Home, head: Head, found: Found) -> str:
        """Said once, where it is about: of the group that its machine may not end."""
        if found.kind != "group":
            return ""
        folder = home.folder(head.job)
        words = stuck_words(folder, folder.read_launch(head.launch))
        return f"; {words}" if words else ""

    def _is_idle(self, home: Home, head: Head, found: Found) -> bool:
        """A machine's name ends with its rank."""
        key = (home.url, head.job)
        if key not in self._idle:
            self._idle[key] = Bills(home.folder(head.job)).idle(head.launch)
        rank = found.name.rpartition("-")[2]
        return any(one.partition("-")[0] == rank for one in self._idle[key])

    def _linger_seconds(self, home: Home, head: Head) -> float:
        rented = home.folder(head.job).read_launch(head.launch).machine.rented
        return rented.linger_seconds if rented is not None else 0.0

    def _head(self, home: Home, job: str) -> Head | None:
        key = (home.url, job)
        if key not in self._heads:
            try:
                self._heads[key] = home.folder(job).read_head().head
            except KeyMissing:
                self._heads[key] = None
        return self._heads[key]


def _unless_fresh(age_seconds: float) -> Verdict:
    return Verdict.LEAK if age_seconds > GRACE_SECONDS else Verdict.GOING


ORDER = ("group", "machine", "disk", "template")
"""A group makes its machines again, and a disk goes with its machine."""


def _remove(world: World, project: str, home: str | None, result: Audit) -> None:
    homes = {home_digest(one.url): one for one in world.homes(home)}
    by_name: Mapping[str, Auditor] = auditors(project, world.environ)
    for item in _in_order(result.items):
        try:
            if item.trapped:
                _send_away(world, homes[item.found.home], item.found)
            else:
                by_name[item.engine].remove(item.found)
        except OutlastError as error:
            result.failed[item.found.name] = error.message
        else:
            result.removed.append(item)


def _send_away(world: World, home: Home, found: Found) -> None:
    """By a look at its job, which sends away all of its kind and ends their bills."""
    from outlast.jobs.look import look

    status = look(world, Job.of(home, found.job))
    rank = found.name.rpartition("-")[2]
    left = Bills(home.folder(found.job)).idle(status.launch.launch)
    if any(one.partition("-")[0] == rank for one in left):
        raise Denied(status.why or "it could not be sent away")


def _in_order(items: Sequence[Judged]) -> Iterator[Judged]:
    wrong = [item for item in items if item.verdict in (Verdict.LEAK, Verdict.LITTER)]
    yield from sorted(wrong, key=lambda item: ORDER.index(item.found.kind) if item.found.kind in ORDER else len(ORDER))
