"""What a killed job's story says against its script: pure functions from two stories to problems."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.dataclass import dataclass
from outlast.folder.records import Attempt, State
from outlast.jobs.drill_plan import Kind
from outlast.jobs.drill_story import Killed, Seen, Story
from outlast.jobs.drill_verdict import Problem, Wrong, counted
from outlast.machine.settle import has_log_name

EXIT_ENDED = 128 + 9
"""SIGKILL: the trainer had to be ended."""

ONE_MOMENT_SECONDS = 0.3
AS_LONG_SHARE = 0.7
SAVES_BEFORE_MIN = 2
"""Where saves are counted, so many must be missing from those of an attempt that resumes: one alone may not have been seen."""


def problems_of(reference: Story, story: Story, notice_seconds: float) -> list[Problem]:
    found = [_began_at_zero(reference, story), _torn(story), _failed(story)]
    for killed in story.killed:
        if killed.kill.kind is Kind.NOTICED:
            found.append(_ran_on(story, killed, notice_seconds) or _lost_steps(story, killed))
    return [problem for problem in found if problem is not None]


def _began_at_zero(reference: Story, story: Story) -> Problem | None:
    """A resumed attempt that saves what the reference had saved before the restored checkpoint has begun before it."""
    for number in sorted(story.head.attempts, key=int):
        restored = story.head.attempts[number].resumed_from_step
        if restored is None:
            continue
        first = next((commit.step for commit in story.commits if commit.attempt == int(number)), restored)
        again = first < restored if story.by_library else _again(reference, story, int(number)).began_at_zero
        enough = not story.by_library and _saves_before(story, int(number)) >= SAVES_BEFORE_MIN
        as_often = enough and _saves_as_often(reference, story, int(number))
        if again or as_often:
            did = "again what" if again else "as often as"
            before = "had saved before that checkpoint" if again else "from its beginning to its end"
            return Problem(
                Wrong.BEGAN_AT_ZERO,
                f"attempt {number} began at zero although a checkpoint was there: it saved {did} the uninterrupted training {before}",
                'look for the newest checkpoint when the script starts and go on from it; `--resume-args "--resume PATH"` '
                "adds arguments to attempts that begin with one",
            )
    return None


@dataclass(frozen=True)
class _Again:
    """Of a script that saves by itself: what an attempt saved that the reference had saved, and when that had."""

    older: list[tuple[str, float]]
    """Path and the reference's seconds, of what that saved before the checkpoint that was restored."""

    same: list[tuple[str, float]]
    """Of the restored save itself, if it was as long in coming; one that is made at once is only made once more."""

    newer: bool
    versions: Mapping[str, int]

    @property
    def began_at_zero(self) -> bool:
        if any(self.versions[path] > 1 for path, _ in self.older):
            return True
        # Files that never change (a configuration, a vocabulary) are written again at every start: all at one moment.
        moments = [seconds for _, seconds in (*self.older, *self.same)]
        return bool(moments) and max(moments) - min(moments) > ONE_MOMENT_SECONDS


def _again(reference: Story, story: Story, attempt: int) -> _Again:
    """By the content of its files."""
    first_seconds: dict[tuple[str, str], float] = {}
    last_seconds: dict[tuple[str, str], float] = {}
    versions: dict[str, int] = {}
    for seen in reference.seen:
        if not seen.digest:
            continue  # caught between two contents, by chance
        if (seen.path, seen.digest) not in first_seconds:
            first_seconds[seen.path, seen.digest] = seen.seconds
            versions[seen.path] = versions.get(seen.path, 0) + 1
        last_seconds[seen.path, seen.digest] = seen.seconds
    mine = [seen for seen in story.seen if seen.attempt == attempt and (seen.path, seen.digest) in first_seconds]
    restored_seconds = max((first_seconds[one.path, one.digest] for one in mine if not one.seconds), default=0.0)
    written = [
        (one, first_seconds[one.path, one.digest], last_seconds[one.path, one.digest]) for one in mine if one.seconds
    ]
    return _Again(
        # Whatever comes again with every save (the first bytes of a file that is written in place) says nothing.
        older=[(one.path, first) for one, first, last in written if last < restored_seconds],
        same=[
            (one.path, first)
            for one, first, last in written
            if one.seconds >= restored_seconds * AS_LONG_SHARE > 0 and last == restored_seconds
        ],
        newer=any(first > restored_seconds for _, first, _ in written),
        versions=versions,
    )


