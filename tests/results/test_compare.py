"""Two directories are compared by content, by a rule that is named, and nothing in them is ever run."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

from outlast.results.compare import source
from outlast.results.compare.directories import Comparison, compare_directories, describe
from outlast.results.compare.rules import Compared
from tests.results.comparing import npy, one, tensors, write, zipped


def test_equal_bytes_are_equal_and_the_rule_says_so(sides: tuple[Path, Path]) -> None:
    write(sides, "model.bin", b"\x00" * 3_000_000, b"\x00" * 3_000_000)
    assert one(sides) == Compared("model.bin", "bytes")
    assert compare_directories(*sides).identical


def test_a_byte_that_differs_is_found_wherever_it_is(sides: tuple[Path, Path]) -> None:
    data = os.urandom(2_500_000)
    for place in (0, 1, (1 << 20) - 1, 1 << 20, 2_499_999):
        other = bytearray(data)
        other[place] ^= 1
        write(sides, "model.bin", data, bytes(other))
        assert one(sides).difference == f"differs from byte {place:,} on"


def test_a_file_that_goes_on_or_stops_is_different(sides: tuple[Path, Path]) -> None:
    write(sides, "log.csv", b"1\n2\n", b"1\n2\n3\n")
    assert "longer than in the reference" in one(sides).difference
    write(sides, "log.csv", b"1\n2\n", b"1\n")
    assert "shorter than in the reference" in one(sides).difference


def test_a_file_on_one_side_only_is_a_difference(sides: tuple[Path, Path]) -> None:
    (sides[0] / "a").write_bytes(b"")
    (sides[1] / "b").write_bytes(b"")
    comparison = compare_directories(*sides)
    assert [(file.path, file.difference) for file in comparison.files] == [
        ("a", "only in the reference"),
        ("b", "only in the other"),
    ]
    assert not comparison.same


def test_archives_are_compared_by_their_members_and_not_by_when_they_were_packed(sides: tuple[Path, Path]) -> None:
    left = zipped({"a": b"1" * 1000, "b": b"2"}, day=1)
    right = zipped({"b": b"2", "a": b"1" * 1000}, day=2, method=zipfile.ZIP_STORED)
    write(sides, "model.zip", left, right)
    assert one(sides) == Compared("model.zip", "zip members")
    write(sides, "model.zip", left, zipped({"a": b"1" * 1000, "b": b"3"}))
    assert one(sides).difference == "member `b`: differs from byte 0 on"
    write(sides, "model.zip", left, zipped({"a": b"1" * 1000}))
    assert one(sides).difference == "member `b` is only in the reference"


def test_an_npz_is_compared_by_its_arrays(sides: tuple[Path, Path]) -> None:
    w: Any = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    write(sides, "m.npz", zipped({"w.npy": npy(w)}, day=1), zipped({"w.npy": npy(w)}, day=9))
    assert one(sides) == Compared("m.npz", "npz members")
    other = w.copy()
    other[1, 2] = 7
    write(sides, "m.npz", zipped({"w.npy": npy(w)}), zipped({"w.npy": npy(other)}))
    assert one(sides).difference == "member `w.npy`: value 5 is 7.0 instead of 5.0"


def test_keras_files_may_be_saved_on_different_days(sides: tuple[Path, Path]) -> None:
    def keras(day: str, weights: bytes) -> bytes:
        metadata = json.dumps({"keras_version": "3.8.0", "date_saved": day}).encode()
        return zipped({"metadata.json": metadata, "config.json": b"{}", "model.weights.h5": weights})

    write(sides, "m.keras", keras("2024-01-01@10:00:00", b"w"), keras("2024-01-02@11:11:11", b"w"))
    assert one(sides) == Compared("m.keras", "keras members")
    write(sides, "m.keras", keras("2024-01-01@10:00:00", b"w"), keras("2024-01-01@10:00:00", b"v"))
    assert "model.weights.h5" in one(sides).difference


def test_gzip_is_compared_by_what_is_inside(sides: tuple[Path, Path]) -> None:
    data = os.urandom(50_000) + b"tail"
    write(sides, "d.gz", gzip.compress(data, 9, mtime=1), gzip.compress(data, 1, mtime=2))
    assert one(sides) == Compared("d.gz", "gz content")
    write(sides, "d.gz", gzip.compress(data), gzip.compress(data[:-1] + b"L"))
    assert "50,003" in one(sides).difference
    write(sides, "d.json.gz", gzip.compress(b'{"a": 1, "b": 2}'), gzip.compress(b'{"b":2,"a":1}'))
    assert compare_directories(*sides, compare=["*.json.gz"]).identical


def test_json_is_compared_by_its_values(sides: tuple[Path, Path]) -> None:
    write(sides, "s.json", b'{"a": [1, 2.5, null], "b": "x"}', b'{ "b":"x","a":[1,2.5,null] }\n')
    assert one(sides) == Compared("s.json", "json")
    for right, words in {
        b'{"a": [1, 2.5, 0], "b": "x"}': "`a[2]`: 0 instead of null",
        b'{"a": [1, 2.5], "b": "x"}': "`a`: 2 items instead of 3",
        b'{"a": [1, 2.5, null]}': "`b` is only in the reference",
        b'{"a": [1.0, 2.5, null], "b": "x"}': "`a[0]`: 1.0 instead of 1",
        b'{"a": [true, 2.5, null], "b": "x"}': "`a[0]`: true instead of 1",
    }.items():
        write(sides, "s.json", b'{"a": [1, 2.5, null], "b": "x"}', right)
        assert one(sides).difference == words


def test_json_with_nan_is_equal_to_itself_and_zero_has_a_sign(sides: tuple[Path, Path]) -> None:
    write(sides, "s.json", b'{"loss": NaN}', b'{"loss":NaN}')
    assert one(sides).difference == ""
    write(sides, "s.json", b"[0.0]", b"[-0.0]")
    assert one(sides).difference == "`[0]`: -0.0 instead of 0.0"
    assert one(sides, tolerance=1e-9).difference == ""


def test_what_only_looks_like_json_is_compared_by_its_bytes(sides: tuple[Path, Path]) -> None:
    for left, right in ((b"{", b"{ "), (b'{"a":1,"a":2}', b'{"a":1, "a":2}'), (b"[" * 100_000, b"[" * 100_001)):
        write(sides, "s.json", left, right)
        compared = one(sides)
        assert compared.rule.startswith("bytes, not json")
        assert compared.difference


def test_safetensors_are_compared_by_name_wherever_the_tensors_lie(sides: tuple[Path, Path]) -> None:
    a: Any = numpy.ones(4, numpy.float32)
    b: Any = numpy.arange(3)
    write(sides, "m.safetensors", tensors({"a": a, "b": b}), tensors({"b": b, "a": a}))
    assert one(sides) == Compared("m.safetensors", "safetensors")
    write(sides, "m.safetensors", tensors({"a": a, "b": b}), tensors({"a": a * 2, "b": b}))
    assert one(sides).difference == "tensor `a`: value 0 is 2.0 instead of 1.0"
    write(sides, "m.safetensors", tensors({"a": a, "b": b}), tensors({"a": a.reshape(2, 2), "b": b}))
    assert one(sides).difference == "tensor `a`: shape [2, 2] instead of [4]"
    write(sides, "m.safetensors", tensors({"a": a}), tensors({"a": a.astype(numpy.float64)}))
    assert one(sides).difference == "tensor `a`: dtype F64 instead of F32"


def test_a_damaged_safetensors_file_is_compared_by_its_bytes(sides: tuple[Path, Path]) -> None:
    good = tensors({"a": numpy.ones(4, numpy.float32)})
    for bad in (good[:-1], good[:5], struct.pack("<Q", 1 << 60) + good[8:], good[:8] + b"[" + good[9:]):
        write(sides, "m.safetensors", good, bad)
        assert one(sides).rule.startswith("bytes, not safetensors")
        assert one(sides).difference


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", ">f4", "int32", "uint8", "complex64"])
def test_a_tolerance_lets_small_differences_of_arrays_pass_and_reports_the_largest(
    sides: tuple[Path, Path], kind: str
) -> None:
    values: Any = numpy.arange(40_000) % 100
    left, right = values.astype(kind), values.astype(kind)
    right[33_333] += 1
    write(sides, "a.npy", npy(left), npy(right))
    assert one(sides).difference
    assert one(sides, tolerance=0.001).difference
    tolerated = one(sides, tolerance=0.1)
    assert tolerated.difference == ""
    assert tolerated.within == pytest.approx(1 / 34, rel=0.01)
    comparison = compare_directories(*sides, tolerance=0.1)
    assert comparison.same
    assert not comparison.identical


def test_no_tolerance_lets_nan_or_infinity_stand_for_a_number(sides: tuple[Path, Path]) -> None:
    for odd in (numpy.nan, numpy.inf):
        write(sides, "a.npy", npy(numpy.array([1.0])), npy(numpy.array([odd])))
        assert one(sides, tolerance=1e9).difference


def test_texts_and_objects_in_arrays_have_no_tolerance(sides: tuple[Path, Path]) -> None:
    write(sides, "a.npy", npy(numpy.array(["ab"])), npy(numpy.array(["ac"])))
    assert one(sides, tolerance=10.0).difference


def test_a_bomb_is_not_unpacked(sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "EXPANDED_BYTES_MIN", 1 << 20)
    for name, pack in {"b.zip": lambda data: zipped({"a": data}), "b.gz": gzip.compress}.items():
        write(sides, name, pack(b"\x00" * (4 << 20)), pack(b"\x00" * (4 << 20) + b"1"))
        compared = compare_directories(*sides, compare=[name]).files[0]
        assert "grows to more than" in compared.rule
        assert compared.difference


def test_an_archive_whose_names_repeat_or_are_too_many_is_compared_by_its_bytes(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    write(sides, "m.zip", buffer.getvalue(), zipped({"a": b"2"}))
    assert "in it twice" in one(sides).rule
    from outlast.results.compare import archive as module

    monkeypatch.setattr(module, "MEMBERS_MAX", 10)
    many = {str(i): b"" for i in range(11)}
    write(sides, "m.zip", zipped(many, day=1), zipped(many, day=2))
    assert "more than 10 members" in one(sides).rule


def test_a_damaged_archive_is_compared_by_its_bytes(sides: tuple[Path, Path]) -> None:
    good = zipped({"a": os.urandom(1000)}, method=zipfile.ZIP_STORED)
    flipped = bytearray(good)
    flipped[500] ^= 1
    for bad in (good[:-5], bytes(flipped), good[:30]):
        write(sides, "m.zip", good, bad)
        assert one(sides).rule.startswith("bytes, not zip members"), one(sides)
        assert one(sides).difference


def test_archives_in_archives_are_looked_into_to_a_depth(sides: tuple[Path, Path]) -> None:
    def nested(day: int, depth: int) -> bytes:
        data = b"content"
        for _ in range(depth):
            data = zipped({"inner.zip": data}, day)
        return data

    write(sides, "m.zip", nested(1, 3), nested(2, 3))
    assert one(sides).difference == ""
    write(sides, "m.zip", nested(1, 8), nested(2, 8))
    assert one(sides).difference


def test_a_library_checkpoint_counts_without_its_attempt_number_and_time(sides: tuple[Path, Path]) -> None:
    def checkpoint(**changed: Any) -> bytes:
        document = {
            "format": 1,
            "step": 9,
            "complete": True,
            "attempt": 1,
            "number": 2,
            "created_at": 1.0,
            "metrics": {},
        }
        document["outputs"] = [{"path": "m.npz", "bytes": 4, "mode": 420, "kept": "1-2-3"}]
        return json.dumps({**document, **changed}).encode()

    (sides[0] / "checkpoint/step-000000000009").mkdir(parents=True)
    (sides[1] / "checkpoint/step-000000000009.2").mkdir(parents=True)
    left = sides[0] / "checkpoint/step-000000000009/checkpoint.json"
    right = sides[1] / "checkpoint/step-000000000009.2/checkpoint.json"
    left.write_bytes(checkpoint())
    outputs = [{"path": "m.npz", "bytes": 5, "mode": 420, "kept": "7-8-9"}]
    right.write_bytes(checkpoint(attempt=4, number=7, created_at=99.0, outputs=outputs))
    assert one(sides) == Compared("checkpoint/step-000000000009/checkpoint.json", "checkpoint record")
    changes: tuple[dict[str, Any], ...] = ({"step": 8}, {"complete": False}, {"outputs": []})
    for changed in changes:
        right.write_bytes(checkpoint(**changed))
        assert one(sides).difference, changed


def test_a_global_generator_that_nobody_seeds_is_no_difference_and_one_of_the_state_is(
    sides: tuple[Path, Path],
) -> None:
    def generators(of_nobody: int, of_the_state: int) -> bytes:
        data = {"own": {"0": of_the_state}, "global": {"random": of_nobody}}
        return json.dumps({"global": {"random": of_nobody}, "data": data}).encode()

    path = "checkpoint/step-000000000009/generators.json"
    write(sides, path, generators(1, 5), generators(2, 5))
    assert one(sides) == Compared(path, "generators of the state")
    write(sides, path, generators(1, 5), generators(1, 6))
    assert one(sides).difference == "`data.own.0`: 6 instead of 5"


@pytest.mark.parametrize("place", ["ended/000/", "rank-1/", "rank-1/ended/002/"])
def test_records_of_earlier_loops_and_other_ranks_are_compared_alike(sides: tuple[Path, Path], place: str) -> None:
    """A training of two loops was called one that is not deterministic."""
    path = f"checkpoint/step-000000000009/{place}checkpoint.json"
    write(sides, path, b'{"step": 9, "attempt": 1, "created_at": 1.0}', b'{"step": 9, "attempt": 2, "created_at": 2.0}')
    assert one(sides) == Compared(path, "checkpoint record")


def test_globs_choose_by_path_by_path_below_and_by_name(sides: tuple[Path, Path]) -> None:
    for name in ("output/a/x.csv", "output/a/y.csv", "output/z.bin", "checkpoint/last.pt"):
        write(sides, name, b"1", b"2")

    def paths(**options: Any) -> list[str]:
        comparison = compare_directories(*sides, **options)
        assert len(comparison.files) + len(comparison.left_out) == 4
        return [file.path for file in comparison.files]

    assert paths(ignore=["*.csv"]) == ["checkpoint/last.pt", "output/z.bin"]
    assert paths(ignore=["a/*"]) == ["checkpoint/last.pt", "output/z.bin"]
    assert paths(compare=["output/*"]) == ["output/a/x.csv", "output/a/y.csv", "output/z.bin"]
    assert paths(compare=["x.csv", "last.pt"], ignore=["checkpoint/*"]) == ["output/a/x.csv"]


def test_links_are_not_followed(sides: tuple[Path, Path]) -> None:
    write(sides, "a", b"1", b"1")
    (sides[0] / "link").symlink_to("/etc/hostname")
    assert compare_directories(*sides).same


def test_each_file_is_described_in_one_line_with_its_rule() -> None:
    files = (
        Compared("a", "bytes"),
        Compared("b", "npz members", "member `w.npy`: value 5 is 7.0 instead of 5.0"),
        Compared("c", "npy", within=0.001),
    )
    assert [describe(file) for file in files] == [
        "`a` is the same (to the byte)",
        "`b` differs (by npz members): member `w.npy`: value 5 is 7.0 instead of 5.0",
        "`c` is the same within the tolerance (by npy, largest difference 0.001)",
    ]
    assert Comparison(files).rules() == "bytes (1), npy (1), npz members (1)"
