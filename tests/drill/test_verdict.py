"""A difference is blamed on the right cause, and the result is the documented object."""

from __future__ import annotations

from outlast.jobs.drill_verdict import DrillResult, Problem, Wrong, blame, tell
from outlast.results.compare.directories import IN_OTHER, IN_REFERENCE, PRESENCE, Comparison
from outlast.results.compare.rules import Compared


def comparison(*different: str, same: tuple[str, ...] = ()) -> Comparison:
    return Comparison(
        tuple(Compared(path, "bytes", "differs from byte 0 on") for path in different)
        + tuple(Compared(path, "bytes") for path in same)
    )


def test_what_differs_without_a_kill_too_is_not_deterministic() -> None:
    (problem,) = blame(comparison("outputs/model.pt"), comparison("outputs/model.pt"))
    assert problem.wrong is Wrong.NOT_DETERMINISTIC
    assert "`outputs/model.pt`" in problem.words
    assert "--ignore" in problem.hint


def test_what_differs_only_after_kills_does_not_resume() -> None:
    (problem,) = blame(comparison("outputs/model.pt"), comparison(same=("outputs/model.pt",)))
    assert problem.wrong is Wrong.RESUMES_DIFFERENTLY
    assert "`outputs/model.pt` differs" in problem.words


def test_each_file_is_blamed_on_its_own_cause() -> None:
    problems = blame(comparison("log.txt", "model.pt"), comparison("log.txt", same=("model.pt",)))
    assert [problem.wrong for problem in problems] == [Wrong.NOT_DETERMINISTIC, Wrong.RESUMES_DIFFERENTLY]
    assert "model.pt" not in problems[0].words
    assert "log.txt" not in problems[1].words


def test_checkpoints_of_different_steps_are_no_proof_that_it_does_not_resume() -> None:
    """A script that saves when `outlast.due()` says so has no checkpoint of its very end."""

    def ended(*ends: tuple[int, str]) -> Comparison:
        missing = (Compared(f"checkpoint/step-{step:012d}/w.json", PRESENCE, only) for step, only in ends)
        return Comparison((*missing, Compared("outputs/w.json", "bytes")))

    killed = ended((6, IN_REFERENCE), (57, IN_OTHER))
    for repeated in (ended(), ended((6, IN_REFERENCE), (8, IN_OTHER))):
        (problem,) = blame(killed, repeated)
        assert problem.wrong is Wrong.OTHER_LAST_STEP
        assert "6 and 57" in problem.words and "--ignore 'checkpoint/*'" in problem.hint
    (torn,) = blame(ended((6, IN_REFERENCE)), ended())
    assert torn.wrong is Wrong.RESUMES_DIFFERENTLY


def test_the_json_object_has_the_documented_fields_and_no_others() -> None:
    problem = Problem(Wrong.RAN_ON, "ran on", "leave")
    result = DrillResult(False, True, 3, 4, 57, 0.91, (problem,), "/somewhere")
    assert result.document() == {
        "survived": False,
        "identical": True,
        "kills": 3,
        "attempts": 4,
        "steps_lost": 57,
        "goodput": 0.91,
        "problems": [{"wrong": "ran on", "words": "ran on", "hint": "leave"}],
    }
    assert result.exit_code == 1
    assert DrillResult(True, True, 3, 4, 57, None, (), "").exit_code == 0


def test_steps_that_nobody_counted_are_not_called_none_and_one_is_one() -> None:
    said: list[str] = []
    for lost in (None, 0, 1, 1234):
        result = DrillResult(True, True, 1, 2, lost, None, (), "")
        assert result.document()["steps_lost"] == lost
        tell(result, None, said.append)
    assert [line.rpartition("attempts, ")[2] for line in said] == [
        "steps lost unknown", "0 steps lost", "1 step lost", "1,234 steps lost",
    ]  # fmt: skip
    assert said[0].startswith("Survived: 1 kill, 2 attempts")
