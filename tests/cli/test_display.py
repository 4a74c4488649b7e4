"""How a log looks: on a terminal, in a pipe, as objects."""

from __future__ import annotations

import io
import json

import pytest

from outlast.cli.display import JsonDisplay, RawDisplay, TerminalDisplay
from outlast.cli.lines import LINE_BYTES_MAX
from outlast.results.logs import LogPiece, PieceKind


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def data(text: bytes, rank: int = 0, attempt: int = 1) -> LogPiece:
    return LogPiece(PieceKind.BYTES, attempt, rank, 0, text)


def on_terminal(*pieces: LogPiece, workers: int = 1) -> str:
    screen = Screen()
    shown = TerminalDisplay(screen, workers)
    for piece in pieces:
        shown.show(piece)
    shown.close()
    return screen.getvalue()


def in_pipe(*pieces: LogPiece, workers: int = 1) -> bytes:
    pipe = io.BytesIO()
    shown = RawDisplay(pipe, workers)
    for piece in pieces:
        shown.show(piece)
    shown.close()
    return pipe.getvalue()


def test_of_a_progress_bar_the_last_state_is_shown() -> None:
    assert on_terminal(data(b"0%\r50%\r100%\ndone\n")) == "100%\ndone\n"


def test_a_bar_that_grows_piece_by_piece_is_redrawn_in_place() -> None:
    assert on_terminal(data(b"0%"), data(b"\r50%"), data(b"\r"), data(b"100%\n")) == "0%\r\x1b[K50%\r\x1b[K100%\n"


def test_a_bar_on_a_dumb_terminal_takes_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert on_terminal(data(b"0%"), data(b"\r50%")) == "0%\n50%\n"


def test_lines_that_end_like_those_of_windows_are_lines() -> None:
    assert on_terminal(data(b"one\r"), data(b"\ntwo\r\n")) == "one\ntwo\n"


def test_a_colour_that_was_left_on_is_reset_before_our_own_words() -> None:
    begin = LogPiece(PieceKind.BEGIN, 2, resumed_from_step=120)
    assert on_terminal(data(b"\x1b[31mred"), begin) == (
        "\x1b[31mred\x1b[0m\n\x1b[2m── attempt 2, resumed from step 120 ──\x1b[0m\n"
    )


def test_a_reset_inside_of_what_is_overwritten_still_resets() -> None:
    shown = on_terminal(data(b"\x1b[31m10%"), data(b"\x1b[0m\r20%\n"))
    assert shown == "\x1b[31m10%\r\x1b[K\x1b[0m20%\n"


def test_where_no_colour_is_wanted_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    begin = LogPiece(PieceKind.BEGIN, 2, resumed_from_step=None)
    assert on_terminal(data(b"\x1b[31mred\n"), begin) == "red\n── attempt 2, from the beginning ──\n"


def test_an_attempt_that_begins_says_how_the_one_before_it_ended() -> None:
    pieces = [LogPiece(PieceKind.END, 1, cause="preempted"), LogPiece(PieceKind.BEGIN, 2, resumed_from_step=1234)]
    assert "── attempt 1 was preempted; attempt 2, resumed from step 1,234 ──" in on_terminal(*pieces)
    pieces = [LogPiece(PieceKind.END, 1, cause="failed"), LogPiece(PieceKind.BEGIN, 2)]
    assert "── attempt 1 failed; attempt 2, from the beginning ──" in on_terminal(*pieces)


def test_the_first_attempt_of_a_new_job_needs_no_mark() -> None:
    assert on_terminal(LogPiece(PieceKind.BEGIN, 1), data(b"hello\n")) == "hello\n"


def test_a_gap_is_shown_with_its_size() -> None:
    assert "… 1,204 bytes missing …" in on_terminal(data(b"a"), LogPiece(PieceKind.GAP, 1, missing_bytes=1204))


@pytest.mark.parametrize(
    ("count", "words"), [(0, "what was written last may be missing"), (1204, "at least 1,204 bytes are missing")]
)
def test_a_gap_of_unknown_size_says_why_nobody_knows(count: int, words: str) -> None:
    gap = LogPiece(PieceKind.GAP, 3, missing_bytes=count, at_least=True)
    assert on_terminal(gap) == f"\x1b[2m… {words}: the machine of attempt 3 died without a word …\x1b[0m\n"


def test_a_pipe_gets_every_byte_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    raw = b"\x1b[2J\xff\r50%\r\n\x00no newline"
    begin = LogPiece(PieceKind.BEGIN, 2, resumed_from_step=5)
    gap = LogPiece(PieceKind.GAP, 2, missing_bytes=7)
    assert in_pipe(data(raw), begin, gap, data(raw)) == raw + raw
    said = capsys.readouterr().err
    assert "── attempt 2, resumed from step 5 ──" in said and "… 7 bytes missing …" in said


def test_of_several_workers_whole_lines_are_shown_with_their_rank() -> None:
    pieces = [data(b"zero ", 0), data(b"one\ntw", 1), data(b"done\n", 0), data(b"o", 1)]
    assert in_pipe(*pieces, workers=2) == b"[1] one\n[0] zero done\n[1] two\n"
    assert on_terminal(*pieces, workers=2) == "[1] one\n[0] zero done\n[1] two\n"


def test_no_worker_can_write_over_the_rank_before_its_line() -> None:
    assert on_terminal(data(b"a\rb\x1b[2K\n", 1), workers=2) == "[1] b\n"


def test_of_several_workers_a_line_without_end_is_cut_and_not_held() -> None:
    piece = data(b"x" * (3 * LINE_BYTES_MAX))
    assert in_pipe(piece, workers=2).count(b"\n") == 3


def test_objects_hold_text_that_is_right_across_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    shown = JsonDisplay()
    for piece in (
        LogPiece(PieceKind.BEGIN, 2, resumed_from_step=5),
        LogPiece(PieceKind.BYTES, 2, 0, 10, "é".encode()[:1]),
        LogPiece(PieceKind.BYTES, 2, 0, 11, "é".encode()[1:] + b"\xff"),
        LogPiece(PieceKind.GAP, 2, 0, 13, missing_bytes=7),
        LogPiece(PieceKind.END, 2, cause="preempted"),
    ):
        shown.show(piece)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"kind": "begin", "attempt": 2, "resumed_from_step": 5},
        {"kind": "bytes", "attempt": 2, "rank": 0, "offset": 10, "text": ""},
        {"kind": "bytes", "attempt": 2, "rank": 0, "offset": 11, "text": "é�"},
        {"kind": "gap", "attempt": 2, "rank": 0, "offset": 13, "bytes": 7, "at_least": False},
        {"kind": "end", "attempt": 2, "cause": "preempted"},
    ]


def test_objects_hold_also_what_ends_in_the_middle_of_a_character(capsys: pytest.CaptureFixture[str]) -> None:
    shown = JsonDisplay()
    for piece in (
        LogPiece(PieceKind.BYTES, 1, 0, 10, b"a" + "€".encode()[:2]),
        LogPiece(PieceKind.GAP, 1, 0, 13, missing_bytes=7),
        LogPiece(PieceKind.BYTES, 1, 0, 20, "é".encode()[:1]),
    ):
        shown.show(piece)
    shown.close()
    bytes_shown = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"bytes", ' in line]
    assert [(one["offset"], one["text"]) for one in bytes_shown] == [
        (10, "a"),
        (11, "\ufffd"),
        (20, ""),
        (20, "\ufffd"),
    ]