def doubtful_attempt(reference: Story, story: Story) -> int | None:
    """One that made the save again with which it began, as late as the reference: from zero, or from there after a slow start.

    None where another attempt tells: it made what comes behind its save, and not that save again. Where each save is another one, their
    number is all there is to go by.
    """
    if story.by_library:
        return None
    doubtful: int | None = None
    for number in sorted(map(int, story.head.attempts)):
        if story.head.attempts[str(number)].resumed_from_step is None:
            continue
        if not _knows_all_restored(reference, story, number):
            doubtful = doubtful or (number if _saves_as_often(reference, story, number) else None)
            continue
        again = _again(reference, story, number)
        if again.same:
            doubtful = doubtful or number
        elif again.newer:
            return None
    return doubtful


def _knows_all_restored(reference: Story, story: Story, attempt: int) -> bool:
    known = {(seen.path, seen.digest) for seen in reference.seen}
    restored = [seen for seen in story.seen if seen.attempt == attempt and not seen.seconds]
    return all((seen.path, seen.digest) in known for seen in restored if _is_save(reference, seen))


def _saves_as_often(reference: Story, story: Story, attempt: int) -> bool:
    """Where each save is another one (it holds a time), by their number: of the last attempt, which was left in peace."""
    in_peace = attempt == story.head.attempt and all(killed.kill.attempt < attempt for killed in story.killed)
    if not in_peace or _knows_all_restored(reference, story, attempt):
        return False
    return _saves(story, attempt, reference) >= _saves(reference, reference.head.attempt, reference)


def _saves_before(story: Story, attempt: int) -> int:
    """At least so many the attempt need not make again, if it resumes."""
    return sum(1 for commit in story.commits if commit.attempt < attempt)


def _is_save(reference: Story, seen: Seen) -> bool:
    """A file that was committed, and no log: what is only there to be renamed, and how often a log grew, is seen by chance."""
    return seen.path in reference.sizes and not has_log_name(seen.path)


def _saves(story: Story, attempt: int, reference: Story) -> int:
    return sum(
        1
        for seen in story.seen
        if seen.attempt == attempt and seen.seconds and seen.digest and _is_save(reference, seen)
    )


def _torn(story: Story) -> Problem | None:
    if story.torn is None:
        return None
    torn = story.torn
    whole = f" of at least {torn.whole_bytes:,}" if torn.bytes < torn.whole_bytes else ""
    return Problem(
        Wrong.TORN,
        f"`{torn.path}` is written in place and was caught torn, with {torn.bytes:,} bytes{whole}: a machine that dies at "
        "that moment leaves a checkpoint that cannot be read",
        "write to another name in the same directory and then `os.replace` it into place",
    )


def _failed(story: Story) -> Problem | None:
    head = story.head
    if head.state is State.SUCCEEDED:
        return None
    last = head.attempts.get(str(head.attempt))
    began = (
        ""
        if last is None or last.resumed_from_step is None
        else f", which began with the checkpoint of step {last.resumed_from_step:,},"
    )
    return Problem(
        Wrong.FAILED,
        f"attempt {head.attempt}{began} {head.state.value}: {head.reason or 'no reason is recorded'}",
        f"`outlast logs {story.job.folder_url} --attempt {head.attempt}` shows what it said",
    )


def _attempt(story: Story, killed: Killed) -> Attempt:
    return story.head.attempts[str(killed.kill.attempt)]


def _ran_on(story: Story, killed: Killed, notice_seconds: float) -> Problem | None:
    attempt = _attempt(story, killed)
    finished = attempt.exit_code == 0 and killed.ran_on
    if attempt.exit_code not in (None, EXIT_ENDED) and not finished:
        return None
    return Problem(
        Wrong.RAN_ON,
        f"attempt {killed.kill.attempt} ran on after the notice: it was told to leave and had not left after "
        f"{min(killed.leaving_seconds, notice_seconds):.0f} s",
        "`outlast.steps` and `outlast.batches` leave by themselves between two steps; any other script should save and exit "
        "on SIGTERM, or at least not ignore it",
    )


def _lost_steps(story: Story, killed: Killed) -> Problem | None:
    """With the library a notice costs nothing: it saves before it leaves."""
    attempt = _attempt(story, killed)
    if not story.by_library or not attempt.steps_lost or attempt.exit_code == 0:
        return None
    return Problem(
        Wrong.LOST_STEPS,
        f"attempt {killed.kill.attempt} lost {counted(attempt.steps_lost, 'step')} although it had a notice: it left without saving",
        "a save must fit into the time that a notice gives; let `outlast.steps` decide when to leave",
    )
