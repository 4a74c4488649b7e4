"""What a story says against its script is found in it, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from outlast.folder.records import Attempt, Cause, Head, State
from outlast.jobs.drill import ALL_TO_THE_BIT, Prepared
from outlast.jobs.drill_evidence import doubtful_attempt, problems_of
from outlast.jobs.drill_plan import Kill, Kind, Plan, TooShort
from outlast.jobs.drill_story import Commit, Killed, Seen, Story
from outlast.jobs.drill_verdict import Wrong
from outlast.jobs.drill_watch import Torn


def story(
    *attempts: Attempt, commits: list[Commit] | None = None, killed: list[Killed] | None = None, **more: Any
) -> Story:
    head = Head(
        job="j",
        launch=1,
        launch_id="l",
        state=more.pop("state", State.SUCCEEDED),
        bundle="b",
        attempt=len(attempts),
        attempts={str(number): attempt for number, attempt in enumerate(attempts, 1)},
        reason=more.pop("reason", ""),
    )
    return Story(
        job=cast(Any, SimpleNamespace(id="j", folder_url="drills/x/jobs/j")),
        status=cast(Any, SimpleNamespace(head=head)),
        commits=commits or [],
        killed=killed or [],
        **more,
    )


def attempt(resumed: int | None = None, *, exit_code: int | None = None, steps_lost: int | None = None) -> Attempt:
    return Attempt(
        launch=1,
        started_at=0.0,
        running_at=0.0,
        ended_at=10.0,
        cause=Cause.PREEMPTED,
        resumed_from_step=resumed,
        exit_code=exit_code,
        steps_lost=steps_lost,
    )


def commit(number: int, step: int, **files: str) -> Commit:
    return Commit(number, step, float(step), files)


def noticed(exit_code: int | None, leaving_seconds: float, **more: Any) -> Story:
    killed = Killed(Kill(1, Kind.NOTICED), 5, 1.0, leaving_seconds)
    steps_lost = more.pop("steps_lost", 0)
    return story(attempt(exit_code=exit_code, steps_lost=steps_lost), attempt(5, exit_code=0), killed=[killed], **more)


def seen(number: int, *files: tuple[str, str, float]) -> list[Seen]:
    return [Seen(number, path, digest, seconds) for path, digest, seconds in files]


REFERENCE = story(attempt(), seen=seen(1, *(("last", f"sha{n}", float(n)) for n in range(1, 6))))


def wrongs(told: Story, reference: Story = REFERENCE) -> list[Wrong]:
    return [problem.wrong for problem in problems_of(reference, told, 30.0)]


def resumed(*files: tuple[str, str, float]) -> Story:
    """An attempt that began with the third save of the reference."""
    return story(attempt(), attempt(3), seen=seen(2, ("last", "sha3", 0.0), *files))


def test_an_attempt_that_saves_what_was_saved_before_its_checkpoint_began_at_zero() -> None:
    assert wrongs(resumed(("last", "sha1", 1.0), ("last", "sha2", 2.0))) == [Wrong.BEGAN_AT_ZERO]
    assert wrongs(resumed(("last", "torn", 0.9), ("last", "sha2", 2.0))) == [Wrong.BEGAN_AT_ZERO]
    assert wrongs(resumed(("last", "sha4", 1.0), ("last", "sha5", 2.0))) == []


def test_an_attempt_that_saves_its_checkpoint_once_more_did_not_begin_at_zero() -> None:
    assert wrongs(resumed(("last", "sha3", 0.1), ("last", "sha4", 1.0))) == []


def test_an_attempt_whose_saves_are_new_to_the_reference_did_not_begin_at_zero() -> None:
    """It resumes differently, which is another thing to say."""
    assert wrongs(resumed(("last", "other", 1.0))) == []


def test_files_that_never_change_may_be_written_again_at_every_start() -> None:
    beginning = (("config", "c", 0.1), ("words", "w", 0.15))
    reference = story(attempt(), seen=seen(1, *beginning, *(("last", f"sha{n}", float(n)) for n in range(1, 6))))
    assert wrongs(resumed(*beginning, ("last", "sha4", 1.0)), reference) == []


def test_checkpoints_that_pile_up_and_are_written_again_began_at_zero() -> None:
    piled = [(f"ckpt-{n}", f"sha{n}", float(n)) for n in range(1, 5)]
    reference = story(attempt(), seen=seen(1, *piled))
    restored = [(path, digest, 0.0) for path, digest, _ in piled[:3]]
    again = story(attempt(), attempt(3), seen=seen(2, *restored, *piled))
    assert wrongs(again, reference) == [Wrong.BEGAN_AT_ZERO]
    gone_on = story(attempt(), attempt(3), seen=seen(2, *restored, piled[3]))
    assert wrongs(gone_on, reference) == []


def test_two_checkpoints_that_pile_up_are_enough_to_see_that_an_attempt_began_at_zero() -> None:
    piled = [(f"ckpt-{n}", f"sha{n}", 3.0 * n) for n in range(1, 5)]
    reference = story(attempt(), seen=seen(1, *piled))
    restored = [(path, digest, 0.0) for path, digest, _ in piled[:2]]
    assert wrongs(story(attempt(), attempt(2), seen=seen(2, *restored, *piled[:2])), reference) == [Wrong.BEGAN_AT_ZERO]
    once_more = [("ckpt-2", "sha2", 0.2), ("ckpt-3", "sha3", 3.2)]
    assert wrongs(story(attempt(), attempt(2), seen=seen(2, *restored, *once_more)), reference) == []


def test_the_first_bytes_of_a_file_that_is_written_in_place_do_not_say_where_an_attempt_began() -> None:
    saves = [save for n in range(1, 6) for save in (("last", "header", n - 0.1), ("last", f"sha{n}", float(n)))]
    reference = story(attempt(), seen=seen(1, *saves))
    gone_on = resumed(("last", "header", 0.9), ("last", "sha4", 1.0))
    assert wrongs(gone_on, reference) == []


def test_a_file_that_was_caught_empty_does_not_say_where_an_attempt_began() -> None:
    """Whoever writes in place empties it first; whether that is seen is chance."""
    reference = story(attempt(), seen=[*seen(1, ("last", "", 0.9)), *REFERENCE.seen])
    assert wrongs(resumed(("last", "", 0.9), ("last", "sha4", 1.0)), reference) == []


def test_with_the_library_the_steps_themselves_say_where_an_attempt_began() -> None:
    commits = [commit(1, 10, a="1"), commit(1, 20, a="2"), commit(2, 10, a="1")]
    assert wrongs(story(attempt(), attempt(20), commits=commits, by_library=True)) == [Wrong.BEGAN_AT_ZERO]
    commits[-1] = commit(2, 30, a="3")
    assert wrongs(story(attempt(), attempt(20), commits=commits, by_library=True)) == []


def test_an_attempt_whose_saves_are_never_the_same_began_at_zero_if_it_saves_as_often_as_the_whole_training() -> None:
    sizes = {"last": {9}}
    stamped = [("last", f"at{n}", float(n)) for n in range(1, 6)]
    reference = story(attempt(), seen=seen(1, *stamped), sizes=sizes)
    before = [commit(1, 1), commit(1, 2), commit(1, 3)]
    restored = ("last", "other3", 0.0)
    again = seen(2, restored, *(("last", f"other{n}", float(n)) for n in range(4, 9)))
    blind = story(attempt(), attempt(3), commits=before, seen=again)
    assert wrongs(blind, reference) == [Wrong.BEGAN_AT_ZERO]
    assert "as often as the uninterrupted training" in problems_of(reference, blind, 30.0)[0].words
    gone_on = seen(2, restored, *(("last", f"other{n}", float(n)) for n in range(4, 6)))
    assert wrongs(story(attempt(), attempt(3), commits=before, seen=gone_on), reference) == []
    one_save = story(attempt(), attempt(1), commits=before[:1], seen=again)
    assert wrongs(one_save, reference) == []
    assert doubtful_attempt(reference, one_save) == 2
    assert doubtful_attempt(reference, story(attempt(), attempt(1), commits=before[:1], seen=gone_on)) is None
    killed = [Killed(Kill(2, Kind.SAVING), None, 1.0, 0.0)]
    hunted = story(attempt(), attempt(3), commits=before, seen=again, killed=killed)
    assert wrongs(hunted, reference) == []


ONE_SAVE = story(attempt(), seen=seen(1, ("last", "sha3", 3.0), ("last", "sha9", 9.0)))


def restored_thrice(*seconds: float) -> Story:
    """Three attempts that began with the only save there was, and made it again after so many seconds."""
    made = [one for n, at in enumerate(seconds, 2) for one in seen(n, ("last", "sha3", 0.0), ("last", "sha3", at))]
    return story(attempt(), attempt(1), attempt(1), attempt(1), seen=[*made, *seen(4, ("last", "sha9", 9.0))])


def test_where_the_only_save_is_made_again_as_late_as_in_the_reference_nobody_knows_where_it_began() -> None:
    told = restored_thrice(3.0, 3.1, 2.9)
    assert wrongs(told, ONE_SAVE) == []
    assert doubtful_attempt(ONE_SAVE, told) == 2


def test_where_it_is_made_again_at_once_or_not_at_all_the_script_resumes() -> None:
    assert doubtful_attempt(ONE_SAVE, restored_thrice(0.1, 0.1, 0.1)) is None
    gone_on = story(attempt(), attempt(1), seen=seen(2, ("last", "sha3", 0.0), ("last", "sha9", 6.0)))
    assert doubtful_attempt(ONE_SAVE, gone_on) is None


def test_one_attempt_that_goes_on_without_its_save_tells_for_the_others_too() -> None:
    slow = seen(2, ("last", "sha3", 0.0), ("last", "sha3", 2.5))
    plain = seen(3, ("last", "sha3", 0.0), ("last", "sha9", 6.0))
    assert doubtful_attempt(ONE_SAVE, story(attempt(), attempt(1), attempt(1), seen=[*slow, *plain])) is None


def test_a_log_beside_the_checkpoints_that_grows_does_not_say_where_an_attempt_began() -> None:
    sizes = {"last": {9}, "train.log": {9}}
    lines = [("train.log", f"at{n}", float(n)) for n in range(1, 6)]
    saves = [("last", f"sha{n}", float(n)) for n in (2, 4)]
    reference = story(attempt(), seen=seen(1, *lines, *saves), sizes=sizes)
    restored = (("last", "sha2", 0.0), ("train.log", "other", 0.0))
    grown = (("train.log", f"other{n}", float(n)) for n in range(1, 9))
    gone_on = seen(2, *restored, *grown, ("last", "sha4", 2.0))
    told = story(attempt(), attempt(2), commits=[commit(1, 1), commit(1, 2)], seen=gone_on)
    assert wrongs(told, reference) == []
    assert doubtful_attempt(reference, told) is None


def test_a_torn_file_is_reported_with_its_size() -> None:
    told = story(attempt(), torn=Torn("last.pt", 100, 250))
    (problem,) = problems_of(REFERENCE, told, 30.0)
    assert problem.wrong is Wrong.TORN
    assert "100 bytes of at least 250" in problem.words


def test_a_trainer_that_had_to_be_ended_after_its_notice_ran_on() -> None:
    assert wrongs(noticed(137, 22.0)) == [Wrong.RAN_ON]
    assert wrongs(noticed(None, 30.0)) == [Wrong.RAN_ON]
    assert wrongs(noticed(0, 20.0)) == [Wrong.RAN_ON]


def test_a_trainer_that_left_in_any_way_did_not_run_on() -> None:
    for exit_code in (75, 143, 1, 0):
        assert wrongs(noticed(exit_code, 1.0)) == []


def test_steps_that_were_lost_although_there_was_a_notice_are_the_librarys_users_to_know() -> None:
    assert wrongs(noticed(75, 1.0, steps_lost=7, by_library=True)) == [Wrong.LOST_STEPS]
    assert wrongs(noticed(143, 1.0, steps_lost=7, by_library=False)) == []


def test_a_job_that_did_not_succeed_is_reported_with_its_attempt_and_reason() -> None:
    told = story(attempt(), attempt(40, exit_code=1), state=State.FAILED, reason="the trainer exited with 1")
    (problem,) = problems_of(REFERENCE, told, 30.0)
    assert problem.wrong is Wrong.FAILED
    assert "attempt 2, which began with the checkpoint of step 40, failed: the trainer exited with 1" in problem.words
    assert "--attempt 2" in problem.hint


class Runs:
    """A runner whose jobs have happened already."""

    notice_seconds = 30.0

    def __init__(self, *stories: Story) -> None:
        self.stories = [*stories]
        self.hurries: list[float] = []
        self.said: list[str] = []

    def run(self, *given: Any, hurry: float = 1.0) -> Story:
        self.hurries.append(hurry)
        return self.stories.pop(0)

    def report(self, line: str) -> None:
        self.said.append(line)


def prepared(runs: Runs) -> Prepared:
    return Prepared(cast(Any, runs), Path("drills/x"), REFERENCE, None, ALL_TO_THE_BIT)


MISSED = Kill(2, Kind.SUDDEN)


def test_a_training_that_ended_before_its_kills_is_killed_once_more_and_sooner() -> None:
    runs = Runs(story(attempt(), missed=MISSED), story(attempt(), attempt(3)))
    assert prepared(runs)._run(Plan()).missed is None
    assert runs.hurries[0] < runs.hurries[1]
    assert "before kill 2 (without notice) was made: once more" in runs.said[0]


def test_one_that_ends_before_its_kills_twice_is_too_short() -> None:
    runs = Runs(story(attempt(), missed=MISSED), story(attempt(), missed=MISSED))
    with pytest.raises(TooShort, match=r"ended before kill 2 \(without notice\)"):
        prepared(runs)._run(Plan())


def test_what_a_script_was_seen_to_do_wrong_is_said_although_it_ended_before_its_kills() -> None:
    torn = story(attempt(), missed=MISSED, torn=Torn("last.pt", 100, 250))
    assert prepared(Runs(torn))._run(Plan()) is torn
