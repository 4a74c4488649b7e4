"""`batches`: a loop over data that resumes in the middle of an epoch, at the very batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast.errors import OutlastError
from outlast.training.context import current
from outlast.training.loaders import Source
from outlast.training.loop import Loop
from outlast.training.save import EndedLoop, Position
from outlast.training.steps import capped_total, legal_name, new_cadence, whole_number
from outlast.training.walk import Walk

if TYPE_CHECKING:
    from outlast.training.state import State


def batches(
    loader: Any,
    *,
    epochs: int | None = None,
    total: int | None = None,
    state: State | None = None,
    accumulate: int = 1,
    save_every: float | str | None = None,
    save_steps: int | None = None,
    name: str = "train",
) -> Batches:
    """Yields `(step, batch)` for so many `epochs` of the loader, or until `total` steps, whichever comes first.

    The loader is a torch DataLoader, or anything that can be iterated over again and again. With `accumulate=n` a step is n batches
    (fewer at the end of an epoch): all of them are yielded with the same step, and saving and leaving happen only
    between steps; `.step_end` tells when to call the optimiser. The rest is as in `steps`.

    The position is exact, in the middle of an epoch too, with shuffling and with worker processes: on resume the epoch begins with
    the random generators that it began with, and the batches that were drawn before are drawn again and dropped. A loader
    with `state_dict` and `load_state_dict` says itself where it stands. `set_epoch` is called where the loader, its samplers
    or its dataset have it. An iterator that cannot begin anew is a TypeError. Where it cannot be known how many batches an epoch
    has, the next one is drawn before the body of the one before it, so that `.epoch_end` can be told.
    """
    if epochs is None and total is None:
        raise TypeError("batches needs epochs=, total= or both")
    most_epochs = None if epochs is None else whole_number(epochs, "epochs")
    most_steps = None if total is None else whole_number(total, "total")
    group = whole_number(accumulate, "accumulate")
    if group < 1:
        raise ValueError(f"accumulate={accumulate} must be 1 or more")
    source = Source(loader, None if state is None else vars(state))
    loop = Loop(legal_name(name), state, new_cadence(current(), save_every, save_steps), source.position)
    return Batches(source, most_epochs, most_steps, group, loop)


class Batches(Walk[tuple[int, Any]]):
    """What `batches` gives: an iterator that also tells where it stands."""

    def __init__(self, source: Source, epochs: int | None, total: int | None, accumulate: int, loop: Loop) -> None:
        super().__init__(loop)
        self._source = source
        self._epochs = epochs
        self._total = self._cap(loop, total)
        self._accumulate = accumulate
        loop.total = self._expected()
        self._in_group = 0
        """Batches of the current step that have been given out."""

        self._epoch, self._index, self._epoch_end, self._step_end = 0, 0, False, False

    def _expected(self) -> int | None:
        """How many steps there will be, where the loader says how long it is."""
        if self._epochs is None or self._source.length is None:
            return self._total
        steps = self._epochs * -(-self._source.length // self._accumulate)
        return steps if self._total is None else min(steps, self._total)

    @staticmethod
    def _cap(loop: Loop, total: int | None) -> int | None:
        without = 1 << 62
        capped = capped_total(loop.context, loop.name, without if total is None else total)
        return None if capped == without else capped

    @property
    def epoch(self) -> int:
        """The epoch of the batch at hand, from 0."""
        return self._epoch

    @property
    def index(self) -> int:
        """The place of the batch at hand in its epoch, from 0."""
        return self._index

    @property
    def epoch_end(self) -> bool:
        """Whether the batch at hand is the last of its epoch."""
        return self._epoch_end

    @property
    def step_end(self) -> bool:
        """Whether the batch at hand is the last of its step: the optimiser is to be called."""
        return self._step_end

    def close(self) -> None:
        """What `break` does: leaves the loop without a save."""
        self._source.release()
        super().close()

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> tuple[int, Any]:
        if self._loop.over:
            raise StopIteration
        if not self._begun:
            self._begin()
        elif self._step_end:
            self._end_step()
        if self._loop.over:
            raise StopIteration
        if self._in_group == 0 and self._is_done():
            self._finish()
            raise StopIteration
        batch = self._draw()
        if batch is _DONE:
            self._finish()
            raise StopIteration
        return self._step, batch

    def _begin(self) -> None:
        self._begun = True
        self._loop.begin(self._is_over, self._resume)
        self._start = self._step = self._loop.position.step

    def _resume(self, epoch: int, data: dict[str, Any]) -> bool:
        if "index" not in data:
            raise OutlastError(
                f"the loop `{self._loop.name}` was saved by outlast.steps and cannot go on as outlast.batches"
            )
        try:
            return self._source.resume(epoch, data)
        except ValueError as error:
            raise OutlastError(
                f"the loop `{self._loop.name}` cannot find its place in the data again: {error}"
            ) from error

    def _end_step(self) -> None:
        """An optimiser step is done: the only place where a save can be made."""
        self._step += 1
        self._in_group = 0
        self._step_end = False
        if self._epoch_end:
            self._source.end_epoch()
            self._epoch_end = False
        if not self._is_done():
            self._loop.boundary(self._position())

    def _is_done(self) -> bool:
        if self._stopping or (self._total is not None and self._step >= self._total):
            return True
        return self._epochs is not None and self._source.epoch >= self._epochs

    def _draw(self) -> Any:
        """The next batch, out of the next epoch if this one has no more; `_DONE` if there is none to be had."""
        source = self._source
        if self._in_group == 0:
            self._loop.enter(self._step)
        while True:
            try:
                batch = source.draw()
                break
            except StopIteration:
                if source.index == 0:
                    raise ValueError(f"the loader has no batches in epoch {source.epoch}") from None
                source.end_epoch()
                if self._is_done():
                    return _DONE
        self._epoch, self._index, self._epoch_end = source.epoch, source.index - 1, source.last
        self._in_group += 1
        self._step_end = self._in_group == self._accumulate or source.last
        last_epoch = self._epochs is not None and source.epoch + 1 >= self._epochs
        self._loop.last = self._step_end and (self._step + 1 == self._total or (source.last and last_epoch))
        return batch

    def _position(self) -> Position:
        return Position(self._step, self._source.epoch)

    def _finish(self) -> None:
        self._loop.finish(self._position(), stopped=self._stopping)
        self._source.release()

    def _is_over(self, past: EndedLoop) -> bool:
        if past.stopped or (self._total is not None and past.step >= self._total):
            return True
        return self._epochs is not None and past.epoch >= self._epochs

    def __del__(self) -> None:
        loop = getattr(self, "_loop", None)
        if loop is not None:
            loop.leave()


_DONE = object()
