"""What a drill found: the result, and what a script does wrong, in words."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from outlast.dataclass import dataclass, replace
from outlast.errors import EXIT_DONE, EXIT_FAILED
from outlast.pattern import pattern
from outlast.results.compare.directories import IN_OTHER, IN_REFERENCE, PRESENCE, Comparison, describe

FILES_NAMED_MAX = 8

_LAST_STEP = pattern(r"checkpoint/step-(\d+)/")


class Wrong(enum.Enum):
    BEGAN_AT_ZERO = "began at zero"
    TORN = "torn file"
    RAN_ON = "ran on"
    LOST_STEPS = "lost steps"
    NOT_DETERMINISTIC = "not deterministic"
    RESUMES_DIFFERENTLY = "resumes differently"
    OTHER_LAST_STEP = "another last step"
    FAILED = "failed"


@dataclass(frozen=True)
class Problem:
    wrong: Wrong
    words: str
    hint: str = ""
    brief: str = ""
    """The words without what the report has listed already."""

    def document(self) -> dict[str, str]:
        return {"wrong": self.wrong.value, "words": self.words, "hint": self.hint}


@dataclass(frozen=True)
class DrillResult:
    survived: bool
    identical: bool
    kills: int
    attempts: int
    steps_lost: int | None
    """None: unknown, the script does not say at which step it is."""

    goodput: float | None
    problems: tuple[Problem, ...]
    directory: str
    """Where the final checkpoint and outputs of the killed training are."""

    @property
    def exit_code(self) -> int:
        return EXIT_DONE if self.survived else EXIT_FAILED

    def document(self) -> dict[str, Any]:
        """The object of `drill --json`."""
        return {
            "survived": self.survived,
            "identical": self.identical,
            "kills": self.kills,
            "attempts": self.attempts,
            "steps_lost": self.steps_lost,
            "goodput": self.goodput,
            "problems": [problem.document() for problem in self.problems],
        }


def blame(killed: Comparison, repeated: Comparison) -> list[Problem]:
    """Whose fault a difference is: `repeated` compares the reference with itself, run a second time without any kill."""
    elsewhere = _last_steps(killed) or _last_steps(repeated)
    problems = []
    if elsewhere is not None:
        problems.append(_other_last_step(*elsewhere))
        killed, repeated = _without_checkpoints(killed), _without_checkpoints(repeated)
    restless = {file.path for file in repeated.differences}
    if restless:
        names = file_names(sorted(restless))
        problems.append(
            Problem(
                Wrong.NOT_DETERMINISTIC,
                f"your script is not deterministic: run twice without a kill, it made different {names}",
                "seed every generator (and on a GPU ask for deterministic algorithms); `--ignore GLOB` leaves files out that "
                "hold times or names, `--tolerance X` lets small differences of numbers pass",
            )
        )
    unlike = [file for file in killed.differences if file.path not in restless]
    if unlike:
        listed = "; ".join(describe(file) for file in unlike[:FILES_NAMED_MAX])
        more = f"; and {len(unlike) - FILES_NAMED_MAX} more" if len(unlike) > FILES_NAMED_MAX else ""
        told = "it does not resume as it was: twice without a kill it made the same, after the kills another"
        problems.append(
            Problem(
                Wrong.RESUMES_DIFFERENTLY,
                f"{told}: {listed}{more}",
                "save and restore all that the training depends on: model, optimiser, schedule, generators, position in the data",
                brief=f"{told} {file_names(sorted(file.path for file in unlike))}",
            )
        )
    return problems


def _last_steps(compared: Comparison) -> tuple[int, int] | None:
    """Of the reference and of the other, where they ended with checkpoints of different steps: nothing of these can be compared."""
    steps: dict[str, int] = {}
    for file in compared.differences:
        named = _LAST_STEP.match(file.path)
        if named is not None and file.rule == PRESENCE:
            steps[file.difference] = int(named[1])
    return (steps[IN_REFERENCE], steps[IN_OTHER]) if len(steps) == 2 else None


def _without_checkpoints(compared: Comparison) -> Comparison:
    return replace(compared, files=tuple(file for file in compared.files if _LAST_STEP.match(file.path) is None))


def _other_last_step(one: int, other: int) -> Problem:
    return Problem(
        Wrong.OTHER_LAST_STEP,
        f"its last checkpoints are of different steps, {one:,} and {other:,}, and cannot be compared: nothing is saved when the "
        "training is complete",
        "save once more at the very end, as `outlast.steps` does; `--ignore 'checkpoint/*'` compares the outputs alone",
    )


def file_names(paths: list[str]) -> str:
    named = ", ".join(f"`{path}`" for path in paths[:FILES_NAMED_MAX])
    return named if len(paths) <= FILES_NAMED_MAX else f"{named} and {len(paths) - FILES_NAMED_MAX} more"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def tell(result: DrillResult, comparison: Comparison | None, report: Callable[[str], None]) -> None:
    goodput = "" if result.goodput is None else f", goodput {result.goodput:.0%}"
    lost = "steps lost unknown" if result.steps_lost is None else f"{counted(result.steps_lost, 'step')} lost"
    report(
        f"{'Survived' if result.survived else 'Not survived'}: {counted(result.kills, 'kill')}, "
        f"{counted(result.attempts, 'attempt')}, {lost}{goodput}"
    )
    if comparison is not None:
        _tell_comparison(comparison, report)
    for problem in result.problems:
        report(f"problem: {problem.brief or problem.words}")
        if problem.hint:
            report(f"  hint: {problem.hint}")


def _tell_comparison(comparison: Comparison, report: Callable[[str], None]) -> None:
    count = len(comparison.files)
    what = (
        f"final checkpoint and outputs, {count} {'file' if count == 1 else 'files'}, compared by {comparison.rules()}"
    )
    if comparison.identical:
        report(f"Bit-identical to the uninterrupted training: {what}")
    else:
        report(f"{'The same within the tolerance' if comparison.same else 'Different'}: {what}")
    notable = [file for file in comparison.files if file.difference or file.within is not None]
    quiet = [file for file in comparison.files if file not in notable]
    for file in [*notable, *quiet][: max(FILES_NAMED_MAX, len(notable))]:
        report(f"  {describe(file)}")
    if comparison.left_out:
        report(f"  left out: {file_names(list(comparison.left_out))}")
