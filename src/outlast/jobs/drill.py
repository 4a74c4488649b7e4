"""Drill: a training once in peace and once with its machines killed, and whether anybody could tell the difference."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from outlast.dataclass import dataclass, replace
from outlast.errors import OutlastError, UsageError
from outlast.folder.folder import nonce
from outlast.jobs.asked import Asked
from outlast.jobs.drill_evidence import doubtful_attempt, problems_of
from outlast.jobs.drill_like import asked_like, with_inputs
from outlast.jobs.drill_plan import KILLS_DEFAULT, Course, Kill, Plan, TooShort, check_kills, plan_kills
from outlast.jobs.drill_probe import choose_steps
from outlast.jobs.drill_runner import NOTICE_SECONDS, Runner
from outlast.jobs.drill_story import Story
from outlast.jobs.drill_verdict import DrillResult, Problem, blame, file_names, tell
from outlast.jobs.plan import ENGINE_DEFAULT
from outlast.jobs.pull import pull
from outlast.jobs.world import World
from outlast.results.compare.directories import Comparison, compare_directories, unfit
from outlast.spec.names import name_of_target
from outlast.spec.progress import OnProgress, silent

SEEDS = 1 << 32
HURRY = 4.0
"""So many times faster than its reference a training is taken to be that ended before its kills were made."""

SURVIVED = "survived"
"""Marks the directory of a drill that nobody needs to look at: the next drill removes it."""


def drill(
    world: World,
    asked: Asked,
    *,
    kills: int = KILLS_DEFAULT,
    seed: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    compare: Sequence[str] = (),
    ignore: Sequence[str] = (),
    tolerance: float | None = None,
    like: str | None = None,
    notice_seconds: float = NOTICE_SECONDS,
    report: Callable[[str], None] = lambda line: None,
    on_progress: OnProgress = silent,
) -> DrillResult:
    """`TooShort` (a UsageError) where nothing can be proved; any other end is in the result."""
    if steps is not None and seconds is not None:
        raise UsageError("`--steps` and `--for` exclude each other", hint="give one of them")
    if steps is not None and steps < 1:
        raise UsageError(f"`--steps {steps}` leaves no step to drill")
    if tolerance is not None and not tolerance >= 0:
        raise UsageError(f"`--tolerance {tolerance}` is not a number from 0 on")
    check_kills(kills)
    asked = asked_like(world, asked, like)
    seed = world.random.randrange(SEEDS) if seed is None else seed
    prepared = prepare(
        world,
        asked,
        like=like,
        steps=steps,
        seconds=seconds,
        kills=kills,
        compared=Compared(tuple(compare), tuple(ignore), tolerance),
        notice_seconds=notice_seconds,
        report=report,
        on_progress=on_progress,
    )
    try:
        result = prepared.kill(kills, seed)
    except TooShort:
        prepared.remove()
        raise
    if result.survived:
        prepared.tidy(result)
        report(f"Results: `{result.directory}`")
    else:
        report(f"Everything is kept in `{prepared.directory}`")
    return result


@dataclass(frozen=True)
class Compared:
    """What is compared, and how closely."""

    compare: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    tolerance: float | None = None

    def check(self, reference: Path) -> None:
        """A pattern with a slip in it would compare nothing, and nothing is always the same."""
        option, paths = unfit(reference, self.compare, self.ignore)
        if option:
            raise UsageError(
                f"`{option}` {'fits no file' if option.startswith('--compare') else 'leaves no file to compare'}",
                hint=f"there are {file_names(paths)}",
            )

    def directories(self, reference: Path, other: Path) -> Comparison:
        return compare_directories(reference, other, compare=self.compare, ignore=self.ignore, tolerance=self.tolerance)


ALL_TO_THE_BIT = Compared()


@dataclass
class Prepared:
    """A reference that has run; it can be drilled with one seed after another."""

    runner: Runner
    directory: Path
    reference: Story
    steps_max: int | None
    compared: Compared

    def kill(self, kills: int, seed: int) -> DrillResult:
        report = self.runner.report
        plan = plan_kills(_course(self.reference), kills, Random(seed))
        report(f"The same with {kills} {'kill' if kills == 1 else 'kills'} (`--seed {seed}`)")
        story = self._run(plan)
        problems = self._problems(story)
        comparison: Comparison | None = None
        if story.succeeded:
            results = self._results(story)
            comparison = self.compared.directories(self._results(self.reference), results)
            if not comparison.same:
                problems += blame(comparison, self._repeated())
            elif not problems:
                self._check_certain(story)
        result = DrillResult(
            survived=comparison is not None and comparison.same and not problems,
            identical=comparison is not None and comparison.identical,
            kills=len(story.killed),
            attempts=len(story.head.attempts),
            steps_lost=_steps_lost(story),
            goodput=story.status.goodput.document()["ratio"],
            problems=tuple(problems),
            directory=str(self.directory / story.job.id),
        )
        tell(result, comparison, report)
        return result

    def _run(self, plan: Plan) -> Story:
        """One that ended before all its kills were made, and does nothing wrong, was faster than its reference, or is too short."""
        story = self.runner.run(plan, self.steps_max, self.reference)
        if story.missed is None or self._problems(story):
            return story
        self.runner.report(f"It ended before {_named(story.missed)} was made: once more, with earlier kills")
        story = self.runner.run(plan, self.steps_max, self.reference, hurry=HURRY)
        if story.missed is None or self._problems(story):
            return story
        raise TooShort(
            f"too short to drill: it ended before {_named(story.missed)} could be made",
            hint="let it train longer, save more often, or ask for fewer `--kills`; another `--seed` kills at other moments",
        )

    def _check_certain(self, story: Story) -> None:
        attempt = doubtful_attempt(self.reference, story)
        if attempt is not None:
            raise TooShort(
                f"too short to drill: attempt {attempt}, which began with a save, saved as one that begins at zero would; whether it did, "
                "so few saves do not tell",
                hint="save more often, so that several saves come before a kill; does it look for its newest checkpoint when it starts?",
            )

    def _problems(self, story: Story) -> list[Problem]:
        return problems_of(self.reference, story, self.runner.notice_seconds)

    def check_compared(self) -> None:
        if (self.compared.compare or self.compared.ignore) and self.reference.head.checkpoints:
            self.compared.check(self._results(self.reference))

    def _results(self, story: Story) -> Path:
        """The final checkpoint and outputs of a job, in a directory of this drill."""
        directory = self.directory / story.job.id
        pull(story.job, to=str(directory))
        return directory

    def _repeated(self) -> Comparison:
        self.runner.report("A difference: running the reference again, to see whether it repeats itself")
        again = self.runner.run(Plan(), self.steps_max)
        if not again.succeeded:
            raise OutlastError(f"the reference succeeded once and then {again.head.state.value}: {again.head.reason}")
        return self.compared.directories(self._results(self.reference), self._results(again))

    def remove(self) -> None:
        _remove(self.runner.world, self.directory)

    def tidy(self, result: DrillResult) -> None:
        """Only the results of the killed training stay, and those until the next drill."""
        (self.directory / SURVIVED).touch()
        for path in self.directory.iterdir():
            if path.is_dir() and str(path) != result.directory:
                shutil.rmtree(path, ignore_errors=True)
        self.runner.world.forget_home(self.reference.job.home)


def prepare(
    world: World,
    asked: Asked,
    *,
    like: str | None = None,
    kills: int = KILLS_DEFAULT,
    steps: int | None = None,
    seconds: float | None = None,
    compared: Compared = ALL_TO_THE_BIT,
    notice_seconds: float = NOTICE_SECONDS,
    report: Callable[[str], None] = lambda line: None,
    on_progress: OnProgress = silent,
) -> Prepared:
    """Runs the reference, in a home of its own inside the user's directory."""
    engine = world.engine(asked.on or ENGINE_DEFAULT)
    if not engine.capabilities.preempts:
        raise UsageError(f"the engine `{engine.name}` cannot be drilled", hint=f"`--on {ENGINE_DEFAULT}` can")
    if engine.capabilities.rents:
        raise UsageError(
            f"a drill comes before anything is paid for, and `{engine.name}` rents its machines",
            hint=f"`--on {ENGINE_DEFAULT}`: what survives here survives there",
        )
    directory = _new_directory(world, asked)
    name = asked.name or name_of_target(asked.target)
    try:
        asked = with_inputs(world, asked, like, directory)
        asked = replace(asked, home=str(directory / "home"), name=name, job_id=None, notify=())
        runner = Runner(world, asked, report, notice_seconds, on_progress)
        steps = choose_steps(runner, seconds, kills) if seconds is not None else steps
        prepared = Prepared(runner, directory, _run_reference(runner, steps), steps, compared)
        prepared.check_compared()
        return prepared
    except OutlastError as error:
        if isinstance(error, UsageError) or not (directory / "home" / "jobs").exists():
            _remove(world, directory)
        raise


