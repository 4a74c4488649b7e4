"""What a job has logged, by name and step: attempts in order, a step that was made again counts as it was made last."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from outlast.folder.folder import Folder
from outlast.results.logs import LogReader, PieceKind

SAMPLE_BYTES = 8 << 20
"""About a hundred thousand lines. Of a longer log, so much is enough for a picture."""

STEP_END = 1 << 63
NAMES_MAX = 100
LINE_BYTES_MAX = 1 << 20

Series = dict[str, dict[int, float]]
"""Name -> step -> value, both in the order in which they came."""


def read_metrics(folder: Folder) -> Series:
    """Of rank 0, all of it. A line that is none of `outlast.log` is passed over: a script may write there what it likes."""
    return _series(folder, None)


def read_sample(folder: Folder, bytes_max: int = SAMPLE_BYTES) -> tuple[Series, float]:
    """As `read_metrics`, and which share of it was read: of a long log parts that lie evenly in it, the newest always."""
    segments = [
        (entry.key, entry.bytes)
        for attempt in range(1, folder.existing_head().head.attempt + 1)
        for entry in folder.store.list(folder.keys.stream(attempt, "metrics", 0))
    ]
    total = sum(size for _, size in segments)
    if total <= bytes_max:
        return _series(folder, None), 1.0
    share = bytes_max / total
    wanted = {segments[-1][0]}
    credit = float(segments[0][1])  # the beginning, too
    for key, size in segments:
        credit += share * size
        if credit >= size:
            credit -= size
            wanted.add(key)
    return _series(folder, frozenset(wanted)), share


def _series(folder: Folder, only: frozenset[str] | None) -> Series:
    series: Series = {}
    counter = 0
    for lines in _lines(folder, only):
        for record in _records(lines):
            counter += 1
            if type(record) is not dict:
                continue
            step = record.get("step")
            if type(step) is not int or not 0 <= step < STEP_END:
                step = counter
            for name, value in record.items():
                if name in ("step", "at") or type(value) not in (int, float):
                    continue
                values = series.get(name)
                if values is None:
                    if len(series) >= NAMES_MAX:
                        continue
                    values = series[name] = {}
                try:
                    values[step] = float(value)
                except OverflowError:  # a whole number of hundreds of digits
                    values[step] = math.inf if value > 0 else -math.inf
    return series


def _records(lines: list[bytes]) -> list[Any]:
    """One for each line, all at once if all of them are JSON: line by line that takes five times as long."""
    try:
        records = json.loads(b"[%s]" % b",".join(lines))
    except (ValueError, RecursionError):
        return [_record(line) for line in lines]
    return records if len(records) == len(lines) else [_record(line) for line in lines]


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _lines(folder: Folder, only: frozenset[str] | None) -> Iterator[list[bytes]]:
    begun = b""
    for piece in LogReader(folder, stream="metrics", only=only).read():
        if piece.kind is not PieceKind.BYTES or piece.rank != 0:
            begun = b"" if piece.rank == 0 else begun  # what was cut off by a machine's death is no line
            continue
        *lines, begun = (begun + piece.data).split(b"\n")
        yield lines
        begun = begun[:LINE_BYTES_MAX]
