"""`steps`: a loop over numbers that outlasts its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.training.cadence import Cadence
from outlast.training.context import Context, current
from outlast.training.duration import seconds_of
from outlast.training.loop import Loop
from outlast.training.save import EndedLoop, Position
from outlast.training.walk import Walk

if TYPE_CHECKING:
    from outlast.training.state import State


def steps(
    total: int,
    state: State | None = None,
    *,
    save_every: float | str | None = None,
    save_steps: int | None = None,
    name: str = "train",
) -> Steps:
    """Yields the steps from where the job stands up to `total - 1`.

    `total` is absolute, counted from the job's first step, and may change when a job is resumed. `state` is restored in place
    when the first step is asked for, and saved from time to time: as often as pays, or every `save_every` (seconds, or text
    like "10m") or `save_steps`. Without a state only the position is kept.

    Saving and leaving happen between two bodies and nowhere else. Told to leave, the loop saves if there is time and raises
    `Interrupted`, so the code below the loop runs only when the loop has come to its end. There it saves once more; run again, it
    yields nothing. Several loops in one script need different names. A loop inside another loop's body keeps nothing: the
    body that it is part of is run again as a whole.
    """
    return Steps(
        whole_number(total, "total"), Loop(legal_name(name), state, new_cadence(current(), save_every, save_steps))
    )


class Steps(Walk[int]):
    """What `steps` gives: an iterator that also tells where it stands."""

    def __init__(self, total: int, loop: Loop) -> None:
        super().__init__(loop)
        self._total = loop.total = capped_total(loop.context, loop.name, total)

    @property
    def total(self) -> int:
        return self._total

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> int:
        loop = self._loop
        if loop.over:
            raise StopIteration
        if not self._begun:
            self._begin()
        else:
            self._step += 1
        if loop.over:
            raise StopIteration
        position = Position(self._step)
        if self._stopping or self._step >= self._total:
            loop.finish(position, stopped=self._stopping)
            raise StopIteration
        if self._step > (self._start or 0):
            loop.boundary(position)
        loop.last = self._step + 1 == self._total
        loop.enter(self._step)
        return self._step

    def _begin(self) -> None:
        self._begun = True
        self._loop.begin(self._is_over, lambda epoch, data: False)
        self._start = self._step = self._loop.position.step

    def _is_over(self, past: EndedLoop) -> bool:
        return past.stopped or past.step >= self._total

    def __del__(self) -> None:
        loop = getattr(self, "_loop", None)
        if loop is not None:
            loop.leave()


def new_cadence(here: Context, save_every: float | str | None, save_steps: int | None) -> Cadence:
    every = None if save_every is None else seconds_of(save_every, "save_every")
    if save_steps is not None and (type(save_steps) is not int or save_steps < 1):
        raise ValueError(f"save_steps={save_steps!r} must be a whole number of steps, 1 or more")
    if save_steps is None and every is None:
        save_steps = here.checkpoint_steps
    if here.attempt.save_steps is not None:
        save_steps = min(save_steps or here.attempt.save_steps, here.attempt.save_steps)
    return Cadence(every, save_steps)


def capped_total(here: Context, name: str, total: int) -> int:
    """`--train-steps` replaces the total of the loop `train`; a drill caps every loop from outside."""
    if here.train_steps is not None and name == "train":
        total = here.train_steps
    return total if here.attempt.steps_max is None else min(total, here.attempt.steps_max)


def whole_number(value: int, name: str) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}") from None
    if number < 0:
        raise ValueError(f"{name}={number} must not be negative")
    return number


def legal_name(name: str) -> str:
    if not isinstance(name, str) or not name or len(name) > 200:
        raise ValueError(f"name={name!r} must be text of 1 to 200 characters")
    return name
