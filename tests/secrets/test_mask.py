"""Values are covered wherever they stand in a stream, however it is cut, and nothing else moves."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlast.machine.mask import Mask
from outlast.machine.streams import MaskedStream

TOKEN = "hf_Canary/0123+456 x=9"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
ODD = "qu'ote\"d \\ ünïcode"
SECRETS = (TOKEN, KEY, ODD)


def forms(value: str) -> list[bytes]:
    raw = value.encode()
    return [
        raw,
        repr({"A": value}).encode(),
        json.dumps({"A": value}).encode(),
        repr(raw).encode(),
        quote(value).encode(),
        quote(value, safe="").encode(),
        base64.b64encode(raw),
        base64.b64encode(b"user:" + raw),
        base64.b64encode(b"me:" + raw + b"@x"),
        base64.urlsafe_b64encode(b"a" + raw),
    ]


@pytest.mark.parametrize("value", SECRETS)
def test_a_value_is_covered_in_every_form_that_a_program_prints(value: str) -> None:
    mask = Mask(SECRETS)
    for form in forms(value):
        said = b"before " + form + b" behind\n"
        covered = mask.apply(said)
        assert len(covered) == len(said)
        assert covered.startswith(b"before ") and covered.endswith(b" behind\n")
        assert value.encode() not in covered and b"**" in covered
        middle = value.encode()[4:12]
        assert middle not in covered


def test_lines_of_a_value_are_covered_one_by_one_and_stay_lines() -> None:
    mask = Mask([KEY])
    said = "\n".join(f"log: {line}" for line in KEY.split("\n")).encode()
    covered = mask.apply(said)
    assert covered.count(b"\n") == KEY.count("\n")
    assert all(line.encode() not in covered for line in KEY.split("\n"))
    assert covered.startswith(b"log: ***")


def test_values_that_overlap_are_covered_both() -> None:
    assert Mask(["abcdef", "defghi"]).apply(b"x abcdefghi x") == b"x ********* x"
    assert Mask(["aaaa"]).apply(b"aaaaaaa b") == b"******* b"


def test_what_is_not_known_any_more_covers_everything() -> None:
    assert Mask(None).apply(b"any\nthing\n") == b"***\n*****\n"


def test_without_a_value_the_bytes_are_the_same_object() -> None:
    said = b"nothing to hide" * 100
    assert Mask(SECRETS).apply(said) is said


class Growing:
    """A log that a trainer writes in pieces, read as the agent reads it: up to what it is told is there."""

    def __init__(self, path: Path, values: tuple[str, ...]) -> None:
        self.path = path
        self.path.write_bytes(b"")
        self.ended = False
        self.stream = MaskedStream(str(path), Mask(values), lambda: self.ended)
        self.read = b""

    def write(self, piece: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(piece)

    def ship(self, bite: int) -> None:
        while (total := self.stream.size_bytes()) > len(self.read):
            piece = self.stream.read(len(self.read), min(bite, total - len(self.read)))
            assert piece
            self.read += piece
            self.stream.drop(len(self.read))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), bite=st.integers(1, 40))
def test_a_value_is_covered_wherever_the_stream_is_cut(
    seed: int, bite: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    random = Random(seed)
    said = b"".join(
        random.choice([b"step 1\n", b"hf_", b"\n", b"-----BEGIN", random.choice(forms(random.choice(SECRETS)))])
        for _ in range(12)
    )
    growing = Growing(tmp_path_factory.mktemp("log") / "log", SECRETS)
    at = 0
    while at < len(said):
        size = random.randint(1, 30)
        growing.write(said[at : at + size])
        at += size
        growing.ship(bite)
    growing.ended = True
    growing.ship(bite)
    assert len(growing.read) == len(said)
    assert growing.read == Mask(SECRETS).apply(said, end=True)
    for value in SECRETS:
        assert value.encode() not in growing.read


def test_a_value_at_the_edge_of_a_mebibyte_that_was_given_back_is_covered(tmp_path: Path) -> None:
    growing = Growing(tmp_path / "log", SECRETS)
    edge = 1 << 20
    growing.write(b"x" * (edge - 5) + TOKEN.encode() + b"\n")
    growing.stream.read(0, edge)
    growing.stream.drop(edge)
    assert growing.stream.read(edge, 100) == b"*" * (len(TOKEN) - 5) + b"\n"
    assert growing.stream.read(edge - 5, 5) == b"*****"


def test_a_beginning_is_held_back_until_its_rest_has_come(tmp_path: Path) -> None:
    growing = Growing(tmp_path / "log", (TOKEN,))
    growing.write(b"it is hf_Can")
    assert growing.stream.size_bytes() == len(b"it is ")
    growing.write(b"ned")
    assert growing.stream.size_bytes() == len(b"it is hf_Canned")
    growing.write(b" hf_Canary/0")
    growing.ship(100)
    growing.ended = True
    growing.ship(100)
    assert growing.read == b"it is hf_Canned ***********"
