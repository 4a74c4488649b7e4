"""What a loop does when it is told to leave: it saves if that fits into the time that is left, and ends the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from outlast.errors import EXIT_TRAINER_INTERRUPTED, OutlastError
from outlast.training import metrics
from outlast.training.say import say

if TYPE_CHECKING:
    from outlast.training.loop import Loop
    from outlast.training.notice import Notice

FIT_FACTOR = 1.5
FIT_SECONDS = 0.5
"""A last save is begun only if one and a half times what the last one took, and half a second, are left."""


class Interrupted(SystemExit):
    """The script has been told to leave: the loop has saved if it could. Not an error; the job goes on elsewhere."""

    def __init__(self) -> None:
        super().__init__(EXIT_TRAINER_INTERRUPTED)


def leave(loop: Loop, notice: Notice) -> None:
    """Raises `Interrupted`; or returns if the script needs one more body to save by itself."""
    saver, step = loop.context.saver, loop.steps_done
    if loop.script_saves():
        if _wait_for_the_script(loop, notice):
            return
        said = "the script's last checkpoint counts"
    elif saver.saved_step == step and loop.pending is None:
        saver.wait(notice.seconds_left())
        said = f"step {step} is saved"
    else:
        cost = saver.cost
        needed = FIT_FACTOR * (cost.stall_seconds + cost.writing_seconds) + FIT_SECONDS if cost else 0.0
        if notice.seconds_left() >= saver.rest_seconds() + needed:
            said = _save(loop, step)
        else:
            saver.wait(notice.seconds_left())
            said = f"{notice.seconds_left():.1f} s are too short to save step {step}"
    depart(loop, notice, said)


def depart(loop: Loop, notice: Notice, said: str) -> NoReturn:
    say(f"told to leave ({notice.reason}): {said}; leaving")
    loop.over = True
    loop.forget()
    metrics.flush(loop.context, wait=True)
    raise Interrupted


def _save(loop: Loop, step: int) -> str:
    try:
        loop.context.saver.save_and_wait(loop.build)
    except OutlastError as error:
        return str(error).partition("\n")[0]
    loop.pending = None
    return f"saved step {step}"


def _wait_for_the_script(loop: Loop, notice: Notice) -> bool:
    """One more body, in which `outlast.due()` is true, if the script saves by it and the time is enough."""
    here = loop.context
    if not here.looked_due or loop.cadence.saved_step == loop.step:
        here.saver.wait(notice.seconds_left())
        return False
    return notice.seconds_left() >= FIT_FACTOR * loop.body_seconds_max + FIT_SECONDS
