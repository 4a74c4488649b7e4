"""How far a killed training is: by what it has saved, whatever the clock says."""

from __future__ import annotations

from dataclasses import replace

from outlast.folder.life import BARREN_MAX
from outlast.jobs.drill_progress import Progress, got_on
from tests.drill.test_evidence import attempt, commit, seen, story

SAVES = seen(1, *(("last", f"sha{n}", 10.0 * n) for n in range(1, 5)))
REFERENCE = story(attempt(), seen=SAVES)


def test_a_training_that_is_faster_than_its_reference_is_where_its_last_save_says() -> None:
    progress = Progress(REFERENCE, 1.0)
    progress.begin(100.0)
    assert progress.seconds(102.0) == 2.0
    progress.write(("last", "sha2"), 103.0)
    assert progress.seconds(104.0) == 21.0
    progress.write(("last", "sha1"), 105.0)
    assert progress.seconds(105.0) == 22.0


def test_a_hurried_drill_takes_its_training_for_faster_between_two_saves() -> None:
    progress = Progress(REFERENCE, 4.0)
    progress.begin(100.0)
    progress.write(("last", "sha1"), 101.0)
    assert progress.seconds(103.0) == 18.0


def test_an_attempt_begins_where_its_restored_save_was_made() -> None:
    progress = Progress(REFERENCE, 1.0)
    progress.begin(100.0)
    progress.restore(3, [("last", "sha3"), ("config", "other")], 100.0)
    assert progress.seconds(101.0) == 31.0


def test_an_attempt_whose_restored_save_the_reference_never_made_begins_where_that_was_committed() -> None:
    """A save that holds a time is another one whenever it is made."""
    progress = Progress(REFERENCE, 1.0)
    progress.begin(100.0)
    progress.commit(1, 112.0)
    progress.commit(2, 124.0)
    progress.begin(200.0)
    progress.restore(2, [("last", "another")], 200.0)
    assert progress.seconds(201.0) == 25.0


def test_where_the_library_saves_its_steps_say_how_far_it_is() -> None:
    progress = Progress(story(attempt(), commits=[commit(1, 10), commit(1, 20)], by_library=True), 1.0)
    progress.begin(100.0)
    progress.commit(10, 103.0)
    assert progress.seconds(104.0) == 11.0
    progress.begin(200.0)
    progress.restore(25, (), 200.0)
    assert progress.seconds(200.0) == 20.0


def test_a_job_that_makes_no_progress_is_let_save_before_it_is_killed_again_and_so_never_given_up() -> None:
    head = story(attempt(), attempt(2)).head
    assert got_on(replace(head, barren=0), 2), "one attempt may be killed while it starts"
    assert not got_on(replace(head, barren=BARREN_MAX - 2), 2)
    saved = {**head.attempts, "2": replace(head.attempts["2"], committed_step=3)}
    assert got_on(replace(head, barren=BARREN_MAX - 2, attempts=saved), 2)
