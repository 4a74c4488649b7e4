"""Who owns a job when machines die, wake up late, lose answers and meet each other."""

from __future__ import annotations

import math
from random import Random

import pytest

from outlast.errors import StoreUnavailable
from outlast.folder import life
from outlast.folder.fence import Claim, Fence, Leave, Memory, Place
from outlast.folder.folder import Fenced, Folder
from outlast.folder.records import Cause, Head, LaunchRecord, Request, State
from outlast.spec.record import encode
from outlast.spec.spec import Machine
from outlast.store.memory import MemoryStore


class Losing(MemoryStore):
    """Does what it is asked, and loses the answers that it is told to lose."""

    lose = 0

    def put(self, key: str, data: bytes, *, if_generation: int | None = None) -> int:
        generation = super().put(key, data, if_generation=if_generation)
        if self.lose:
            self.lose -= 1
            raise StoreUnavailable("answer lost")
        return generation


@pytest.fixture
def folder() -> Folder:
    folder = Folder(Losing(), "job", Random(1))
    launch = LaunchRecord(1, "aa", "local", 1, Machine(), 0.0, 1e9, "bundle")
    folder.store.put(folder.keys.launch(1), encode(launch), if_generation=0)
    folder.store.put(folder.keys.head, encode(life.begun("job", launch, ())), if_generation=0)
    return folder


def machine(folder: Folder, name: str, *, rank: int = 0, workers: int = 1, launch_id: str = "aa") -> Fence:
    return Fence(folder, Place(launch_id, rank, workers, name, math.inf), Memory(name), lambda memory: None)


def claimed(passed: Claim | Leave) -> Claim:
    assert isinstance(passed, Claim)
    return passed


def swap(folder: Folder, head: Head) -> None:
    folder.swap(folder.read_head(), head, "test")


def test_the_first_machine_begins_the_first_attempt(folder: Folder) -> None:
    claim = claimed(machine(folder, "m1").pass_(survivor=False))
    assert claim.attempt == 1
    assert folder.read_head().head.state is State.RUNNING


def test_a_second_machine_takes_over_and_the_first_is_fenced(folder: Folder) -> None:
    first = claimed(machine(folder, "m1").pass_(survivor=False))
    second = claimed(machine(folder, "m2").pass_(survivor=False))
    assert second.attempt == 2
    with pytest.raises(Fenced):
        folder.amend(first.at, first.nonce, lambda head: head, "late")


def test_an_agent_that_was_restarted_goes_on_with_its_attempt(folder: Folder) -> None:
    notes: list[Memory] = []
    fence = Fence(folder, Place("aa", 0, 1, "m1", math.inf), Memory("m1"), notes.append)
    first = claimed(fence.pass_(survivor=False))
    again = Fence(folder, Place("aa", 0, 1, "m1", math.inf), Memory.decode(notes[-1].encode()), notes.append)
    assert claimed(again.pass_(survivor=False)).attempt == first.attempt


def test_a_lost_answer_does_not_cost_an_attempt(folder: Folder) -> None:
    fence = machine(folder, "m1")
    folder.store.lose = 1  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable):
        fence.pass_(survivor=False)
    assert claimed(fence.pass_(survivor=False)).attempt == 1


def test_the_nonce_is_on_disk_before_it_is_sent(folder: Folder) -> None:
    generations: list[int] = []
    fence = Fence(
        folder,
        Place("aa", 0, 1, "m1", math.inf),
        Memory("m1"),
        lambda _: generations.append(folder.read_head().generation),
    )
    before = folder.read_head().generation
    fence.pass_(survivor=False)
    assert generations[0] == before


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.FAILED, State.STOPPED, State.EXPIRED])
def test_a_machine_that_finds_an_ended_job_leaves(folder: Folder, state: State) -> None:
    swap(folder, life.final(folder.read_head().head, state, 1.0))
    assert machine(folder, "late").pass_(survivor=False) is Leave.DONE


def test_a_machine_of_another_launch_leaves_and_writes_nothing(folder: Folder) -> None:
    before = folder.read_head()
    assert machine(folder, "old", launch_id="zz").pass_(survivor=False) is Leave.DONE
    assert folder.read_head() == before


def test_a_machine_without_a_head_leaves(folder: Folder) -> None:
    folder.store.delete(folder.keys.head)
    assert machine(folder, "m1").pass_(survivor=False) is Leave.DONE


def test_a_machine_that_boots_after_a_stop_wish_stops_the_job(folder: Folder) -> None:
    folder.create(folder.keys.request(1, "stop", "x"), Request("stop", 1, 0.0))
    assert machine(folder, "m1").pass_(survivor=False) is Leave.DONE
    assert folder.read_head().head.state is State.STOPPED


def test_a_wish_for_an_old_launch_is_not_obeyed(folder: Folder) -> None:
    folder.create(folder.keys.request(1, "stop", "x"), Request("stop", 1, 0.0))
    stopped = life.final(folder.read_head().head, State.STOPPED, 1.0)
    second = LaunchRecord(2, "bb", "local", 1, Machine(), 0.0, 1e9, "bundle")
    swap(folder, life.relaunched(stopped, second))
    assert claimed(machine(folder, "m2", launch_id="bb").pass_(survivor=False)).attempt == 1


def test_workers_gather_in_one_attempt_and_a_replacement_begins_the_next(folder: Folder) -> None:
    for rank in range(3):
        claim = claimed(machine(folder, f"m{rank}", rank=rank, workers=3).pass_(survivor=False))
        assert claim.attempt == 1
    assert folder.read_head().head.state is State.GATHERING
    assert claimed(machine(folder, "m1b", rank=1, workers=3).pass_(survivor=False)).attempt == 2


