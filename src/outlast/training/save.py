"""What one save consists of, and how it is written: state.json, the tensor file, checkpoint.json, and the rename."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from outlast.clock import SYSTEM
from outlast.training import disk, generators
from outlast.training.disk import remove_tree
from outlast.training.encode import Encoder
from outlast.training.fielded import field, fielded
from outlast.training.outputs import Output
from outlast.training.sharing import shared
from outlast.training.state import encode_parts
from outlast.training.tensors import Plan, plan_file


@fielded(frozen=True)
class EndedLoop:
    """A loop that is over: a later save names it, so that it yields nothing when the script runs it again."""

    name: str
    step: int
    epoch: int
    stopped: bool
    """Ended by `.stop()`: over, however many steps are asked for."""

    left: bool
    """Left by `break`: a checkpoint of this loop alone does not have its end."""

    folder: Path | None
    """Where the state lies that it ended with."""

    def record(self, index: int) -> dict[str, Any]:
        return {
            "name": self.name,
            "step": self.step,
            "epoch": self.epoch,
            "stopped": self.stopped,
            "left": self.left,
            "folder": None if self.folder is None else f"{index:03d}",
        }


@fielded(frozen=True)
class Position:
    """Where a loop stands, between two bodies."""

    step: int
    """Bodies (optimiser steps) that are done."""

    epoch: int = 0


@fielded
class Save:
    """Everything that goes into one checkpoint, as it was at one boundary."""

    step: int
    """Of the whole script: the steps of the loops before this one are added."""

    texts: Mapping[str, bytes]
    plan: Plan
    complete: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    ended: tuple[EndedLoop, ...] = ()
    folder: Path | None = None
    """The script's own files, in a saving directory already."""


@fielded(frozen=True)
class Encoded:
    """The text files of a checkpoint, by name, and the plan of its tensor file."""

    texts: Mapping[str, bytes]
    plan: Plan


def encode_state(
    *,
    loop: str | None,
    position: Position | None,
    data: Mapping[str, Any],
    stopped: bool,
    parts: Mapping[str, Any] | None,
    ended: tuple[EndedLoop, ...],
    flags: Mapping[str, Any],
) -> Encoded:
    """Nothing in it depends on the time, the machine or the attempt. `data` is where the data loader stands: see loaders.py."""
    encoder = Encoder()
    state: dict[str, Any] = {"format": disk.FORMAT, "loop": loop, "stopped": stopped}
    if position is not None:
        state["step"], state["epoch"] = position.step, position.epoch
    if parts is not None:
        state["parts"] = encode_parts(encoder, parts)
        state["shared"] = shared(encoder)
    state["ended"] = [one.record(index) for index, one in enumerate(ended)]
    state["flags"] = encoder.encode(dict(flags), "flags")
    texts = {disk.STATE: _json(state)}
    if parts is not None or data:
        place = {
            "format": disk.FORMAT,
            "global": Encoder(inline=True).encode(generators.global_states(), "generators"),
            "data": Encoder(inline=True).encode(dict(data), "data"),
        }
        texts[disk.GENERATORS] = _json(place)
    return Encoded(texts, plan_file(encoder.leaves))


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def snapshot(plan: Plan, memory: memoryview) -> None:
    """Copies every array into memory, laid out as in the file."""
    for leaf, offset in zip(plan.leaves, plan.offsets, strict=True):
        if leaf.layout.nbytes:
            leaf.library.write_into(leaf.value, memory[offset : offset + leaf.layout.nbytes])


def live_pieces(plan: Plan) -> Iterator[memoryview]:
    """The arrays themselves, one after the other: for a save during which nothing is trained."""
    for leaf in plan.leaves:
        yield leaf.library.raw(leaf.value)


def write_save(
    save: Save,
    pieces: Iterator[memoryview],
    folder: Path,
    *,
    attempt: int,
    number: int,
    watch: Callable[[int], None],
    gather: Callable[[Path], None] = lambda saving: None,
) -> Path:
    """Puts the checkpoint in place and returns where. An error leaves nothing behind."""
    saving = save.folder or disk.new_saving_dir(folder)
    try:
        if save.folder is not None:
            disk.sync_tree(saving)
        files = {}
        if save.plan.leaves:
            files[disk.TENSORS] = disk.write_file(saving / disk.TENSORS, _with_header(save.plan, pieces), watch)
        for name, text in save.texts.items():
            files[name] = disk.write_file(saving / name, [text], watch)
        for index, one in enumerate(save.ended):
            if one.folder is not None:
                disk.link_state(one.folder, saving / disk.ENDED / f"{index:03d}")
        if (saving / disk.ENDED).exists():
            disk.sync_tree(saving / disk.ENDED)
        gather(saving)
        record = {
            "format": disk.FORMAT,
            "step": save.step,
            "complete": save.complete,
            "attempt": attempt,
            "number": number,
            "metrics": dict(save.metrics),
            "created_at": SYSTEM.now(),
            "outputs": [output.record() for output in save.outputs],
            "files": files,
        }
        disk.write_file(saving / disk.RECORD, [json.dumps(record).encode("ascii") + b"\n"], lambda _: None)
        disk.sync_path(saving)
        return disk.put_in_place(saving, save.step)
    except BaseException:
        remove_tree(saving)
        raise


def _with_header(plan: Plan, pieces: Iterator[memoryview]) -> Iterator[bytes | memoryview]:
    yield plan.header
    yield from pieces


def total_bytes(save: Save) -> int:
    return len(save.plan.header) + save.plan.data_bytes + sum(map(len, save.texts.values()))
