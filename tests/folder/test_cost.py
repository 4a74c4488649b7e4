"""What a job has cost, and when that is enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from outlast.folder import cost, life
from outlast.folder.records import Attempt, Cause, Head, LaunchRecord, State
from outlast.spec.spec import Machine, Rented

RENTED = Rented("project", ("us-central1",), "n2-standard-8", usd_per_hour=3.6, usd_per_hour_on_demand=12.0)
LAUNCH = LaunchRecord(1, "aa", "x", 2, Machine(8, 0, RENTED), 0.0, 10_000.0, "bundle", 3.6, max_cost_usd=10.0)
RENT = cost.rent_of(LAUNCH)
BOOT = cost.BOOT_SECONDS


def attempt(start: float, end: float | None, machine: str, usd: float = 7.2) -> Attempt:
    return Attempt(1, start, machine=machine, ended_at=end, usd_per_hour=usd, usd_per_hour_on_demand=usd * 4)


def head_of(*attempts: Attempt) -> Head:
    numbered = {str(number): one for number, one in enumerate(attempts, 1)}
    return Head("job", 1, "aa", State.RUNNING, "bundle", attempt=len(attempts), attempts=numbered)


def test_the_price_is_that_of_all_machines_of_the_launch() -> None:
    assert (RENT.usd_per_hour, RENT.usd_per_hour_on_demand, RENT.max_cost_usd) == (7.2, 24.0, 10.0)
    assert cost.rent_of(replace(LAUNCH, machine=Machine())) == cost.Rent()


def test_every_attempt_counts_at_its_own_price_with_the_boot_of_its_machine() -> None:
    head = head_of(attempt(0, 1000, "a"), attempt(2000, 2500, "b", usd=3.6), attempt(3000, None, "c", usd=3.6))
    seconds = (1000 + BOOT) * 2 + (500 + BOOT) + (400 + BOOT)
    assert cost.spent_usd(head, 3400.0) == pytest.approx(seconds * 3.6 / 3600)
    assert cost.on_demand_usd(head, 3400.0) == pytest.approx(4 * seconds * 3.6 / 3600)


def test_a_machine_that_trains_again_did_not_boot_again() -> None:
    head = head_of(attempt(0, 100, "a"), attempt(100, 200, "a"))
    assert cost.spent_usd(head, 0.0) == pytest.approx((200 + BOOT) * 7.2 / 3600)


def test_merging_an_attempts_values_twice_changes_no_cost() -> None:
    head = head_of(attempt(0, 1000, "a"))
    again = life.ended(head, 1, head.attempts["1"])
    assert cost.spent_usd(again, 9.0) == cost.spent_usd(head, 9.0)


def test_what_is_left_of_the_money_is_less_what_lingering_will_cost() -> None:
    head = head_of(attempt(0, None, "a"))
    left = cost.seconds_left(head, RENT, 1000.0)
    assert left == pytest.approx(10.0 / 7.2 * 3600 - 1000 - BOOT)
    lingering = replace(LAUNCH, machine=Machine(8, 0, replace(RENTED, linger_seconds=600.0)))
    assert cost.seconds_left(head, cost.rent_of(lingering), 1000.0) == pytest.approx((left or 0) - 600.0)
    assert cost.seconds_left(head, replace(RENT, max_cost_usd=None), 1000.0) is None
    assert cost.seconds_left(head, cost.Rent(max_cost_usd=1.0), 1000.0) is None


def test_the_next_attempt_does_not_begin_when_the_money_is_spent() -> None:
    def begin(now: float) -> Head:
        head = head_of(attempt(0, 4000, "a"))
        return life.next_attempt(head, nonce="n", by=0, alone=True, machine="b", now=now, beat=None, rent=RENT)

    begun = begin(4100.0)
    assert begun.state is State.RUNNING
    assert (begun.attempts["2"].usd_per_hour, begun.attempts["2"].usd_per_hour_on_demand) == (7.2, 24.0)
    spent = head_of(attempt(0, 5000, "a"))
    ended = life.next_attempt(spent, nonce="n", by=0, alone=True, machine="b", now=5100.0, beat=None, rent=RENT)
    assert ended.state is State.EXPIRED and "$10.00" in ended.reason
    assert ended.attempt == 1 and ended.attempts["1"].cause is not Cause.EXPIRED


def test_machines_that_never_came_up_count_once_and_towards_the_limit() -> None:
    lost = cost.lost_usd(LAUNCH, 2, 300.0)
    assert (
        lost == pytest.approx((300 + 2 * BOOT) * 3.6 / 3600)
        and cost.lost_usd(replace(LAUNCH, machine=Machine()), 2, 9.0) == 0.0
    )
    head = life.begun("job", LAUNCH, ())

    def begin(head: Head, machine: str, usd: float, now: float) -> Head:
        rent = replace(RENT, before_usd=usd)
        return life.next_attempt(head, nonce="n", by=0, alone=True, machine=machine, now=now, beat=None, rent=rent)

    once = begin(head, "aa-0-3", lost, 0.0)
    assert cost.spent_usd(once, 0.0) == pytest.approx(lost + BOOT * 7.2 / 3600)
    assert cost.seconds_left(once, RENT, 0.0) == pytest.approx((10.0 - lost) / 7.2 * 3600 - BOOT)
    again = begin(once, "aa-0-3", lost, 100.0)
    assert again.beside_usd == once.beside_usd, "the same machine counts them a second time"
    spent = begin(again, "aa-0-5", 11.0, 200.0)
    assert spent.state is State.EXPIRED and "limit of $10.00" in spent.reason
