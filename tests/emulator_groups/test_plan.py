"""What a group does next, as a pure function: given what is wanted and what is there."""

from __future__ import annotations

from dataclasses import replace

from outlast_emulator.compute import groups_plan
from outlast_emulator.compute.groups_names import BaseName
from outlast_emulator.compute.groups_plan import (
    ABANDONING,
    CREATING,
    DELETING,
    NONE,
    RECREATING,
    Machine,
    Member,
    Wish,
    plan,
)
from outlast_emulator.compute.groups_steps import (
    Add,
    Attempt,
    Clear,
    Dismiss,
    Forget,
    Notice,
    Recover,
    Repair,
    Settle,
)

ZONES = ("r-a", "r-b", "r-c")
WISH = Wish(2, ZONES, "ANY", BaseName("w", 1, 0), ("n2-standard-8",), "t", repair_seconds=60.0)
FIRST = Member("w-0", NONE, "t", "r-a", "n2-standard-8", machine_id=7)
SECOND = Member("w-1", NONE, "t", "r-a", "n2-standard-8", machine_id=8)
BOTH = {"w-0": Machine(7, "RUNNING"), "w-1": Machine(8, "RUNNING")}


def test_an_empty_group_grows_to_its_size() -> None:
    assert plan(WISH, [], {}, 0).steps == [Add("w-0"), Add("w-1")]


def test_a_stable_group_does_nothing_and_need_not_be_woken() -> None:
    made = plan(WISH, [FIRST, SECOND], BOTH, 0)
    assert (made.steps, made.wake_at) == ([], None)


def test_an_even_group_gives_new_members_to_the_emptiest_zones() -> None:
    steps = plan(replace(WISH, shape="EVEN", target_size=4), [FIRST], {}, 0).steps
    assert steps == [Add("w-1", "r-b"), Add("w-2", "r-c"), Add("w-3", "r-a")]


def test_what_is_too_much_goes_and_what_does_not_run_goes_first() -> None:
    machines = {"w-0": Machine(7, "STAGING"), "w-1": Machine(8, "RUNNING")}
    assert plan(replace(WISH, target_size=1), [FIRST, SECOND], machines, 0).steps == [Dismiss("w-0")]
    assert plan(replace(WISH, target_size=1), [FIRST, SECOND], BOTH, 0).steps == [Dismiss("w-1")]


def test_an_even_group_moves_a_machine_when_its_zones_differ_by_more_than_one() -> None:
    wish = replace(WISH, shape="EVEN", zones=("r-a", "r-b"), redistributes=True)
    assert plan(wish, [FIRST, SECOND], BOTH, 0).steps == [Dismiss("w-1")]
    assert plan(replace(wish, redistributes=False), [FIRST, SECOND], BOTH, 0).steps == []
    assert plan(wish, [FIRST, replace(SECOND, action=DELETING)], BOTH, 0).steps == [Add("w-2", "r-b")]
    assert plan(wish, [FIRST, replace(SECOND, zone="r-b")], BOTH, 0).steps == []
    assert plan(wish, [FIRST, replace(SECOND, broken_at=1.0)], BOTH, 0).steps == [Recover("w-1")]


def test_a_member_that_is_being_deleted_no_longer_counts() -> None:
    leaving = replace(FIRST, action=DELETING)
    assert plan(replace(WISH, target_size=1), [leaving, SECOND], BOTH, 0).steps == [Clear("w-0")]
    assert plan(WISH, [leaving, SECOND], BOTH, 0).steps == [Add("w-2")]
    gone = {"w-1": BOTH["w-1"]}
    assert plan(replace(WISH, target_size=1), [leaving, SECOND], gone, 0).steps == [Forget("w-0")]


def test_an_abandoned_machine_is_forgotten_and_not_deleted() -> None:
    leaving = replace(FIRST, action=ABANDONING)
    assert plan(replace(WISH, target_size=1), [leaving, SECOND], BOTH, 0).steps == [Forget("w-0")]


def test_a_dead_machine_is_noticed_then_after_the_delay_repaired_under_its_name() -> None:
    machines = {"w-1": BOTH["w-1"]}
    made = plan(WISH, [FIRST, SECOND], machines, 100)
    assert (made.steps, made.wake_at) == ([Notice("w-0")], 160)
    noticed = replace(FIRST, broken_at=100.0)
    early = plan(WISH, [noticed, SECOND], machines, 159)
    assert (early.steps, early.wake_at) == ([], 160)
    assert plan(WISH, [noticed, SECOND], machines, 160).steps == [Repair("w-0", 0)]
    stopped = {**machines, "w-0": Machine(7, "TERMINATED")}
    assert plan(WISH, [noticed, SECOND], stopped, 160).steps == [Repair("w-0", 7)]


