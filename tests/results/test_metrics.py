"""Reading what a job has logged."""

from __future__ import annotations

import itertools
import json

from outlast.results.metrics import read_metrics, read_sample
from tests.results.test_logs import Book

SEGMENTS = 40
LINES = 50


def book_of(*segments: bytes) -> Book:
    book = Book()
    book.begin(1)
    offset = 0
    for data in segments:
        book.store.put(book.folder.keys.segment(1, "metrics", 0, offset), data, if_generation=0)
        offset += len(data)
    return book


def lines(first: int) -> bytes:
    return b"".join(
        json.dumps({"step": step, "at": 1.0, "loss": step / 2}).encode() + b"\n" for step in range(first, first + LINES)
    )


def test_of_a_long_log_the_beginning_the_newest_and_parts_between_are_read() -> None:
    segments = [lines(number * LINES) for number in range(SEGMENTS)]
    book = book_of(*segments)
    whole, share = read_sample(book.folder)
    assert share == 1 and whole == read_metrics(book.folder)
    assert list(whole["loss"]) == list(range(SEGMENTS * LINES))

    sample, share = read_sample(book.folder, sum(map(len, segments)) // 4)
    steps = list(sample["loss"])
    assert 0.2 < share < 0.3 and SEGMENTS * LINES / 5 < len(steps) < SEGMENTS * LINES / 3
    assert steps == sorted(steps) and steps[0] == 0 and steps[-1] == SEGMENTS * LINES - 1
    assert max(later - step for step, later in itertools.pairwise(steps)) < SEGMENTS * LINES / 4
    assert all(sample["loss"][step] == step / 2 for step in steps)


def test_lines_that_are_none_of_the_library_are_passed_over() -> None:
    odd = [
        b"no JSON", b"", b"[1]", b"7", b"{}, {}", b'{"step": 1, "loss": "word"}', b"[" * 5000,
        b'{"step": 2, "loss": 1%s}' % (b"0" * 400), b'{"step": 3, "loss": NaN, "at": 5}', b'{"loss": 0.5}',
    ]  # fmt: skip
    series = read_metrics(book_of(b"\n".join(odd) + b"\n" + lines(100) + b'{"step": 9, "lo').folder)
    assert list(series) == ["loss"]
    assert list(series["loss"])[:3] == [2, 3, 10] and series["loss"][2] == float("inf") and series["loss"][10] == 0.5
    assert len(series["loss"]) == 3 + LINES
