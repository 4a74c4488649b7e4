"""`checkpoint`: a folder that any framework can save into, and that is committed as one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any

from outlast.clock import SYSTEM
from outlast.errors import UsageError
from outlast.training import context, disk
from outlast.training.cadence import Cadence
from outlast.training.disk import remove_tree
from outlast.training.history import open_document
from outlast.training.metrics import holds_secret
from outlast.training.notice import read_notice
from outlast.training.save import Position, Save, encode_state

if TYPE_CHECKING:
    from outlast.training.context import Context
    from outlast.training.state import State


class Checkpoint(PosixPath):
    """A checkpoint on this machine: the path of its folder, which also knows what it is."""

    step: int
    metrics: dict[str, float]
    complete: bool

    def restore(self, state: State) -> None:
        """Brings a state back from it, outside of any loop: to evaluate a model, for example."""
        with open_document(Path(self)) as document:
            document.restore(vars(state))


@contextmanager
def checkpoint(
    step: int | None = None, *, metrics: Mapping[str, float] | None = None, wait: bool = False
) -> Iterator[Path]:
    """A new folder for the script's files; at the end of the block it is committed as one, or not at all if the block raises.

    `step` is what the checkpoint is called by; without it, the number of steps that are done when the body ends. It is written in the
    background; with `wait` it is on the disk when the block ends. In a loop without a state the loop begins after this body when
    it is resumed, so it belongs at the body's end; `outlast.latest_checkpoint()` finds it again. In a loop with a state the
    files go into the loop's own save at the end of the body. By hand the folder is thrown away.
    """
    here = context.current()
    here.own_checkpoints = True
    step = None if step is None else _whole(step)
    numbers = _numbers(metrics or {})
    if not here.kept() or here.checkpoint_dir is None:
        folder = context.scratch_dir("checkpoint")
        try:
            yield folder
        finally:
            remove_tree(folder)
        return
    here.arrive()
    saver = here.saver
    folder = disk.new_saving_dir(here.checkpoint_dir)
    try:
        yield folder
        _refuse_reserved(folder)
    except BaseException:
        remove_tree(folder)
        raise
    loop = here.active[0] if here.active else None
    if loop is not None and loop.state is not None:
        loop.save_folder(folder, numbers, wait)
        return
    save = _build(here, folder, step, numbers)
    saver.wait()
    if wait or not saver.save_behind(lambda: save):
        saver.save_and_wait(lambda: save)
    if loop is not None:
        loop.script_saved()
    _cadence(here).saved(SYSTEM.monotonic(), -1)


def _build(here: Context, folder: Path, step: int | None, numbers: dict[str, float]) -> Save:
    loop = here.active[0] if here.active else None
    position = Position(loop.step + 1, loop.position.epoch) if loop is not None else None
    encoded = encode_state(
        loop=None if loop is None else loop.name,
        position=position,
        data={} if loop is None else loop.data(),
        stopped=False,
        parts=None,
        ended=tuple(here.ended),
        flags=here.flags,
    )
    if step is None:
        found = disk.list_checkpoints(here.saver.folder, skip_damaged=True)
        step = loop.steps_done + 1 if loop is not None else (found[0].step + 1 if found else 0)
    return Save(step, encoded.texts, encoded.plan, metrics=numbers, ended=tuple(here.ended), folder=folder)


def _whole(step: Any) -> int:
    """Also an array's element, or a tensor of one."""
    try:
        number = int(step)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number != step:
        raise ValueError(f"step={step!r} must be a whole number of steps, 0 or more")
    return number


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics must be names with numbers, as {{'loss': 0.1}}, not {type(metrics).__name__}")
    numbers = {}
    for name, value in metrics.items():
        try:
            numbers[str(name)] = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"metrics: {name!r} must be a number, not {type(value).__name__}") from None
    return {name: value for name, value in numbers.items() if math.isfinite(value) and not holds_secret(name)}


def _refuse_reserved(folder: Path) -> None:
    for name in disk.RESERVED_NAMES:
        if (folder / name).exists():
            raise UsageError(f"a checkpoint's files cannot be called `{name}`: outlast puts its own file there")


def latest_checkpoint() -> Checkpoint | None:
    """The newest checkpoint, as a path with `.step`, `.metrics` and `.complete`; None if there is none.

    In a job that evaluates another (`outlast evaluate`) it is that one's, whatever this one has saved itself.
    """
    here = context.current()
    here.own_checkpoints = True
    if not here.kept() or here.checkpoint_dir is None:
        return None
    here.arrive()
    here.wait_for_saves()
    own, adopted = disk.list_checkpoints(here.checkpoint_dir), disk.list_adopted(here.checkpoint_dir)
    found = (adopted or own) if here.attempt.evaluation else (own or adopted)
    if not found:
        return None
    path = Checkpoint(found[0].path)
    path.step, path.complete = found[0].step, found[0].complete
    path.metrics = dict(found[0].record.get("metrics") or {})
    return path


def due() -> bool:
    """Whether the script should make a checkpoint now: it is time, or it has been told to leave, or this is the loop's last step."""
    here = context.current()
    here.own_checkpoints = here.looked_due = True
    if not here.kept():
        return False
    if here.active:
        return here.active[0].due()
    here.mark_loop(True)
    if read_notice(here.run_dir) is not None:
        return True
    return _cadence(here).due(SYSTEM.monotonic(), 0, here.saver.cost)


def _cadence(here: Context) -> Cadence:
    """For scripts that use neither `steps` nor `batches`."""
    if here.cadence is None:
        here.cadence = Cadence(None, None, here.attempt.machine_life_seconds)
        here.cadence.begin(SYSTEM.monotonic(), -1)
    return here.cadence
