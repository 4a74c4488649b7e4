"""What remains of a loop that is over: later saves name it, so that it yields nothing when the script runs it again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from outlast.training import disk, memory
from outlast.training.disk import remove_tree
from outlast.training.fielded import fielded, replace
from outlast.training.save import EndedLoop, Save, encode_state, snapshot, write_save
from outlast.training.say import say

if TYPE_CHECKING:
    from outlast.training.context import Context
    from outlast.training.loop import Loop


def remember(here: Context, ended: EndedLoop) -> None:
    """Holds on to the state that the loop ended with: its checkpoint will be removed, but the work below it needs it again."""
    here.ended.append(_hold(here, ended, len(here.ended)))
    here.mark_loop(False)


def _hold(here: Context, ended: EndedLoop, index: int) -> EndedLoop:
    assert here.run_dir is not None
    if ended.folder is None:
        return ended
    own = f"ended-{here.attempt.rank}" if here.quiet else "ended"
    held = here.run_dir / own / f"{index:03d}"
    remove_tree(held)
    disk.link_state(ended.folder, held)
    return replace(ended, folder=held)


LEFT_BYTES_MAX = 1 << 30
"""A larger state is not held in memory for a loop that may never come."""


@fielded(frozen=True)
class Left:
    """The state of a loop at the moment in which it was left by `break`."""

    save: Save
    content: bytearray | None
    """None: it was too large."""


def take_left(loop: Loop) -> None:
    """A copy in memory, written only if another loop follows: the code between the two shall see this state again."""
    here = loop.context
    if loop.state is None or here.attempt.workers > 1 or sys.is_finalizing():
        return
    parts = vars(loop.state)
    encoded = encode_state(
        loop=loop.name, position=loop.position, data={}, stopped=False, parts=parts, ended=(), flags={}
    )
    size, content = encoded.plan.data_bytes, None
    if size <= LEFT_BYTES_MAX and memory.fits(size):
        content = bytearray(size)
        snapshot(encoded.plan, memoryview(content))
    plan = replace(encoded.plan, leaves=tuple(replace(leaf, value=None) for leaf in encoded.plan.leaves))
    here.left[loop.name] = Left(Save(loop.steps_done, encoded.texts, plan), content)


def keep_left(here: Context) -> None:
    """Another loop begins: its saves have the state with which the ones before it were left."""
    assert here.run_dir is not None
    for index, one in enumerate(here.ended):
        left = here.left.pop(one.name, None)
        if left is None:
            continue
        if left.content is None:
            say(
                f"warning: the loop `{one.name}` was left by `break` with a state too large to be kept beside the training; "
                f"after a resume the code below it sees a later state\n\nhint: end `{one.name}` by `.stop()`"
            )
            continue
        pieces, folder = iter([memoryview(left.content)]), here.run_dir / "left"
        try:
            written = write_save(left.save, pieces, folder, attempt=0, number=0, watch=lambda _: None)
            here.ended[index] = _hold(here, replace(one, folder=written), index)
        except OSError as error:
            say(f"warning: the state that the loop `{one.name}` was left with could not be kept: {error}")
        remove_tree(folder)


def complete_script_save(loop: Loop, stopped: bool) -> None:
    """The script's checkpoint of the very end, if it made one, once more and marked complete."""
    saver = loop.context.saver
    saver.wait()
    found = disk.list_checkpoints(saver.folder, skip_damaged=True)
    if not found or loop.cadence.saved_step != loop.step:
        return
    saving = disk.new_saving_dir(saver.folder)
    disk.link_tree(found[0].path, saving)
    loop.pending = (saving, found[0].record.get("metrics") or {}, True)
    saver.save_and_wait(lambda: replace(loop.build(complete=True, stopped=stopped), step=found[0].step))
    loop.pending = None