def test_the_swapper_of_an_attempt_has_its_slot(folder: Folder) -> None:
    claimed(machine(folder, "m0", rank=0, workers=2).pass_(survivor=False))
    other = claimed(machine(folder, "m0b", rank=0, workers=2).pass_(survivor=False))
    assert other.attempt == 2


def test_a_survivor_joins_what_gathers_and_never_begins(folder: Folder) -> None:
    survivor = machine(folder, "m0", rank=0, workers=2)
    claimed(survivor.pass_(survivor=False))
    claimed(machine(folder, "m1", rank=1, workers=2).pass_(survivor=False))
    claimed(machine(folder, "m1b", rank=1, workers=2).pass_(survivor=False))
    assert claimed(survivor.pass_(survivor=True)).attempt == 2
    swap(folder, life.running(folder.read_head().head, 1.0))
    late = machine(folder, "m1", rank=1, workers=2)
    assert late.pass_(survivor=True) is Leave.OFF


def test_a_replaced_machine_knows_it_also_two_attempts_later(folder: Folder) -> None:
    first = machine(folder, "m0", rank=0, workers=2)
    claim = claimed(first.pass_(survivor=False))
    claimed(machine(folder, "m0b", rank=0, workers=2).pass_(survivor=False))
    claimed(machine(folder, "m1", rank=1, workers=2).pass_(survivor=False))
    claimed(machine(folder, "m1b", rank=1, workers=2).pass_(survivor=False))
    head = folder.read_head().head
    assert head.by == 1
    assert first.was_replaced(head, claim.attempt)


def test_a_replacement_that_never_wrote_its_record_has_replaced_all_the_same(folder: Folder) -> None:
    first = machine(folder, "m1", rank=1, workers=3)
    claim = claimed(first.pass_(survivor=False))
    claimed(machine(folder, "m1b", rank=1, workers=3).pass_(survivor=False))
    folder.store.delete(folder.keys.worker(2, 1))
    claimed(machine(folder, "m2", rank=2, workers=3).pass_(survivor=False))
    claimed(machine(folder, "m2b", rank=2, workers=3).pass_(survivor=False))
    head = folder.read_head().head
    assert (head.attempt, head.by) == (3, 2)
    assert first.was_replaced(head, claim.attempt)


def test_a_machine_that_lost_the_race_for_the_next_attempt_has_not_forgotten_the_last(folder: Folder) -> None:
    owner = machine(folder, "m1")
    claim = claimed(owner.pass_(survivor=False))
    rival = machine(folder, "m1b")
    raced = False

    def note(memory: Memory) -> None:
        nonlocal raced
        if memory.attempt == 2 and not raced:
            raced = True
            claimed(rival.pass_(survivor=False))

    ended = life.with_end(claim.at.head.attempts["1"], Cause.STALLED, 2.0)
    folder.amend(claim.at, claim.nonce, lambda head: life.ended(head, 1, ended), "end")
    again = Fence(folder, owner.place, owner.memory, note)
    assert again.pass_(survivor=False) is Leave.OFF
    assert folder.read_head().head.attempt == 2


def test_the_answer_to_our_own_final_swap_may_be_lost(folder: Folder) -> None:
    claim = claimed(machine(folder, "m1").pass_(survivor=False))
    folder.store.lose = 1  # type: ignore[attr-defined]

    def end() -> None:
        folder.amend(claim.at, claim.nonce, lambda head: life.final(head, State.SUCCEEDED, 2.0), "final")

    with pytest.raises(StoreUnavailable):
        end()
    end()
    assert folder.read_head().head.state is State.SUCCEEDED
    with pytest.raises(Fenced):
        folder.amend(claim.at, claim.nonce, lambda head: head, "other")


def restarted(fence: Fence) -> Fence:
    """The same machine, whose agent was killed and started again."""
    return Fence(fence.folder, fence.place, Memory.decode(fence.memory.encode()), lambda memory: None)


def test_a_replaced_machine_whose_agent_was_restarted_takes_no_slot_from_its_replacement(folder: Folder) -> None:
    first = machine(folder, "m0", rank=0, workers=2)
    claimed(first.pass_(survivor=False))
    replacement = machine(folder, "m0b", rank=0, workers=2)
    claimed(replacement.pass_(survivor=False))
    claimed(machine(folder, "m1", rank=1, workers=2).pass_(survivor=False))
    claimed(machine(folder, "m1b", rank=1, workers=2).pass_(survivor=False))
    assert restarted(first).pass_(survivor=False) is Leave.OFF
    assert claimed(replacement.pass_(survivor=True)).attempt == 3


def test_a_machine_whose_swap_may_be_on_its_way_joins_nothing_and_begins_by_the_same_nonce(folder: Folder) -> None:
    claimed(machine(folder, "m1", rank=1, workers=2).pass_(survivor=False))
    memory = Memory("m0", attempt=2, nonce="sent")
    late = Fence(folder, Place("aa", 0, 2, "m0", math.inf), memory, lambda memory: None)
    claim = claimed(late.pass_(survivor=False))
    assert (claim.attempt, claim.nonce) == (2, "sent")


def test_why_a_trainer_was_ended_is_forgotten_with_its_attempt(folder: Folder) -> None:
    """Or the next one's own failure would be told as the stall of the one before."""
    fence = machine(folder, "m1")
    claim = claimed(fence.pass_(survivor=False))
    fence.remember_ending("stalled")
    assert claimed(restarted(fence).pass_(survivor=False)).attempt == 1
    assert restarted(fence).memory.ending == "stalled"
    ended = life.with_end(claim.at.head.attempts["1"], Cause.STALLED, 2.0)
    folder.amend(claim.at, claim.nonce, lambda head: life.ended(head, 1, ended), "end")
    assert claimed(fence.pass_(survivor=False)).attempt == 2
    assert fence.memory.ending == ""
