"""What a job has logged, by name and step: attempts in order, a step that was made again counts as it was made last."""

from __future__ import annotations

import json
from collections.abc import Iterator

from outlast.folder.folder import Folder
from outlast.results.logs import PieceKind, read_log

READ_BYTES_MAX = 64 << 20
"""About half a million lines. Of more, the beginning is shown."""

NAMES_MAX = 100
LINE_BYTES_MAX = 1 << 20

Series = dict[str, dict[int, float]]
"""Name -> step -> value, both in the order in which they came."""


def read_metrics(folder: Folder) -> Series:
    """Of rank 0. A line that is none of `outlast.log` is passed over: a script may write there what it likes."""
    series: Series = {}
    counter = 0
    for line in _lines(folder):
        counter += 1
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        step = record.get("step")
        if type(step) is not int:
            step = counter
        for name, value in record.items():
            if name in ("step", "at") or type(value) not in (int, float):
                continue
            if name in series or len(series) < NAMES_MAX:
                series.setdefault(name, {})[step] = float(value)
    return series


def _lines(folder: Folder) -> Iterator[bytes]:
    begun = b""
    left = READ_BYTES_MAX
    for piece in read_log(folder, stream="metrics"):
        if piece.kind is not PieceKind.BYTES or piece.rank != 0:
            begun = b"" if piece.rank == 0 else begun  # what was cut off by a machine's death is no line
            continue
        *lines, begun = (begun + piece.data).split(b"\n")
        yield from lines
        begun = begun[:LINE_BYTES_MAX]
        left -= len(piece.data)
        if left < 0:
            return
