"""Where a data loader stands, and how to bring a fresh one to the same place.

An ordinary loader is brought there by beginning its epoch again, with the random generators as they were when the epoch began,
and drawing as many batches as before. A loader that can save its own position does so; what its worker processes have
drawn from their generators is then its own affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from outlast.training import draws, generators
from outlast.training.encode import is_stateful
from outlast.training.glance import glance
from outlast.training.holders import counters_of, generators_of, generators_of_parts, holders, set_counters
from outlast.training.loader_kinds import check_loader, is_torch_loader, known_length, may_remember
from outlast.training.say import say

NOTHING = object()
"""No batch is in hand."""


class Source:
    """Draws batches out of a loader, epoch by epoch.

    `index` batches of epoch `epoch` have been given out; its iterator exists once the first one is asked for. Where the number of
    batches is not known, the next one is drawn ahead, so that the last one can be told.
    """

    def __init__(self, loader: Any, parts: Mapping[str, Any] | None = None) -> None:
        """`parts` are those of the state: the generators among them may be the loader's."""
        check_loader(loader)
        self.loader = loader
        self._parts = {} if parts is None else parts
        self.epoch = 0
        self.index = 0
        self.last = False
        """Whether the batch that was given out last was the epoch's last."""

        self.length = known_length(loader)
        """How many batches this epoch has, if that is known; another epoch may have more or fewer."""

        self._stateful = is_stateful(loader)
        self._remembers = not self._stateful and may_remember(loader)
        self._iterator: Iterator[Any] | None = None
        self._started_with: dict[str, Any] = {}
        self._given = counters_of(loader)
        """The loader's own numbers as the script has set them. Only what has moved since is a counter; the rest is what was asked for."""

        self._counted: dict[str, int] = {}
        """What the counters were when the epoch began."""

        self._own: dict[str, Any] = {}
        """The loader's own generators, as they were last searched for."""

        self._ahead: Any = NOTHING
        self._before_ahead: dict[str, Any] = {}
        self._draws = draws.Draws({})
        self._ended_with: dict[str, Any] = {}
        self._first = 0
        """A glance at the epoch's first batch. Later ones may depend on what the bodies between them draw: see glance.py."""

        self._exhausted = False
        """A stateful loader was restored to the end of an epoch: its first iterator may have nothing to give."""

    def draw(self) -> Any:
        """The next batch of this epoch; StopIteration when it has none."""
        if self._iterator is None:
            self._begin_epoch()
            self._draw_ahead()
        if self._exhausted:
            self._exhausted = False
            batch = self._draw_after_the_end()
        else:
            batch = self._draw()
        if self.index == 1:
            self._first = glance(batch)
        return batch

    def _draw_after_the_end(self) -> Any:
        try:
            return self._draw()
        except StopIteration:
            self._iterator = self._new_iterator()
            self._draw_ahead()
            return self._draw()

    def _draw(self) -> Any:
        assert self._iterator is not None
        if self.length is not None:
            batch = self._pull(self.index)
            if batch is NOTHING:
                raise StopIteration
            self.index += 1
            self.last = self.index == self.length
            return batch
        if self._ahead is NOTHING:
            raise StopIteration
        batch = self._ahead
        self.index += 1
        self._draw_ahead()
        self.last = self._ahead is NOTHING
        return batch

    def end_epoch(self) -> None:
        """Runs the iterator to its very end, as a `for` would: some samplers draw random numbers only there."""
        more = self.length is not None and self._iterator is not None and next(self._iterator, NOTHING) is not NOTHING
        if more and self.length == known_length(self.loader):  # else the last body gave it data for the next epoch
            raise ValueError(f"the loader has more batches than the {self.length} that its length says")
        self._ended_with = {"loader": self.loader.state_dict()} if self._stateful else {}
        self.release()
        self.epoch += 1
        self.index = 0
        self.last = False

    def release(self) -> None:
        """Lets go of the iterator and of its worker processes."""
        self._iterator = None
        self._ahead = NOTHING

    def _begin_epoch(self) -> None:
        self._tell_epoch()
        self._counted = self._counters()
        self._started_with = self._generator_states()
        self._draws = draws.Draws({})
        self._iterator = self._new_iterator()

    def _tell_epoch(self) -> None:
        for holder in holders(self.loader):
            if callable(getattr(holder, "set_epoch", None)):
                holder.set_epoch(self.epoch)
        self.length = known_length(self.loader)

    def _new_iterator(self) -> Iterator[Any]:
        if getattr(self.loader, "persistent_workers", False) and getattr(self.loader, "_iterator", None) is not None:
            # Workers that live through several epochs carry random numbers over that no fresh worker could have.
            self.loader._iterator = None
        return iter(self.loader)

    def _draw_ahead(self) -> None:
        if self.length is not None:
            return
        if self._stateful:
            self._before_ahead = {"loader": self.loader.state_dict()}
        self._ahead = self._pull(self.index)

    def _pull(self, number: int) -> Any:
        """The batch of that number out of the iterator, which has given those before it; NOTHING at its end."""
        assert self._iterator is not None
        if self.length is not None and not self._remembers:
            return next(self._iterator, NOTHING)
        # Searched for anew where an epoch begins, before and after its first draw, which may make some; not at every draw.
        before = self._generator_states(search=number < 2)
        batch = next(self._iterator, NOTHING)
        self._before_ahead["generators"] = before
        if self._remembers:
            self._draws.add(number, before, self._generator_states(search=False))
        return batch

    def _counters(self) -> dict[str, int]:
        return {name: value for name, value in counters_of(self.loader).items() if value != self._given.get(name)}

    def _generator_states(self, *, search: bool = True) -> dict[str, Any]:
        own = {name: generators.get_state(one) for name, one in self._generators(search=search).items()}
        return {"global": generators.global_states(devices=False), "own": own}

    def _set_generator_states(self, states: dict[str, Any]) -> None:
        generators.set_global_states(states["global"])
        self._set_own_states(states["own"])

    def _set_own_states(self, states: dict[str, Any]) -> None:
        for name, generator in self._generators(search=True).items():
            if name in states:
                generators.set_state(generator, states[name])

    def _generators(self, *, search: bool) -> dict[str, Any]:
        """By where they were found; a part of the state may be another object after every body."""
        if search:
            self._own = generators_of(self.loader)
        return {**self._own, **generators_of_parts(self._parts)}

    # ---------------------------------------------------------------------------------------------------- position

    def position(self) -> dict[str, Any]:
        """What has to be saved, between two batches."""
        data: dict[str, Any] = {"index": self.index, "own": self._generator_states()["own"]}
        if self._iterator is None:
            return {**data, "counted": self._counters(), **self._ended_with}
        data["counted"] = self._counted
        data["ahead"] = self._ahead is not NOTHING
        if data["ahead"]:
            data["before_ahead"] = self._before_ahead
        if self._stateful:
            data["loader"] = self.loader.state_dict()
        else:
            data["started_with"] = self._started_with
            data["first"] = self._first
            data["next"] = glance(self._ahead) if data["ahead"] else 0
            data["draws"] = self._draws.kept
        return data

    def resume(self, epoch: int, data: dict[str, Any]) -> bool:
        """Brings a fresh loader to a saved position; tells whether it was asked for batches, which may have changed what it shares
        with the script. ValueError if it does not have that many batches any more."""
        self.epoch, self.index = epoch, int(data["index"])
        self._counted = data.get("counted", {})
        set_counters(self.loader, self._counted)
        if "ahead" in data:
            if self._stateful:
                self._resume_stateful(data)
            else:
                self._replay(data)
        elif "loader" in data and self._stateful:
            self.loader.load_state_dict(data["loader"])
            if is_torch_loader(self.loader):
                iter(self.loader)  # takes in the end of the old epoch, before the generators are set for the new one
                set_counters(self.loader, self._counted)
            self._ended_with, self._exhausted = {"loader": data["loader"]}, True
        self._set_own_states(data["own"])
        return "ahead" in data

    def _resume_stateful(self, data: dict[str, Any]) -> None:
        ahead = data["ahead"]
        self._tell_epoch()  # not every sampler's epoch is in what the loader says of itself
        self.loader.load_state_dict(data["before_ahead"]["loader"] if ahead else data["loader"])
        self._iterator = self._new_iterator()
        if ahead:
            self._before_ahead = data["before_ahead"]
            self._set_generator_states(self._before_ahead["generators"])
            self._ahead = next(self._iterator, NOTHING)

    def _replay(self, data: dict[str, Any]) -> None:
        self._tell_epoch()
        self._started_with = data["started_with"]
        self._draws = draws.Draws(data.get("draws", {}))
        if self._draws.kept is None:
            say(
                f"warning: in epoch {self.epoch} the loader and the loop's bodies drew from the same generator more than {draws.DRAWS_MAX} "
                "times: the next batches may be others than before; give the loader a generator of its own"
            )
        self._set_generator_states(self._started_with)
        self._iterator = self._new_iterator()
        for drawn in range(self.index):
            if (before := self._draws.before(drawn)) is not None:
                self._set_generator_states(before)
            batch = self._pull(drawn)
            if batch is NOTHING:
                raise ValueError(
                    f"the loader has only {drawn} batches in epoch {self.epoch}; {self.index} were drawn before"
                )
            if drawn == 0:
                self._first = glance(batch)
        if self._first != data.get("first", self._first):
            self._doubt("first")
        if data["ahead"]:
            self._set_generator_states(data["before_ahead"]["generators"])
            self._ahead = self._pull(self.index)
            if self._first == data.get("first") and glance(self._ahead) != data.get("next", glance(self._ahead)):
                self._doubt("next")

    def _doubt(self, which: str) -> None:
        say(
            f"warning: the {which} batch of epoch {self.epoch} is another one than before, and so the rest may be too: what the loader "
            "draws depends on something besides the state, the generators and the epoch (the order of a list of files, weights of a "
            "sampler that have changed in the epoch, a generator that is not seeded or lies deep inside"
            + (")" if which == "first" else ", or one that the loop's bodies draw from too: give the loader its own)")
        )
