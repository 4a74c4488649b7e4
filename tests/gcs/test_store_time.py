"""The store's time, whatever this machine believes about the date."""

from __future__ import annotations

import pytest

from outlast.errors import StoreUnavailable
from outlast.store.store_time import FRESH_SECONDS, StoreTime
from tests.gcs.wires import HandClock

STORE_DATE = 1_900_000_000.0


class Asked:
    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.count = 0
        self.ahead = STORE_DATE - clock.now()
        self.time = StoreTime(clock, self.ask)

    def ask(self) -> None:
        self.count += 1
        self.time.heard(float(int(self.clock.steady - 1000.0 + STORE_DATE)))


def test_it_is_the_stores_and_not_this_machines() -> None:
    asked = Asked(HandClock())
    assert abs(asked.time.now() - STORE_DATE) <= 1.0
    asked.clock.pass_by(30.0)
    assert abs(asked.time.now() - STORE_DATE - 30.0) <= 1.0
    assert asked.count == 1


def test_an_old_answer_is_not_counted_on() -> None:
    asked = Asked(HandClock())
    asked.time.now()
    asked.clock.pass_by(FRESH_SECONDS + 1)
    asked.time.now()
    assert asked.count == 2


def test_a_machine_that_slept_asks_again() -> None:
    """While a laptop is suspended its monotonic clock stands still and the date goes on."""
    asked = Asked(HandClock())
    asked.time.now()
    asked.clock.wall += 3600.0
    asked.time.now()
    assert asked.count == 2
    asked.time.now()
    assert asked.count == 2


def test_answers_make_it_better_and_never_jump() -> None:
    asked = Asked(HandClock())
    before = asked.time.now()
    for _ in range(50):
        asked.clock.pass_by(0.13)
        asked.ask()
        now = asked.time.now()
        assert before <= now + 1e-6
        assert abs(now - (STORE_DATE + asked.clock.steady - 1000.0)) <= 1.0
        before = now


def test_a_store_without_a_date_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        StoreTime(HandClock(), lambda: None).now()
