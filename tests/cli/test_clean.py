"""Nothing that a trainer writes may steer the terminal that shows it."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlast.cli.clean import Cleaner, printable

ALLOWED = re.compile("\x1b\\[[0-9;:]{0,64}m")
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

CURSOR = [f"\x1b[{n}{letter}" for n in ("", "2", "1;1", "999;999") for letter in "ABCDEFGHfsuSTLMPXZ`aedg@"]
ERASE = ["\x1b[2J", "\x1b[3J", "\x1b[J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[?2J"]
MODES = [f"\x1b[?{mode}{letter}" for mode in ("25", "47", "1000", "1006", "1049", "2004", "5", "7") for letter in "hl"]
TITLES = [
    f"\x1b]{n};title{end}"
    for n in ("0", "1", "2", "7", "8;;http://x", "9", "777")
    for end in ("\x07", "\x1b\\", "\x9c")
]
CLIPBOARD = ["\x1b]52;c;aGVsbG8=\x07", "\x1b]52;p;?\x07", "\x9d52;c;aGVsbG8=\x9c", '\x1bP$q"p\x1b\\']
ANSWERS = [
    "\x1b[6n",
    "\x1b[c",
    "\x1b[>c",
    "\x1b[=c",
    "\x1b[0x",
    "\x1b[?15n",
    "\x1b]10;?\x07",
    "\x1b]4;1;?\x1b\\",
    "\x05",
]
RESETS = [
    "\x1bc",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1bD",
    "\x1bE",
    "\x1bH",
    "\x1b#8",
    "\x1b(0",
    "\x1b)B",
    "\x1b%G",
    "\x1b=",
    "\x1b>",
    "\x1bN",
    "\x1bO",
]
STRINGS = [
    "\x1bP1;2|17/61\x1b\\",
    "\x1b_Gf=24;AAAA\x1b\\",
    "\x1b^secret\x1b\\",
    "\x1bXsos\x1b\\",
    "\x90qsixel\x9c",
    "\x9fapc\x9c",
]
C1 = [chr(code) for code in range(0x80, 0xA0)] + ["\x9b2J", "\x9b31;1H", "\x9d0;t\x07"]
C0 = [chr(code) for code in range(0x20) if chr(code) not in "\n\t\r"] + ["\x7f"]
NOT_COLOURS = ["\x1b[>4;2m", "\x1b[?4m", "\x1b[31 m", "\x1b[3\x081m", "\x1b[" + "1;" * 100 + "m", "\x1b[<1m"]
HOSTILE = [*CURSOR, *ERASE, *MODES, *TITLES, *CLIPBOARD, *ANSWERS, *RESETS, *STRINGS, *C1, *C0, *NOT_COLOURS]


def left_over(shown: str) -> list[str]:
    """What a terminal would obey in it, colours apart."""
    return FORBIDDEN.findall(ALLOWED.sub("", shown))


def test_the_corpus_is_large_enough() -> None:
    assert len(set(HOSTILE)) >= 100


@pytest.mark.parametrize("sequence", HOSTILE, ids=[f"{i}-{ascii(one)[:20]}" for i, one in enumerate(HOSTILE)])
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_no_hostile_sequence_comes_through_however_it_is_cut(sequence: str, cut: int) -> None:
    data = f"before{sequence}\nafter\n".encode("utf-8", "surrogateescape")
    cleaner = Cleaner(colour=True)
    size = cut or len(data)
    shown = "".join(cleaner.clean(data[i : i + size]) for i in range(0, len(data), size))
    assert left_over(shown) == []
    assert shown.startswith("before") and shown.endswith("\nafter\n")


@given(
    st.lists(
        st.sampled_from([*HOSTILE, "text", "\n", "é", "漢", "\r", "\x1b", "[", "]", ";", "m", "\x1b[31m"]), max_size=12
    ),
    st.integers(1, 7),
)
@settings(max_examples=1500)
def test_no_mixture_of_sequences_comes_through(parts: list[str], size: int) -> None:
    data = "".join(parts).encode("utf-8", "surrogateescape")
    cleaner = Cleaner(colour=True)
    shown = "".join(cleaner.clean(data[i : i + size]) for i in range(0, len(data), size)) + cleaner.clean(
        b"", final=True
    )
    assert left_over(shown) == []


@given(st.binary(max_size=200), st.integers(1, 50))
@settings(max_examples=1500)
def test_cutting_a_stream_elsewhere_shows_the_same(data: bytes, size: int) -> None:
    whole, cut = Cleaner(colour=True), Cleaner(colour=True)
    shown = whole.clean(data) + whole.clean(b"", final=True)
    pieces = [cut.clean(data[i : i + size]) for i in range(0, len(data), size)] + [cut.clean(b"", final=True)]
    assert "".join(pieces) == shown
    assert left_over(shown) == []


def test_colours_come_through_where_they_are_allowed_and_only_there() -> None:
    data = b"\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[m"
    assert Cleaner(colour=True).clean(data) == data.decode()
    assert Cleaner(colour=False).clean(data) == "red rgb"


def test_a_colour_that_is_left_on_is_known() -> None:
    cleaner = Cleaner(colour=True)
    cleaner.clean(b"\x1b[31mred")
    assert cleaner.coloured
    cleaner.clean(b"\x1b[0m")
    assert not cleaner.coloured


def test_invalid_utf8_is_replaced_and_valid_utf8_survives_the_edges_of_pieces() -> None:
    cleaner = Cleaner(colour=False)
    data = "naïve 漢字 🎉".encode()
    assert "".join(cleaner.clean(data[i : i + 1]) for i in range(len(data))) == "naïve 漢字 🎉"
    assert Cleaner(colour=False).clean(b"a\xff\xfeb\xc3", final=True) == "a��b�"


def test_an_unfinished_sequence_hides_nothing_beyond_its_line() -> None:
    assert Cleaner(colour=False).clean(b"\x1b]0;never ends\nthe next line") == "\nthe next line"


def test_a_sequence_that_will_never_end_is_given_up_and_what_follows_is_text() -> None:
    cleaner = Cleaner(colour=False)
    shown = "".join(cleaner.clean(b"\x1b]0;" if i == 0 else b"x" * 1000) for i in range(200))
    assert 0 < len(shown) < 199_000
    assert cleaner.clean(b" and text") == " and text"


@pytest.mark.parametrize("opening", [b"\x1b]0;", b"\x1bP", b"\x1b[", b"\x1b[3", b"", b"\x1b(", b"\x9b"])
def test_a_line_without_end_costs_no_memory(opening: bytes) -> None:
    cleaner = Cleaner(colour=True)
    cleaner.clean(opening)
    chunk = b"1" * (1 << 20)
    tracemalloc.start()
    for _ in range(64):
        cleaner.clean(chunk)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8 << 20


def test_a_return_before_a_newline_is_only_a_newline_even_across_pieces() -> None:
    cleaner = Cleaner(colour=False)
    assert cleaner.clean(b"one\r") + cleaner.clean(b"\ntwo\rthree") == "one\ntwo\rthree"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("naïve 漢", "naïve 漢"),
        ("a\nb", "a\\nb"),
        ("\x1b]0;t\x07", "\\x1b]0;t\\x07"),
        ("a\u202eb", "a\\u202eb"),
        ("\udc80", "\\udc80"),
    ],
)
def test_a_foreign_word_in_a_sentence_is_one_line_of_visible_characters(name: str, shown: str) -> None:
    assert printable(name) == shown
