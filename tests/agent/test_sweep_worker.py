"""What a worker of a sweep does where its cells, its claims or its money are not as it left them; on a clock turned by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from outlast.agent.bench import Held, Leaving
from outlast.agent.standing import Offline
from outlast.agent.station import Station
from outlast.agent.sweep import work
from outlast.agent.sweep_claims import Claims
from outlast.agent.sweep_purse import Purse
from outlast.agent.sweep_terms import (
    AHEAD_SECONDS,
    FURNISH_SECONDS,
    GONE_SECONDS,
    IDLE_LOOK_SECONDS,
    LEAVE_SECONDS,
    RENEW_SECONDS,
    RETRY_SECONDS,
    SHORT_SECONDS,
    UNPAID_SECONDS,
)
from outlast.errors import StoreUnavailable
from outlast.folder import life
from outlast.folder.bills import Bills, spent_usd
from outlast.folder.cost import BOOT_SECONDS
from outlast.folder.layout import CellKeys, JobKeys
from outlast.folder.records import State
from outlast.folder.sweep_records import Bill
from outlast.spec.record import encode
from outlast.spec.spec import Machine, Rented, Sweep
from outlast.store.memory import MemoryStore
from outlast.store.store import Entry
from tests.sweep_search.parts import SWEEP, HandBench, HandClock, Home

USD_PER_HOUR = 3.6
RENTED = Machine(1, 0, Rented("p", ("r",), "t", usd_per_hour=USD_PER_HOUR))
CELL_SECONDS = 32.0
POOR_SECONDS = LEAVE_SECONDS + BOOT_SECONDS + 74.0
"""A share for a boot and two cells."""


def sweep_of(cells: int, *, share_seconds: float | None = None, store: MemoryStore | None = None) -> Home:
    home = Home(Sweep(), cells, {"n": list(range(cells))}, store)
    if share_seconds is not None:
        limit = 2 * share_seconds * USD_PER_HOUR / 3600
        home.launch = replace(home.launch, machine=RENTED, usd_per_hour=USD_PER_HOUR, max_cost_usd=limit)
    return home


def run(home: Home, *, worker: int = 0, boot: int = 1, bench: Any = None) -> Leaving:
    return work(
        folder=home.folder,
        spec=home.spec,
        launch=home.launch,
        worker=worker,
        machine=f"1a2b-{worker}-{boot}",
        bench=bench or HandBench(home.clock, lambda args, step: 1.0),
        clock=home.clock,
        random=home.folder.random,
    )


def station_of(home: Home, worker: int = 0, boot: int = 1) -> Station:
    machine = f"1a2b-{worker}-{boot}"
    return Station(home.folder, home.spec, home.launch, worker, machine, home.clock, home.folder.random)


def purse_of(home: Home, worker: int = 0, boot: int = 1) -> Purse:
    return Purse(station_of(home, worker, boot), HandBench(home.clock, lambda args, step: 1.0))


def states(home: Home) -> dict[int, str]:
    return {cell: row.state for cell, row in sorted(home.sweep.rows(1).items())}


# Cells.


@pytest.mark.parametrize("share_seconds", [None, 4000.0])
def test_a_cell_whose_head_is_damaged_has_failed_and_the_others_go_on(share_seconds: float | None) -> None:
    home = sweep_of(3, share_seconds=share_seconds)
    home.store.put(CellKeys(SWEEP, 2).head, b"{", if_generation=0)
    assert run(home) is Leaving.DONE
    assert states(home) == {1: "succeeded", 2: "failed", 3: "succeeded"}
    head = home.folder.read_head().head
    assert head.state is State.FAILED and "1 of 3 cells failed: 2" in head.reason


def test_of_a_cell_that_another_launch_runs_by_now_nothing_is_told() -> None:
    """A computer that slept wakes up: its sweep was resumed elsewhere."""
    home = sweep_of(1)
    newer = replace(home.launch, launch=2, id="3c4d")
    begun = life.begun(f"{SWEEP}.1", newer, ())
    home.folder.swap(home.folder.read_head(), life.begun(SWEEP, newer, ()), "resumed")
    home.store.put(CellKeys(SWEEP, 1).head, encode(begun), if_generation=0)
    bench = HandBench(home.clock, lambda args, step: 1.0)
    bench.take_up(Held(1, 1))
    assert run(home, bench=bench) is Leaving.DONE
    assert states(home) == {}


class Losing(MemoryStore):
    """Loses the answer to a claim, and the claim arrives when it likes."""

    late: Callable[[], object] | None = None
    lose = True

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if "/claims/" in key and self.lose:
            self.lose = False
            self.late = lambda: MemoryStore.put(self, key, data, if_generation=if_generation)
            raise StoreUnavailable("lost")
        return super().put(key, data, if_generation=if_generation)


def test_a_claim_whose_answer_was_lost_is_asked_for_again_before_any_other() -> None:
    """Should it arrive when its worker has left for good, nobody would run that cell."""
    home = sweep_of(4, store=Losing(clock=HandClock()))
    claims = Claims(station_of(home))
    claims.learn()
    with pytest.raises(StoreUnavailable):
        claims.next()
    claims.learn()
    held = claims.inherited()
    assert held is not None and home.sweep.claims(1) == {held.cell: 1}
    claims.learn()
    assert claims.inherited() == held, "it is the worker's own until its row is there"


def test_what_a_worker_has_ended_is_not_done_again_when_the_home_was_away() -> None:
    home = sweep_of(3)
    assert run(home) is Leaving.DONE
    (segment,) = home.sweep.segments("1a2b-0-1").values()
    assert len(segment) == 3


# Money.


def bills(home: Home, worker: int) -> list[Bill]:
    return [bill for bill in Bills(home.folder).of_launch("1a2b") if bill.worker == worker]


def test_what_counts_is_the_machines_life_with_its_boot_and_all_waiting() -> None:
    home = sweep_of(1, share_seconds=4000.0)
    began_at = home.clock.at
    assert run(home) is Leaving.DONE
    (bill,) = bills(home, 0)
    assert bill.began_at == pytest.approx(began_at - BOOT_SECONDS)
    assert home.clock.at <= bill.until <= home.clock.at + AHEAD_SECONDS
    assert spent_usd([bill], home.clock.at) == pytest.approx((home.clock.at - began_at + BOOT_SECONDS) / 1000)


def test_whoever_comes_in_a_dead_machines_place_has_what_that_one_has_left() -> None:
    home = sweep_of(1, share_seconds=1000.0)
    first = purse_of(home)
    first.open()
    home.clock.at += 300.0
    first.renew_if_due()
    died_at = home.clock.at
    home.clock.at += 5000.0  # no machine was to be had: nothing was paid for
    second = purse_of(home, boot=2)
    second.open()
    spent_seconds = BOOT_SECONDS + 300.0 + AHEAD_SECONDS + BOOT_SECONDS
    assert died_at < home.clock.at
    assert second.left_usd * 1000 == pytest.approx(1000.0 - LEAVE_SECONDS - spent_seconds)
    other = purse_of(home, worker=1)
    other.open()
    assert other.left_usd * 1000 == pytest.approx(1000.0 - LEAVE_SECONDS - BOOT_SECONDS)


def test_a_machine_that_was_replaced_has_cost_no_more_than_until_its_successor_began() -> None:
    home = sweep_of(1, share_seconds=1000.0)
    purse_of(home).open()
    home.clock.at += BOOT_SECONDS + 115.0
    second = purse_of(home, boot=2)
    second.open()
    assert second.left_usd * 1000 == pytest.approx(1000.0 - LEAVE_SECONDS - BOOT_SECONDS - 115.0 - BOOT_SECONDS)


def test_where_machines_do_not_live_long_more_is_held_back_for_those_that_come_only_to_leave() -> None:
    home = sweep_of(1, share_seconds=1000.0)
    purse_of(home).open()
    home.clock.at += 120.0
    second = purse_of(home, boot=2)
    second.open()
    held_back = LEAVE_SECONDS * SHORT_SECONDS / 120.0
    assert second.left_usd * 1000 == pytest.approx(1000.0 - held_back - 120.0 - BOOT_SECONDS)


def test_a_machine_whose_boot_was_counted_and_that_wrote_no_bill_has_cost_the_time_until_the_next() -> None:
    home = sweep_of(1, share_seconds=4000.0)
    purse_of(home).open()
    first_until = bills(home, 0)[0].until
    home.clock.at += 1000.0
    third = purse_of(home, boot=3)
    third.open()
    unbilled = home.clock.at - BOOT_SECONDS - first_until
    assert bills(home, 0)[-1].unbilled_seconds == pytest.approx(unbilled) and unbilled > 0
    spent = BOOT_SECONDS + 1000.0 - BOOT_SECONDS + BOOT_SECONDS
    assert third.left_usd * 1000 == pytest.approx(4000.0 - LEAVE_SECONDS - spent)


class Cut(MemoryStore):
    on = False

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        if self.on:
            raise StoreUnavailable("cut")
        return super().put(key, data, if_generation=if_generation)


class Unread(MemoryStore):
    """Bills can be written, and not listed."""

    on = False

    def list(self, prefix: str, *, after: str = "", limit: int | None = None) -> Iterator[Entry]:
        if self.on:
            raise StoreUnavailable("no answer")
        return super().list(prefix, after=after, limit=limit)


def test_who_cannot_renew_its_bill_leaves_before_that_ends_also_after_its_agent_was_started_again() -> None:
    store = Cut(clock=HandClock())
    home = sweep_of(1, share_seconds=4000.0, store=store)
    bench = HandBench(home.clock, lambda args, step: 1.0)
    purse = Purse(station_of(home), bench)
    purse.open()
    (bill,) = bills(home, 0)
    store.on = True
    with pytest.raises(Offline):
        while True:
            home.clock.at += 5.0
            purse.keep()
    assert home.clock.at < bill.until - GONE_SECONDS
    assert Purse(station_of(home), bench).overdue(), "it knows without the home what an earlier life has paid for"
    store.on = False
    home.clock.at += RETRY_SECONDS
    purse.keep()
    assert not purse.overdue(), "a home that is back in time is paid"


def test_what_takes_long_is_paid_for_before() -> None:
    home = sweep_of(1, share_seconds=4000.0)
    purse = purse_of(home)
    purse.open()
    purse.reserve()
    assert bills(home, 0)[0].until == pytest.approx(home.clock.at + FURNISH_SECONDS)
    home.clock.at += RENEW_SECONDS
    purse.keep()
    assert bills(home, 0)[0].until == pytest.approx(home.clock.at + 400.0), "what was not used is given back"


def test_machines_that_may_not_leave_are_paid_for_by_those_who_work() -> None:
    home = sweep_of(1, share_seconds=1000.0)
    Bills(home.folder).write("1a2b-1-1", Bill(1, 1, "1-1", USD_PER_HOUR, home.clock.at - 1500.0, home.clock.at - 900.0))
    purse = purse_of(home)
    purse.open()
    before_usd = purse.left_usd
    assert Bills(home.folder).spent_usd(home.clock.at) * 1000 == pytest.approx(600.0 + BOOT_SECONDS)
    home.store.put(JobKeys(SWEEP).boots(1) + "1-1-spare", b"403", if_generation=0)
    purse.look_for_idle()
    assert (before_usd - purse.left_usd) * 1000 == pytest.approx(500.0 + IDLE_LOOK_SECONDS + RENEW_SECONDS)
    assert Bills(home.folder).spent_usd(home.clock.at) * 1000 == pytest.approx(1500.0 + BOOT_SECONDS)


def test_a_machine_that_has_left_as_it_should_is_not_paid_for_any_more() -> None:
    """A container says too that it is spare, without a reason why it could not go."""
    home = sweep_of(1, share_seconds=1000.0)
    home.store.put(JobKeys(SWEEP).boots(1) + "1-1-spare", b"", if_generation=0)
    assert not Bills(home.folder).idle(1)


def test_a_worker_whose_group_did_not_let_it_go_ends_the_sweep_when_all_have_spent_the_money() -> None:
    """Nobody else is there to see what the two machines cost."""
    home = sweep_of(3, share_seconds=POOR_SECONDS)
    assert run(home, worker=0) is Leaving.SPARE, "the other one has money, and may come yet"
    home.store.put(JobKeys(SWEEP).boots(1) + "0-1-spare", b"403", if_generation=0)
    refused = 0
    while run(home, worker=0) is not Leaving.DONE:
        refused += 1
        assert refused < 20
    head = home.folder.read_head().head
    assert head.state is State.EXPIRED and refused > 0, "and asked its group again, now and then"
    limit_usd = home.launch.max_cost_usd
    assert limit_usd is not None and Bills(home.folder).spent_usd(home.clock.at) <= limit_usd


def test_a_worker_that_cannot_read_what_was_spent_before_it_does_not_go_on_paying() -> None:
    store = Unread(clock=HandClock())
    home = sweep_of(1, share_seconds=4000.0, store=store)
    purse_of(home).open()
    home.clock.at += 500.0
    bench = HandBench(home.clock, lambda args, step: 1.0)
    second = Purse(station_of(home, boot=2), bench)
    store.on = True
    with pytest.raises(StoreUnavailable):
        second.open()
    bill = Bills(home.folder).read("1a2b-0-2")
    assert bill is not None
    with pytest.raises(Offline):
        for _ in range(100):
            home.clock.at += 5.0
            second.keep()
    assert Bills(home.folder).read("1a2b-0-2") == bill
    assert bench.paid is not None and home.clock.at < bench.paid


def test_a_machine_without_a_bill_leaves_by_its_age_however_often_its_agent_is_started_again() -> None:
    store = Cut(clock=HandClock())
    home = sweep_of(1, share_seconds=4000.0, store=store)
    store.on = True
    born_at = home.clock.monotonic()
    for _ in range(8):
        station = station_of(home)
        station.born_at = born_at
        purse = Purse(station, HandBench(home.clock, lambda args, step: 1.0))
        with pytest.raises(StoreUnavailable):
            purse.open()
        home.clock.at += UNPAID_SECONDS / 8
    assert purse.overdue()


class Warned(HandBench):
    def notice(self) -> float | None:
        return 30.0


def test_without_money_a_notice_does_not_keep_a_worker_from_ending_the_sweep() -> None:
    """The next machine would have to boot for that, and nobody has money for it."""
    home = sweep_of(3, share_seconds=POOR_SECONDS)
    for worker in (0, 1):
        Bills(home.folder).write(f"1a2b-{worker}-1", Bill(1, worker, f"{worker}-1", USD_PER_HOUR, 0.0, POOR_SECONDS))
    assert run(home, boot=2, bench=Warned(home.clock, lambda args, step: 1.0)) is Leaving.DONE
    assert home.folder.read_head().head.state is State.EXPIRED


def test_a_cell_of_a_worker_that_has_left_for_good_is_ended_by_whoever_has_no_money_either() -> None:
    """Its claim, or its row, was lost on the way: nobody else would end the sweep."""
    home = sweep_of(1, share_seconds=POOR_SECONDS)
    claims = Claims(station_of(home, worker=1))
    claims.learn()
    assert claims.next() is not None
    Bills(home.folder).write("1a2b-1-1", Bill(1, 1, "1-1", USD_PER_HOUR, 0.0, 100.0))
    Bills(home.folder).write("1a2b-0-1", Bill(1, 0, "0-1", USD_PER_HOUR, 0.0, POOR_SECONDS))
    Bills(home.folder).write_spare("1a2b-1-1")
    assert run(home, boot=2) is Leaving.DONE
    assert home.folder.read_head().head.state is State.EXPIRED and states(home) == {1: "expired"}


def test_of_two_that_leave_to_one_another_one_stays_and_ends_the_sweep() -> None:
    """Both have reckoned before the other was known to leave."""
    home = sweep_of(3, share_seconds=1000.0)
    first, second = purse_of(home), purse_of(home, worker=1)
    first.open()
    second.open()
    assert first.leave_to_others()
    assert not second.leave_to_others()
    assert Bills(home.folder).gone("1a2b") == {0, 1}
    purse_of(home, boot=2).open()
    assert Bills(home.folder).gone("1a2b") == {1}, "somebody has come in its place after all"


def test_a_cell_that_a_dead_machine_left_has_no_more_money_for_the_time_nobody_was_there() -> None:
    home = sweep_of(2, share_seconds=POOR_SECONDS)
    attempt = life.next_attempt(
        life.begun(f"{SWEEP}.1", home.launch, ()),
        nonce="n",
        by=0,
        alone=True,
        machine="1a2b-0-1",
        now=home.clock.at,
        beat=None,
    )
    home.store.put(CellKeys(SWEEP, 1).head, encode(attempt), if_generation=0)
    lost = Bill(1, 0, "0-1", USD_PER_HOUR, home.clock.at - BOOT_SECONDS, home.clock.at + 80.0)
    Bills(home.folder).write("1a2b-0-1", lost)
    claims = Claims(station_of(home))
    claims.learn()
    claims.next()
    home.clock.at += 5000.0
    began_at = home.clock.at
    run(home, boot=2)
    assert home.clock.at - began_at < CELL_SECONDS, "it has left at once"
    assert "succeeded" not in states(home).values()


def test_without_money_it_does_not_wait_for_others() -> None:
    home = sweep_of(2, share_seconds=POOR_SECONDS)
    claims = Claims(station_of(home, worker=1))
    claims.learn()
    assert claims.next() is not None, "another worker has one, and says nothing"
    lost = Bill(1, 0, "0-1", USD_PER_HOUR, 0.0, 100.0)
    Bills(home.folder).write("1a2b-0-1", lost)
    began_at = home.clock.at
    assert run(home, boot=2) is Leaving.SPARE
    assert home.clock.at - began_at < 5.0 and not home.folder.read_head().head.state.final


def test_of_two_whose_money_is_spent_the_last_ends_the_sweep() -> None:
    home = sweep_of(3, share_seconds=POOR_SECONDS)
    assert run(home, worker=0) is Leaving.SPARE, "the other one has money, and may come yet"
    assert run(home, worker=1) is Leaving.DONE
    head = home.folder.read_head().head
    assert head.state is State.EXPIRED and "1 of 3 cells have not been begun" in head.reason, head.reason


class Noted(MemoryStore):
    last = ""

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        self.last = key
        return super().put(key, data, if_generation=if_generation)


def test_who_has_no_money_writes_nothing_after_the_end_and_ends_its_group_at_once() -> None:
    store = Noted()
    home = sweep_of(3, share_seconds=POOR_SECONDS, store=store)
    store._clock = home.clock
    assert run(home, worker=0) is Leaving.SPARE
    assert run(home, worker=1) is Leaving.DONE and home.folder.read_head().head.state is State.EXPIRED
    assert store.last == JobKeys(SWEEP).head


def test_a_machine_that_several_share_is_paid_for_until_the_last_has_left() -> None:
    mine = Bill(1, 0, "0-1", 1.8, 0.0, 100.0)
    other = Bill(1, 1, "0-1", 1.8, 0.0, 1100.0)
    assert spent_usd([mine, other], 5000.0) == pytest.approx(1.1)
    assert spent_usd([mine, other], 600.0) == pytest.approx(0.6), "what is ahead is not spent yet"
    assert spent_usd([mine, replace(other, machine="1-1")], 5000.0) == pytest.approx(0.6)


def test_where_nothing_is_paid_for_no_bill_is_written() -> None:
    home = sweep_of(1)
    assert run(home) is Leaving.DONE
    assert not home.names(home.keys.bills)
