"""How a loop begins: anew, where an earlier life has left it, or not at all because it is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from outlast.errors import OutlastError
from outlast.training import disk, ranks
from outlast.training.encode import Encoder
from outlast.training.fielded import fielded
from outlast.training.history import loops_in, open_document
from outlast.training.save import EndedLoop, Position
from outlast.training.say import say
from outlast.training.state import State, encode_parts

if TYPE_CHECKING:
    from outlast.training.context import Context

IsOver = Callable[[EndedLoop], bool]
"""Whether a loop that stands there has come to its end."""

MoveData = Callable[[int, dict[str, Any]], bool]
"""Brings the data to an epoch and to the place in it that was saved; tells whether the loader was asked for batches."""


@fielded(frozen=True)
class Resumed:
    position: Position
    over: bool


def restore_loop(here: Context, past: EndedLoop, state: State | None, is_over: IsOver, move_data: MoveData) -> Resumed:
    """Brings state, generators and data to where that loop was saved."""
    history = here.history
    # One that has more behind it than is asked for now still has to come to its end, which is a save.
    over = past.left or (is_over(past) and not history.is_open(past))
    # If the state with which a loop was left by `break` could not be kept, that of the loop after it comes nearest.
    folder = past.folder or history.loops[-1].folder
    if not over:
        history.forget_after(past.name)
    position = Position(past.step, past.epoch)
    if folder is None:
        return Resumed(position, over)
    with open_document(folder) as document:
        if state is not None and "parts" in document.content:
            document.restore(vars(state), resuming=not (here.attempt.allow_changed or here.attempt.adopted))
        if not over and move_data(position.epoch, document.data()) and state is not None:
            document.restore_again(vars(state))
        if ranks.shares_generators(folder, here.attempt):
            document.restore_generators()
    if not over:
        say(f"resumed the loop `{past.name}` at step {position.step} (attempt {history.attempt})")
    return Resumed(position, over)


def adopt(here: Context, name: str, state: State) -> None:
    """`run --from`: the parts of another job's state, and nothing else of it: this job's own steps begin at zero."""
    found = disk.list_adopted(here.checkpoint_dir)
    if not found:
        return
    loops = loops_in(found[0])
    chosen = next((one for one in loops if one.name == name), loops[-1] if loops else None)
    if chosen is None or chosen.folder is None:
        return
    with open_document(chosen.folder) as document:
        if "parts" in document.content:
            document.restore(vars(state))
            say(f"began the loop `{name}` with the state of another job, as it was at step {chosen.step}")


def refuse_inside(name: str, outer: str) -> None:
    raise OutlastError(
        f"the loop `{name}` begins inside the body of the loop `{outer}` with a state of its own, which could not be kept: "
        f"only the outermost loop saves\n\nhint: give the state to `{outer}`, or end that loop first (`.stop()`)"
    )


def refuse_beside(name: str, other: str) -> None:
    raise OutlastError(
        f"the loop `{name}` begins in another thread while the loop `{other}` runs: each would save what the other is in the middle of"
        "\n\nhint: one process trains one loop at a time; run them one after the other, or as two jobs"
    )


def refuse_thread(name: str) -> None:
    raise OutlastError(
        f"the loop `{name}` is gone through by another thread than the one that made it: it would save in the middle of a body"
        "\n\nhint: make the loop where its bodies run; a thread that loads ahead belongs into the loader that outlast.batches gets"
    )


def note_again(before: EndedLoop) -> None:
    """A second loop of one name in one process: nothing is left of it, or it cannot be told from the first."""
    if before.left:
        raise OutlastError(
            f"the loop `{before.name}` was left by `break` and is begun again in the same process"
            "\n\nhint: give the second loop another name: outlast.steps(..., name=...)"
        )
    say(f"warning: the loop `{before.name}` is over and yields nothing; give another loop another name (name=...)")


def note_unseen(here: Context, name: str) -> None:
    """The checkpoint is of loops that the script has not come to: it may have been changed."""
    passed = {one.name for one in here.ended}
    unseen = [f"`{one.name}`" for one in here.history.loops if one.name not in passed]
    if unseen:
        say(
            f"warning: the checkpoint is of the loop {', '.join(unseen)}; the loop `{name}` is not in it and begins at step 0"
        )


def first_look(here: Context, state: State, step: int) -> None:
    """Remembers the arrays that the script itself has to keep up to date: see unchanged.py."""
    encoder = Encoder()
    plain = {name: part for name, part in vars(state).items() if not callable(getattr(part, "state_dict", None))}
    encode_parts(encoder, plain)
    here.saver.unchanged.first_look(encoder.leaves, step)
