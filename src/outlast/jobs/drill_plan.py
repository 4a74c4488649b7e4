"""When and how a drill kills: seeded moments, and among them always those that matter."""

from __future__ import annotations

import enum
from dataclasses import field
from random import Random

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.machine.settle import quiet_seconds
from outlast.spec.spec import Drill

KILLS_DEFAULT = 3
KILLS_MAX = 100
SAVES_PER_KILL = 4
"""In a drill the library saves so often that about four saves lie between two kills: few steps are lost, and each kill has a save near."""

STEPS_PER_KILL_MIN = 3
FIRST_SHARE_MAX = 0.7
LAST_SHARE = 0.95


class TooShort(UsageError):
    """The training ends before it could be killed as a drill must: that is no proof of anything."""


class Kind(enum.Enum):
    SUDDEN = "without notice"
    SAVING = "in mid-save, without notice"
    NOTICED = "with notice"


@dataclass(frozen=True)
class Kill:
    """The end of one attempt: the first kill hits attempt 1, and so on."""

    attempt: int
    kind: Kind
    pause: str = ""
    """Where the library waits for it: `step:57`, `saving:57`, `save:2`. Empty: it comes by the clock."""

    settled: bool = True
    """It waits until what this attempt has saved is committed; otherwise it comes at once."""

    share: float = 0.0
    """By the clock: after that share of the whole training."""


@dataclass(frozen=True)
class Plan:
    kills: tuple[Kill, ...] = ()
    save_steps: int | None = None

    def drill(self, steps_max: int | None) -> Drill:
        pauses = {str(kill.attempt): kill.pause for kill in self.kills if kill.pause}
        return Drill(steps_max=steps_max, pauses=pauses, save_steps=self.save_steps)


@dataclass(frozen=True)
class Course:
    """What the uninterrupted reference showed of itself."""

    seconds: float
    steps: int | None = None
    """How many steps its loop has, if it is the library's."""

    commit_seconds: tuple[float, ...] = field(default=())
    """When its checkpoints were committed, from its start."""

    first_save_seconds: float | None = None
    """When a script that saves by itself was first seen to do so: its files are taken when they are quiet, and that may be much later."""

    saves_by_library: bool = False
    """`outlast.checkpoint` or the library's loops: it can be held in mid-save."""


def check_kills(kills: int) -> None:
    if not 1 <= kills <= KILLS_MAX:
        raise UsageError(f"`--kills {kills}` is not between 1 and {KILLS_MAX}")


def plan_kills(course: Course, kills: int, random: Random) -> Plan:
    """`TooShort` where the training has no room for that many."""
    check_kills(kills)
    kinds = _kinds(kills, random)
    if course.steps is not None:
        return _by_steps(course.steps, kinds, random)
    return _by_clock(course, kinds, random)


def _kinds(kills: int, random: Random) -> list[Kind]:
    """One in mid-save whatever happens; it comes without notice and after a checkpoint, so that even one kill shows all three."""
    kinds = [Kind.SAVING, Kind.SUDDEN, Kind.NOTICED][:kills]
    kinds += random.choices(list(Kind), k=kills - len(kinds))
    random.shuffle(kinds)
    return kinds


def _by_steps(steps: int, kinds: list[Kind], random: Random) -> Plan:
    needed = STEPS_PER_KILL_MIN * (len(kinds) + 1)
    if steps < needed:
        raise TooShort(
            f"too short to drill: {steps} steps, and {len(kinds)} kills need at least {needed}",
            hint="train for more steps, or ask for fewer `--kills`",
        )
    save_steps = max(1, steps // (SAVES_PER_KILL * (len(kinds) + 1)))
    # The first kill comes when one save is made and another under way; the last one leaves a save before the end.
    first, last = 2 * save_steps, max(2 * save_steps + len(kinds), steps - save_steps)
    width = (last - first) / len(kinds)
    kills: list[Kill] = []
    before = 0
    for number, kind in enumerate(kinds):
        # From the upper part of its own stretch: behind the kill before it there is always a save, so each attempt gets on.
        step = int(first + width * (number + random.uniform(0.5, 1.0)))
        step = min(max(step, before + 1), steps - 1)
        pause = f"saving:{step}" if kind is Kind.SAVING else f"step:{step}"
        # At least every other attempt gets its saves committed, or the job would be given up for making no progress.
        settled = number % 2 == 0 or random.random() < 0.5
        kills.append(Kill(number + 1, kind, pause, settled, step / steps))
        before = step
    return Plan(tuple(kills), save_steps)


def _restless(course: Course) -> bool:
    """It saves early enough, and too often."""
    return course.first_save_seconds is not None and course.first_save_seconds <= FIRST_SHARE_MAX * course.seconds


def _by_clock(course: Course, kinds: list[Kind], random: Random) -> Plan:
    if not course.commit_seconds:
        raise TooShort(
            f"too short to drill: it ended after {course.seconds:.1f} s without a checkpoint",
            hint="let it train longer or save more often; `--checkpoint-dir DIR` names the directory of a script's own "
            "checkpoints, if they are not in $OUTLAST_CHECKPOINT_DIR",
        )
    first = course.commit_seconds[0] / max(course.seconds, 1e-9)
    if first > FIRST_SHARE_MAX and _restless(course):
        raise TooShort(
            f"too short to drill: it saved after {course.first_save_seconds:.1f} s, and its files were never quiet for "
            f"{quiet_seconds():.0f} s until {course.commit_seconds[0]:.1f} of {course.seconds:.1f} s",
            hint="let it train longer, or save less often: a script's own files count when all of them have been quiet so long",
        )
    if first > FIRST_SHARE_MAX:
        raise TooShort(
            f"too short to drill: its first checkpoint was there after {course.commit_seconds[0]:.1f} of {course.seconds:.1f} s",
            hint="let it train longer or save earlier"
            + (
                ""
                if course.saves_by_library
                else f"; a script's own files count when all of them have been quiet for {quiet_seconds():.0f} s"
            ),
        )
    width = (LAST_SHARE - first) / len(kinds)
    kills = []
    for number, kind in enumerate(kinds):
        pause = "save:2" if kind is Kind.SAVING and course.saves_by_library else ""
        # A save is waited for, so its kill begins to wait early in its stretch; the others come anywhere in the middle of it.
        within = random.uniform(0.0, 0.2) if kind is Kind.SAVING else random.uniform(0.2, 0.8)
        kills.append(Kill(number + 1, kind, pause, share=first + width * (number + within)))
    return Plan(tuple(kills))
