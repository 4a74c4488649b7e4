"""What is asked of a loader at every draw, and which of its numbers are its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from outlast.training import loaders
from outlast.training.holders import generators_of
from outlast.training.loaders import Source

BATCHES = 40


class Loader:
    def __init__(self, epochs_max: int) -> None:
        self.epochs_max = epochs_max
        self.round = 0

    def __iter__(self) -> Iterator[int]:
        self.round += 1
        return iter(range(BATCHES))


@dataclass(frozen=True)
class Frozen:
    seed: int

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.seed, self.seed + BATCHES))


def test_what_a_loader_consists_of_is_searched_where_an_epoch_begins_and_not_at_every_draw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[object] = []
    monkeypatch.setattr(loaders, "generators_of", lambda loader: searched.append(loader) or generators_of(loader))
    source = Source(Loader(3))
    for _ in range(BATCHES):
        source.draw()
    assert len(searched) < 5


def test_what_the_script_gave_to_a_loader_stays_when_it_is_resumed_with_more_and_what_it_counts_goes_on() -> None:
    source = Source(Loader(3))
    for _ in range(BATCHES):
        source.draw()
    source.end_epoch()
    data = source.position()

    longer = Loader(5)
    resumed = Source(longer)
    resumed.resume(1, data)

    assert (longer.epochs_max, longer.round) == (5, 1)
    assert resumed.position()["counted"] == data["counted"]


def test_a_loader_that_cannot_be_changed_is_resumed() -> None:
    source = Source(Frozen(7))
    source.draw()
    data = {**source.position(), "counted": {"0.seed": 8}}
    resumed = Source(Frozen(7))
    resumed.resume(0, data)
    assert resumed.draw() == 8
