"""Init: what a project needs before its first job is looked for, made, or taken away again, one step after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from outlast.clock import Clock
from outlast.dataclass import dataclass
from outlast.errors import OutlastError
from outlast.google.errors import ApiError, is_off
from outlast.google.transport import Transport
from outlast.google.wire import NoAnswer
from outlast.jobs.init_step import Step

T = TypeVar("T")

SETTLE_SECONDS = 180.0
"""What was just made is not known everywhere at Google at once: an API, an account. After so long it is."""

SETTLE_PAUSE_SECONDS = 3.0
GOES_ON = "what was made before this is there; the same command goes on from here"
NOTHING = "nothing was made"


@dataclass(frozen=True)
class Looked:
    step: Step
    there: bool


class Initializer:
    """Each step is looked at right before it is made, so that whoever comes after a death goes on where it ended."""

    def __init__(self, steps: list[Step], transport: Transport, clock: Clock) -> None:
        self.steps = steps
        self._transport = transport
        self._clock = clock
        self._settles_until = 0.0

    def look(self) -> Iterator[Looked]:
        """Nothing is made. What cannot be asked while an API is off is not there."""
        for step in self.steps:
            try:
                yield Looked(step, step.is_there())
            except ApiError as error:
                if not is_off(error):
                    raise self._explained(error, step, NOTHING) from error
                yield Looked(step, False)
            except NoAnswer as error:
                raise self._explained(error, step, NOTHING) from error

    def make(self) -> Iterator[Looked]:
        """Each step when it is there, and whether it was before."""
        for step in self.steps:
            there = self._patiently(step, step.is_there)
            if not there:
                self._patiently(step, step.make)
                if step.settles:
                    self._settles_until = self._clock.monotonic() + SETTLE_SECONDS
            yield Looked(step, there)

    def make_one(self, step: Step) -> None:
        self._patiently(step, step.make)

    def undo(self) -> Iterator[str]:
        """In reverse; what was not there is not mentioned."""
        for step in reversed(self.steps):
            try:
                said = step.undo()
            except ApiError as error:
                if is_off(error):
                    continue  # what an API that is off would hold is not there
                raise self._explained(error, step) from error
            except NoAnswer as error:
                raise self._explained(error, step) from error
            if said:
                yield said

    def _patiently(self, step: Step, call: Callable[[], T]) -> T:
        """Within the time that Google takes to know what was just made, a refusal for not knowing it is no refusal."""
        while True:
            try:
                return call()
            except ApiError as error:
                settling = self._clock.monotonic() < self._settles_until
                if not settling or not (is_off(error) or error.status == 400):
                    raise self._explained(error, step) from error
            except NoAnswer as error:
                raise self._explained(error, step) from error
            self._clock.sleep(SETTLE_PAUSE_SECONDS)

    def _explained(self, error: ApiError | NoAnswer, step: Step, state: str = GOES_ON) -> OutlastError:
        found = self._transport.explain(error, f"{step.name}: {step.wanted}")
        found.state = state
        if isinstance(error, ApiError):
            typed = f"`{step.commands[0]}`; `outlast init --print` has all of it" if step.commands else "`outlast init`"
            found.hint = f"somebody with more rights types {typed}"
        return found


def script(steps: list[Step], *, undo: bool) -> Iterator[str]:
    """The same as commands, for somebody who does it without outlast."""
    yield "#!/bin/bash"
    yield "# Made by `outlast init --print`: read it, then run it. Steps that are done already say so and do no harm."
    yield "set -u"
    for step in reversed(steps) if undo else steps:
        commands = step.undo_commands if undo else step.commands
        if commands:
            yield f"\n# {step.undone if undo else step.wanted}"
            yield from commands
