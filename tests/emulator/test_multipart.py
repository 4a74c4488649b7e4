"""multipart/related as a stream, however it is cut into pieces."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlast_emulator.errors import ApiError
from outlast_emulator.storage.multipart import Parts, boundary_of, two_parts
from outlast_emulator.wire.bodies import MemoryBody

DATA = st.lists(
    st.sampled_from(
        [b"\r", b"\n", b"-", b"--", b"--m", b"--mark!", b"x", b"\r\n--mar", b"\n--", b"\r\n--mark\x7fx", b"\n--mark!ed"]
    ),
    max_size=12,
)


class Pieces:
    """A body that arrives as somebody else likes."""

    length: int | None = None

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data = data
        self._sizes = sizes

    def read(self, size: int) -> bytes:
        taken = self._sizes.pop() if self._sizes else 7
        data, self._data = self._data[:taken], self._data[taken:]
        return data


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(DATA, min_size=1, max_size=3),
    line=st.sampled_from([b"\r\n", b"\n"]),
    sizes=st.lists(st.integers(1, 9), max_size=60),
)
def test_parts_come_out_as_they_went_in(parts: list[list[bytes]], line: bytes, sizes: list[int]) -> None:
    contents = [b"".join(part) for part in parts]
    mark = b"--mark\x7f"
    pieces = [mark + line + b"content-type: a/b" + line + line + content + line for content in contents]
    text = b"".join(pieces) + mark + b"--" + line

    found = [(headers, b"".join(data)) for headers, data in Parts(Pieces(text, sizes), b"mark\x7f")]

    assert found == [({"content-type": "a/b"}, content) for content in contents]


@settings(deadline=None)
@given(cut=st.integers(0, 60), sizes=st.lists(st.integers(1, 9), max_size=60))
def test_a_body_that_ends_early_is_refused(cut: int, sizes: list[int]) -> None:
    text = b"--mark\r\ncontent-type: a/b\r\n\r\nsome data\r\n--mark--"
    if cut >= len(text):
        return

    with pytest.raises(ApiError):
        for _, data in Parts(Pieces(text[:cut], sizes), b"mark"):
            b"".join(data)


@pytest.mark.parametrize(
    ("header", "boundary"),
    [
        ("multipart/related; boundary=abc", b"abc"),
        ('multipart/related; boundary="a b;c"', b"a b;c"),
        ("multipart/related; boundary='===1=='", b"===1=="),
        ("Multipart/Related; charset=x; Boundary=q; type=y", b"q"),
    ],
)
def test_boundaries_are_found_in_every_form_that_clients_send(header: str, boundary: bytes) -> None:
    assert boundary_of(header) == boundary


@pytest.mark.parametrize("header", ["", "text/plain; boundary=x", "multipart/related", "multipart/related; boundary="])
def test_a_type_without_a_boundary_is_refused(header: str) -> None:
    with pytest.raises(ApiError):
        boundary_of(header)


@settings(max_examples=300, deadline=None)
@given(
    parts=st.lists(DATA, min_size=1, max_size=3),
    head=st.sampled_from([b"content-type: a/b", b"", b"a: b\r\nc: d", b"a: b\nc: d"]),
    line=st.sampled_from([b"\r\n", b"\n"]),
    before=st.sampled_from([b"", b"\r\n", b"words\r\n"]),
    cut=st.integers(0, 20),
)
def test_what_is_all_here_is_read_as_if_it_came_in_pieces(
    parts: list[list[bytes]], head: bytes, line: bytes, before: bytes, cut: int
) -> None:
    pieces = [b"--mark!" + line + (head + line if head else b"") + line + b"".join(part) + line for part in parts]
    text = before + b"".join(pieces) + b"--mark!--"
    text = text[: len(text) - cut]

    found = two_parts(text, b"mark!")

    if found is not None:
        (_, first), (headers, second) = [
            (headers, b"".join(data)) for headers, data in islice(Parts(MemoryBody(text), b"mark!"), 2)
        ]
        assert found == (first, headers, second)


def test_a_body_as_nearly_all_clients_send_it_is_read_at_once() -> None:
    head = b"--mark\r\ncontent-type: application/json\r\n\r\n{}\r\n--mark\r\nContent-Type: a/b\r\n\r\n"

    assert two_parts(head + b"\x00data\r\n--mar\r\n--mark--", b"mark") == (
        b"{}",
        {"content-type": "a/b"},
        b"\x00data\r\n--mar",
    )


@pytest.mark.parametrize("line", [b"\r\n", b"\n"])
def test_contents_that_begin_a_line_like_the_mark_are_contents(line: bytes) -> None:
    data = line.join([b"a", b"--mark of a pen", b"--marked", b""])
    text = line.join([b"--mark  ", b"", data, b"--mark \t", b"", data, b"--mark--"])

    assert [b"".join(pieces) for _, pieces in Parts(MemoryBody(text), b"mark")] == [data, data]
    assert two_parts(text, b"mark") is None
