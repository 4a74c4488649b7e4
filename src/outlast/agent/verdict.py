"""What an ended trainer means for its job: one pure decision."""

from __future__ import annotations

import enum
import signal

from outlast.agent.child import Exit, Reason
from outlast.dataclass import dataclass
from outlast.errors import EXIT_TRAINER_INTERRUPTED
from outlast.folder.records import Cause, Head, State


class Next(enum.Enum):
    FINAL = "final"
    SAME_MACHINE = "same machine"
    OTHER_MACHINE = "other machine"


@dataclass(frozen=True)
class Verdict:
    cause: Cause
    next: Next
    state: State | None = None
    reason: str = ""
    early: bool = False


UNWANTED = "other cells did better"


def judge(
    exit: Exit,
    *,
    told: Reason | None,
    stalled: bool,
    retries: int,
    head: Head,
    spent: str = "",
    unwanted: str = "",
) -> Verdict:
    """`told`: why the trainer was asked to leave, if it was. A trainer that finished all the same has finished.

    `spent`: what is said where it was told because of the money; `unwanted`: because others did better.
    """
    if exit.code == 0:
        return Verdict(Cause.SUCCEEDED, Next.FINAL, State.SUCCEEDED)
    if told is Reason.STOP:
        return Verdict(Cause.STOPPED, Next.FINAL, State.STOPPED)
    if told is Reason.DEADLINE:
        return Verdict(Cause.EXPIRED, Next.FINAL, State.EXPIRED, "the launch's time was over")
    if told is Reason.COST:
        return Verdict(Cause.EXPIRED, Next.FINAL, State.EXPIRED, spent)
    if told is Reason.EARLY:
        return Verdict(Cause.STOPPED, Next.FINAL, State.STOPPED, unwanted or UNWANTED, early=True)
    if told is Reason.EDIT:
        return Verdict(Cause.EDITED, Next.SAME_MACHINE, reason="its code was changed")
    if told is Reason.PREEMPTED:
        return Verdict(Cause.PREEMPTED, Next.OTHER_MACHINE)
    if stalled:
        return Verdict(Cause.STALLED, Next.SAME_MACHINE, reason="nothing was logged and no step was made for too long")
    if exit.code == EXIT_TRAINER_INTERRUPTED:
        return Verdict(Cause.PREEMPTED, Next.SAME_MACHINE, reason="the trainer left by itself to be started again")
    if exit.out_of_memory:
        return Verdict(Cause.OUT_OF_MEMORY, Next.FINAL, State.FAILED, "the machine ran out of memory")
    if exit.disk_full:
        return Verdict(Cause.DISK_FULL, Next.FINAL, State.FAILED, "the machine's disk was full")
    if exit.killed:
        return Verdict(Cause.KILLED, Next.SAME_MACHINE, reason="somebody killed the trainer (signal 9)")
    return _bug(exit, retries, head)


def _bug(exit: Exit, retries: int, head: Head) -> Verdict:
    try:
        said = f"the trainer was ended by {signal.Signals(exit.code - 128).name}"
    except ValueError:  # no signal has this number
        said = f"the trainer exited with {exit.code}"
    # The attempt being judged is not counted: an agent that was restarted judges it a second time.
    earlier = [one for number, one in head.attempts.items() if int(number) < head.attempt and one.launch == head.launch]
    failed = sum(1 for one in earlier if one.cause is Cause.FAILED)
    if failed < retries:
        return Verdict(Cause.FAILED, Next.SAME_MACHINE, reason=said)
    return Verdict(Cause.FAILED, Next.FINAL, State.FAILED, said)
