"""Reading a log out of a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.errors import NotFound
from outlast.folder.folder import Folder
from outlast.folder.records import Attempt, Beat, Cause, Head, State
from outlast.results.logs import LogPiece, LogReader, PieceKind, read_last, read_log
from outlast.spec.record import encode
from outlast.spec.spec import Provenance, Spec, Target, TargetKind
from outlast.store.memory import MemoryStore


class Book:
    """A folder that a test writes as agents would."""

    def __init__(self, workers: int = 1) -> None:
        self.store = MemoryStore()
        self.folder = Folder(self.store, "job", Random(0))
        target = Target(TargetKind.SCRIPT, "train.py")
        spec = Spec("job", "job", target, "b", "/python", Provenance("0"), 0.0, workers=workers)
        self.store.put(self.folder.keys.spec, encode(spec), if_generation=0)
        self.head = Head("job", 1, "id", State.RUNNING, "b")
        self.generation = self.store.put(self.folder.keys.head, encode(self.head), if_generation=0)

    def swap(self, **changes: Any) -> None:
        self.head = replace(self.head, **changes)
        self.generation = self.store.put(self.folder.keys.head, encode(self.head), if_generation=self.generation)

    def begin(self, number: int, resumed: int | None = None) -> None:
        attempts = dict(self.head.attempts)
        if number > 1:
            attempts[str(number - 1)] = replace(attempts[str(number - 1)], ended_at=2.0, cause=Cause.PREEMPTED)
        attempts[str(number)] = Attempt(1, 1.0, running_at=1.0, resumed_from_step=resumed)
        self.swap(attempt=number, attempts=attempts)

    def end(self, state: State = State.SUCCEEDED) -> None:
        last = str(self.head.attempt)
        ended = replace(self.head.attempts[last], ended_at=3.0, cause=Cause.SUCCEEDED, exit_code=0)
        attempts = {**self.head.attempts, last: ended}
        self.swap(state=state, attempts=attempts)

    def seal(self, attempt: int, offset: int, data: bytes, rank: int = 0) -> None:
        self.store.put(self.folder.keys.segment(attempt, "log", rank, offset), data, if_generation=0)

    def tail(self, attempt: int, offset: int, data: bytes, rank: int = 0) -> None:
        self.store.put(self.folder.keys.tail(attempt, "log", rank), f"{offset:015d}".encode() + data)


def words(pieces: list[LogPiece]) -> list[object]:
    said: dict[PieceKind, Callable[[LogPiece], object]] = {
        PieceKind.BEGIN: lambda piece: ("begin", piece.attempt, piece.resumed_from_step),
        PieceKind.BYTES: lambda piece: piece.data,
        PieceKind.GAP: lambda piece: ("gap", piece.missing_bytes),
        PieceKind.END: lambda piece: ("end", piece.attempt, piece.cause),
    }
    return [said[piece.kind](piece) for piece in pieces]


def test_attempts_are_stitched_in_order_and_each_begin_is_marked() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"one ")
    book.seal(1, 4, b"two ")
    book.begin(2, resumed=120)
    book.seal(2, 0, b"three")
    book.end()
    assert words(list(read_log(book.folder))) == [
        ("begin", 1, None), b"one ", b"two ", ("gap", 0), ("end", 1, "preempted"),
        ("begin", 2, 120), b"three", ("end", 2, "succeeded"),
    ]  # fmt: skip


@pytest.mark.parametrize("sign", ["beat", "log"])
def test_where_an_attempt_that_resumes_begins_is_told_when_no_checkpoint_can_be_passed_over_any_more(sign: str) -> None:
    book = Book()
    book.begin(1)
    book.begin(2, resumed=30)
    reader = LogReader(book.folder, first=2)
    assert words(list(reader.read())) == []

    def pass_over() -> None:
        used = replace(book.head.attempts["2"], resumed_from_step=20, passed_over={"000001-000003-a": "it is damaged"})
        book.swap(attempts={**book.head.attempts, "2": used})
        if sign == "beat":
            book.folder.rewrite(book.folder.keys.beat(2), Beat(2, 1.0, 20, 0))
        else:
            book.tail(2, 0, b"hello")

    read_beat = book.folder.read_beat

    def read_meanwhile(attempt: int) -> Beat | None:
        """Between this reader's look at head and its look at the beat."""
        pass_over()
        book.folder.read_beat = read_beat  # type: ignore[method-assign]
        return read_beat(attempt)

    if sign == "beat":
        book.folder.read_beat = read_meanwhile  # type: ignore[method-assign]
    else:
        pass_over()
    assert words(list(reader.read())) == [("begin", 2, 20), *([] if sign == "beat" else [b"hello"])]


def test_missing_bytes_are_shown_as_a_gap_of_their_size() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"first")
    book.seal(1, 1209, b"newest")
    book.end()
    assert words(list(read_log(book.folder)))[1:4] == [b"first", ("gap", 1204), b"newest"]


def test_what_a_dead_machine_had_not_sealed_is_shown_as_a_gap() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"sealed")
    book.folder.rewrite(book.folder.keys.beat(1), Beat(1, 1.0, None, log_bytes=106))
    book.begin(2)
    book.end()
    pieces = list(read_log(book.folder))
    assert words(pieces)[1:4] == [b"sealed", ("gap", 100), ("end", 1, "preempted")]
    assert pieces[2].at_least


def test_a_machine_that_died_without_a_word_may_have_said_more_than_anybody_knows() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"sealed")
    book.begin(2)
    book.end()
    assert [piece.attempt for piece in read_log(book.folder) if piece.at_least] == [1]


