"""Numbers by step as a small picture of characters: braille where the terminal has it, else ASCII."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

ROWS = 5
COLUMNS_MAX = 64
LABEL_COLUMNS = 10
BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of a braille character: four rows of two dots."""


def picture(values: Mapping[int, float], *, columns: int, braille: bool) -> list[str]:
    """Lines without newline: the largest and smallest value at the left, the first and last step below."""
    points = sorted((step, value) for step, value in values.items() if math.isfinite(value))
    if not points:
        return []
    across, down = (2, 4) if braille else (1, 1)
    wide = max(8, min(COLUMNS_MAX, columns - LABEL_COLUMNS - 3))
    line = _resampled(points, wide * across)
    low, high = min(value for _, value in points), max(value for _, value in points)
    cells = _drawn(line, low, high, wide, across, down)
    rows = [_row(row, braille) for row in cells]
    labels = [_number(high) if index == 0 else _number(low) if index == ROWS - 1 else "" for index in range(ROWS)]
    bar = "│" if braille else "|"
    drawn = [f"{label:>{LABEL_COLUMNS}} {bar}{row}" for label, row in zip(labels, rows, strict=True)]
    first, last = f"{points[0][0]:,}", f"step {points[-1][0]:,}"
    gap = max(1, wide - len(first) - len(last))
    return [*(one.rstrip() for one in drawn), " " * (LABEL_COLUMNS + 2) + first + " " * gap + last]


def _resampled(points: Sequence[tuple[int, float]], slots: int) -> list[float | None]:
    """The mean of what falls into each slot; slots between two points are on the line from one to the other."""
    first, last = points[0][0], points[-1][0]
    sums = [0.0] * slots
    counts = [0] * slots
    for step, value in points:
        slot = 0 if last == first else min(slots - 1, (step - first) * slots // (last - first + 1))
        sums[slot] += value
        counts[slot] += 1
    line: list[float | None] = [sums[slot] / counts[slot] if counts[slot] else None for slot in range(slots)]
    known = [slot for slot in range(slots) if line[slot] is not None]
    for left, right in itertools.pairwise(known):
        start, end = line[left], line[right]
        assert start is not None and end is not None
        for slot in range(left + 1, right):
            line[slot] = start + (end - start) * (slot - left) / (right - left)
    return line


def _drawn(
    line: Sequence[float | None], low: float, high: float, wide: int, across: int, down: int
) -> list[list[set[tuple[int, int]]]]:
    """Per character the dots that are set, as (row, column) inside of it. Neighbours are joined, so that a jump is a line."""
    cells: list[list[set[tuple[int, int]]]] = [[set() for _ in range(wide)] for _ in range(ROWS)]
    levels = ROWS * down
    before: int | None = None
    for slot, value in enumerate(line):
        if value is None:
            before = None
            continue
        ratio = 0.5 if high == low else (value - low) / (high - low)
        level = min(levels - 1, max(0, round((1 - ratio) * (levels - 1))))
        start = level if before is None or across == 1 else before
        for each in range(min(start, level), max(start, level) + 1):
            cells[each // down][slot // across].add((each % down, slot % across))
        before = level
    return cells


def _row(row: Sequence[set[tuple[int, int]]], braille: bool) -> str:
    if not braille:
        return "".join("*" if dots else " " for dots in row)
    return "".join(chr(BRAILLE + sum(DOTS[down][across] for down, across in dots)) if dots else " " for dots in row)


def _number(value: float) -> str:
    """At most `LABEL_COLUMNS` wide."""
    text = f"{value:.4g}"
    return text if len(text) <= LABEL_COLUMNS else f"{value:.2e}"