def _run_reference(runner: Runner, steps: int | None) -> Story:
    runner.report(f"Reference: `{runner.asked.target}` without a kill")
    reference = runner.run(Plan(), steps)
    head = reference.head
    if not reference.succeeded:
        raise OutlastError(
            f"the reference itself {head.state.value}, without any kill: {head.reason}",
            state=f"everything is kept in `{runner.asked.home}`",
            hint=f"`outlast logs {reference.job.folder_url}` shows what it said",
        )
    course = _course(reference)
    if steps is not None and course.steps is None:
        raise UsageError(
            "`--steps` caps `outlast.steps` and `outlast.batches` from outside, and this script has no such loop",
            hint="leave `--steps` out, and give the script fewer steps in its own arguments behind `--`",
        )
    trained = f"{course.steps:,} steps" if course.steps is not None else "trained"
    runner.report(f"  {trained} in {course.seconds:.1f} s")
    return reference


def _named(kill: Kill) -> str:
    return f"kill {kill.attempt} ({kill.kind.value})"


def _course(reference: Story) -> Course:
    last = reference.head.checkpoints[-1] if reference.head.checkpoints else None
    loop = last is not None and last.complete
    return Course(
        seconds=reference.seconds,
        steps=last.step if last is not None and loop else None,
        commit_seconds=tuple(commit.seconds for commit in reference.commits if commit.seconds < reference.seconds),
        first_save_seconds=min(
            (seen.seconds for seen in reference.seen if seen.path in reference.sizes and not reference.by_library),
            default=None,
        ),
        saves_by_library=reference.by_library,
    )


def _new_directory(world: World, asked: Asked) -> Path:
    """Beside it, the drills of before that were survived are removed."""
    drills = world.user_dir / "drills"
    drills.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in drills.iterdir():
        if (old / SURVIVED).exists():
            shutil.rmtree(old, ignore_errors=True)
    directory = drills / f"{name_of_target(asked.target)}-{nonce(world.random)[:6]}"
    directory.mkdir(mode=0o700)
    return directory


def _remove(world: World, directory: Path) -> None:
    world.forget_home(world.home(str(directory / "home")))
    shutil.rmtree(directory, ignore_errors=True)


def _steps_lost(story: Story) -> int | None:
    """None: nobody counted them. A script that says at which step it is does so by the library."""
    lost = [attempt.steps_lost for attempt in story.head.attempts.values()]
    known = [steps for steps in lost if steps is not None]
    return sum(known) if story.by_library and len(known) == len(lost) else None