def test_an_attempt_that_ended_by_its_own_word_has_no_gap() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"sealed")
    book.swap(attempts={"1": replace(book.head.attempts["1"], exit_code=75)})
    book.begin(2)
    book.end()
    assert not any(piece.kind is PieceKind.GAP for piece in read_log(book.folder))


def test_no_gap_is_claimed_while_the_machine_may_still_seal() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"sealed")
    book.folder.rewrite(book.folder.keys.beat(1), Beat(1, 1.0, None, log_bytes=106))
    assert words(list(read_log(book.folder))) == [("begin", 1, None), b"sealed"]


def test_a_tail_that_overlaps_sealed_segments_shows_no_byte_twice() -> None:
    book = Book()
    book.begin(1)
    book.tail(1, 0, b"abc")
    reader = LogReader(book.folder)
    assert words(list(reader.read())) == [("begin", 1, None), b"abc"]
    book.seal(1, 0, b"abcde")
    book.tail(1, 0, b"abc")
    assert words(list(reader.read())) == [b"de"]
    book.tail(1, 5, b"fg")
    assert words(list(reader.read())) == [b"fg"]
    assert words(list(reader.read())) == []
    book.seal(1, 5, b"fgh")
    book.end()
    assert words(list(reader.read())) == [b"h", ("end", 1, "succeeded")]
    assert reader.ended


def test_a_segment_sealed_between_list_and_tail_is_no_gap() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"ab")
    book.tail(1, 4, b"ef")
    real = book.store.get

    def get_after_sealing(key: str):  # type: ignore[no-untyped-def]
        if key.endswith(".tail"):
            book.seal(1, 2, b"cd")
        return real(key)

    book.store.get = get_after_sealing  # type: ignore[method-assign]
    assert words(list(read_log(book.folder))) == [("begin", 1, None), b"ab", b"cd", b"ef"]


def test_what_is_no_tail_and_what_is_no_segment_is_passed_over() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"ab")
    book.store.put(book.folder.keys.tail(1, "log", 0), b"\xff\xfenot a tail")
    book.store.put(book.folder.keys.stream(1, "log", 0) + "README", b"foreign", if_generation=0)
    assert words(list(read_log(book.folder))) == [("begin", 1, None), b"ab"]


def test_ranks_come_one_after_the_other() -> None:
    book = Book(workers=2)
    book.begin(1)
    book.seal(1, 0, b"one", rank=1)
    book.seal(1, 0, b"zero", rank=0)
    pieces = [piece for piece in read_log(book.folder) if piece.kind is PieceKind.BYTES]
    assert [(piece.rank, piece.data) for piece in pieces] == [(0, b"zero"), (1, b"one")]


def test_one_attempt_alone_ends_with_that_attempt() -> None:
    book = Book()
    book.begin(1)
    book.seal(1, 0, b"one")
    book.begin(2)
    book.seal(2, 0, b"two")
    reader = LogReader(book.folder, attempt=1)
    assert words(list(reader.read())) == [("begin", 1, None), b"one", ("gap", 0), ("end", 1, "preempted")]
    assert reader.ended


def test_an_attempt_that_is_not_there_is_answered_with_those_that_are() -> None:
    book = Book()
    book.begin(1)
    book.begin(2)
    with pytest.raises(NotFound, match="no attempt 7: there are 1 to 2"):
        list(read_log(book.folder, attempt=7))


def test_a_reader_that_follows_ends_only_when_the_job_has_ended() -> None:
    book = Book()
    reader = LogReader(book.folder)
    assert list(reader.read()) == [] and not reader.ended
    book.begin(1)
    assert words(list(reader.read())) == [("begin", 1, None)] and not reader.ended
    book.end(State.FAILED)
    assert words(list(reader.read())) == [("end", 1, "succeeded")] and reader.ended


def test_the_end_of_a_log_is_read_without_the_rest() -> None:
    book = Book()
    book.begin(1)
    for number in range(100):
        book.seal(1, number * 10, b"%09d\n" % number)
    read: list[str] = []
    real = book.store.download
    book.store.download = lambda key: (read.append(key), real(key))[1]  # type: ignore[method-assign]
    book.tail(1, 1000, b"tail")
    assert read_last(book.folder, 1, bytes_max=17) == b"98\n000000099\ntail"
    assert len(read) == 2
    assert read_last(book.folder, 2, bytes_max=17) == b""


@given(
    st.binary(max_size=60),
    st.lists(st.tuples(st.sampled_from(["seal", "tail", "write", "read"]), st.integers(1, 9)), max_size=40),
)
def test_however_sealing_tailing_and_reading_are_mixed_the_bytes_are_those_written(
    data: bytes, acts: list[tuple[str, int]]
) -> None:
    book = Book()
    book.begin(1)
    reader = LogReader(book.folder)
    written = sealed = 0
    seen = b""
    for act, count in acts:
        if act == "write":
            written = min(len(data), written + count)
        elif act == "tail":
            book.tail(1, sealed, data[sealed:written])
        elif act == "seal" and written > sealed:
            end = min(written, sealed + count)
            book.seal(1, sealed, data[sealed:end])
            sealed = end
        elif act == "read":
            seen += b"".join(piece.data for piece in reader.read())
            assert data.startswith(seen)
    if sealed < len(data):
        book.seal(1, sealed, data[sealed:])
    book.end()
    pieces = list(reader.read())
    assert seen + b"".join(piece.data for piece in pieces) == data
    assert not any(piece.kind is PieceKind.GAP for piece in pieces)
