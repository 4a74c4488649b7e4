"""What remains of a loop that is over: later saves name it, so that it yields nothing when the script runs it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast.training import disk
from outlast.training.disk import remove_tree
from outlast.training.fielded import replace
from outlast.training.save import EndedLoop

if TYPE_CHECKING:
    from outlast.training.context import Context
    from outlast.training.loop import Loop


def remember(here: Context, ended: EndedLoop) -> None:
    """Holds on to the state that the loop ended with: its checkpoint will be removed, but the work below it needs it again."""
    assert here.run_dir is not None
    if ended.folder is not None:
        own = f"ended-{here.attempt.rank}" if here.quiet else "ended"
        held = here.run_dir / own / f"{len(here.ended):03d}"
        remove_tree(held)
        disk.link_state(ended.folder, held)
        ended = replace(ended, folder=held)
    here.ended.append(ended)
    here.mark_loop(False)


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