def test_a_machine_that_is_only_going_down_is_not_touched_yet() -> None:
    machines = {**BOTH, "w-0": Machine(7, "STOPPING")}
    assert plan(WISH, [FIRST, SECOND], machines, 0).steps == []


def test_a_machine_that_was_started_again_in_time_is_not_repaired() -> None:
    assert plan(WISH, [replace(FIRST, broken_at=1.0), SECOND], BOTH, 900).steps == [Recover("w-0")]


def test_a_group_told_to_do_nothing_on_failure_repairs_nothing() -> None:
    assert plan(replace(WISH, repairs=False), [FIRST, SECOND], {}, 0).steps == []


def test_a_stopped_machine_is_deleted_before_the_new_one_is_made() -> None:
    broken = replace(FIRST, action=RECREATING, doomed_id=7)
    stopped = {**BOTH, "w-0": Machine(7, "TERMINATED")}
    assert plan(WISH, [broken, SECOND], stopped, 0).steps == [Clear("w-0")]
    leaving = {**BOTH, "w-0": Machine(7, "STOPPING", leaving=True)}
    assert plan(WISH, [broken, SECOND], leaving, 0).steps == []
    assert plan(WISH, [broken, SECOND], {"w-1": BOTH["w-1"]}, 0).steps == [
        Attempt("w-0", (("r-a", "n2-standard-8"),)),
    ]


def test_a_repair_stays_in_its_zone_unless_it_may_change_it_and_tries_its_own_first() -> None:
    moved = replace(FIRST, action=RECREATING, zone="r-b")
    assert groups_plan.places(WISH, moved, {}) == (("r-b", "n2-standard-8"),)
    zones = [zone for zone, _ in groups_plan.places(replace(WISH, may_change_zone=True), moved, {})]
    assert zones == ["r-b", "r-a", "r-c"]


def test_a_new_member_may_go_where_there_is_room_by_rank_of_type_then_zone() -> None:
    wish = replace(WISH, machine_types=("g2-standard-8", "g2-standard-12"))
    found = groups_plan.places(wish, Member("w-0", CREATING, "t"), {})
    assert found[:4] == (
        ("r-a", "g2-standard-8"),
        ("r-b", "g2-standard-8"),
        ("r-c", "g2-standard-8"),
        ("r-a", "g2-standard-12"),
    )


def test_balanced_prefers_the_emptiest_zone_and_a_single_zone_keeps_to_one() -> None:
    new = Member("w-2", CREATING, "t")
    spread = {"r-a": 1, "r-b": 1}
    assert groups_plan.places(replace(WISH, shape="BALANCED"), new, spread)[0][0] == "r-c"
    assert groups_plan.places(replace(WISH, shape="ANY_SINGLE_ZONE"), new, {"r-b": 1}) == (("r-b", "n2-standard-8"),)
    assert len(groups_plan.places(replace(WISH, shape="ANY_SINGLE_ZONE"), new, {})) == 3


def test_a_member_without_capacity_waits_for_its_next_attempt() -> None:
    waiting = Member("w-0", CREATING, "t", "r-a", retry_at=50.0)
    made = plan(WISH, [waiting, SECOND], {"w-1": BOTH["w-1"]}, 20)
    assert (made.steps, made.wake_at) == ([], 50.0)
    assert isinstance(plan(WISH, [waiting, SECOND], {"w-1": BOTH["w-1"]}, 50).steps[0], Attempt)


def test_a_member_is_settled_when_its_machine_runs_and_repaired_if_it_died_on_the_way() -> None:
    new = replace(FIRST, action=CREATING)
    assert plan(WISH, [new, SECOND], {**BOTH, "w-0": Machine(7, "STAGING")}, 0).steps == []
    assert plan(WISH, [new, SECOND], BOTH, 0).steps == [Settle("w-0")]
    assert plan(WISH, [new, SECOND], {**BOTH, "w-0": Machine(7, "TERMINATED")}, 0).steps == [Repair("w-0", 7)]
