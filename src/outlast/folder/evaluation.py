"""What an evaluation found, published in the trained job's folder.

The result is a function of what is committed: the evaluation's spec, its final head and the metrics that were sealed before that head was
written. So it is written after the final swap, create-only, by whoever comes first: the machine that ended it, the one that replaces a
machine that died in between, or the next command that looks. Before the swap it would not be known whether the attempt that
writes it counts: a fenced one could have left its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.folder import Folder
from outlast.folder.home import Home
from outlast.folder.records import EvaluationResult, Head, State
from outlast.spec.spec import Evaluation, Spec

TRAINED = "000000-trained"
"""The manifest in an evaluation's own folder that holds the trained job's checkpoint and outputs."""

LINE_BYTES_MAX = 1 << 20
"""A longer line of metrics is none of ours."""


def publish_result(folder: Folder, head: Head, spec: Spec | None) -> None:
    """Of an evaluation that succeeded. There already, or the trained job is gone: nothing. `spec`: the job's, if it was just read."""
    if head.state is not State.SUCCEEDED:
        return
    try:
        spec = spec or folder.read_spec()
    except KeyMissing:
        return
    if spec.evaluation is None:
        return
    trained = trained_folder(folder, spec.evaluation)
    key = trained.keys.result(folder.job)
    if any(entry.key == key for entry in trained.store.list(key, limit=1)) or not _is_there(trained):
        return
    trained.create(key, result_of(folder, head, spec, spec.evaluation))
    _give_back(folder)


def _give_back(folder: Folder) -> None:
    """The copy of what was evaluated: a job that has succeeded is never resumed, and the trained job has its own."""
    try:
        manifest = folder.read_manifest(TRAINED)
    except (KeyMissing, Damaged, NewerFormat):
        return
    folder.store.purge([folder.keys.manifest(TRAINED)])
    folder.store.purge([part.key for file in manifest.files for part in file.parts])


def trained_folder(folder: Folder, evaluation: Evaluation) -> Folder:
    return Home(folder.store, folder.random).folder(evaluation.job)


def result_of(folder: Folder, head: Head, spec: Spec, evaluation: Evaluation) -> EvaluationResult:
    return EvaluationResult(
        job=spec.job,
        checkpoint=evaluation.checkpoint,
        step=evaluation.step,
        split=evaluation.split,
        metrics=last_metrics(folder, head.attempt),
        ended_at=head.ended_at or 0.0,
    )


def _is_there(folder: Folder) -> bool:
    """A deleted job's folder stays empty."""
    try:
        folder.store.get(folder.keys.head)
    except KeyMissing:
        return False
    return True


def last_metrics(folder: Folder, attempts: int) -> dict[str, float]:
    """The last number under each name, of all attempts: one that was resumed logs only what was left to do."""
    last: dict[str, float] = {}
    for attempt in range(1, attempts + 1):
        for line in _lines(folder, attempt):
            last.update(_numbers(line))
    return last


def _lines(folder: Folder, attempt: int) -> Iterator[bytes]:
    rest = b""
    for entry in folder.store.list(folder.keys.stream(attempt, "metrics", 0)):
        try:
            data = folder.store.get(entry.key).data
        except KeyMissing:
            continue
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
        if len(rest) > LINE_BYTES_MAX:
            rest = b""
    yield rest


def _numbers(line: bytes) -> Mapping[str, float]:
    """A line that a death has torn is passed over, and so is what is no number."""
    try:
        record: Any = json.loads(line) if line.strip() and len(line) <= LINE_BYTES_MAX else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(record, dict):
        return {}
    return {
        name: float(value)
        for name, value in record.items()
        if name not in ("step", "at")
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
    }
