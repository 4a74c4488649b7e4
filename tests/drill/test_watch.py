"""A checkpoint directory is watched: a write is seen, and a file under its final name is caught torn."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from outlast.jobs.drill_watch import Torn, Watch, checkpoint_directory


def whole_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", os.urandom(1000))
    return buffer.getvalue()


def whole_safetensors() -> bytes:
    header = json.dumps({"a": {"dtype": "U8", "shape": [100], "data_offsets": [0, 100]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(100)


def test_a_write_is_seen_once_wherever_it_happens(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"1")
    watch = Watch(tmp_path, {})
    assert not watch.written()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new.tmp").write_bytes(b"1")
    assert watch.written()
    assert not watch.written()
    with (tmp_path / "deep" / "new.tmp").open("ab") as file:
        file.write(b"2")
        file.flush()
        assert watch.written()
    os.replace(tmp_path / "deep" / "new.tmp", tmp_path / "old")
    assert watch.written()


def test_a_directory_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "later", {})
    assert not watch.written()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a").touch()
    assert watch.written()


def test_a_file_with_nothing_in_it_yet_is_seen_and_has_no_digest(tmp_path: Path) -> None:
    watch = Watch(tmp_path, {})
    (tmp_path / "last").touch()
    assert watch.written() == {"last": ""}


WHOLE = {
    "last.npz": whole_zip(),
    "last.pt": whole_zip(),
    "last.json": b'{"step": 12, "weights": [1, 2, 3]}',
    "last.safetensors": whole_safetensors(),
    "last.pkl": pickle.dumps(list(range(100))),
    "last.bin": os.urandom(100),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_rewritten_in_place_is_caught_torn_and_one_that_is_renamed_is_not(tmp_path: Path, name: str) -> None:
    whole = WHOLE[name]
    path = tmp_path / name
    path.write_bytes(whole)
    watch = Watch(tmp_path, {name: {len(whole)}})
    (tmp_path / f"{name}.tmp").write_bytes(whole[:10])
    assert watch.written()
    (tmp_path / f"{name}.tmp").write_bytes(whole)
    os.replace(tmp_path / f"{name}.tmp", path)
    assert watch.written()
    assert watch.torn is None
    with path.open("wb") as file:
        file.write(whole[: len(whole) // 2])
        file.flush()
        assert watch.written()
    assert watch.torn == Torn(name, len(whole) // 2, len(whole))


def test_a_torn_file_is_also_seen_where_its_length_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "last.json"
    path.write_bytes(b'{"a": 1}')
    watch = Watch(tmp_path, {"last.json": {8}})
    path.write_bytes(b'{"a": 1, "b": [1, 2')
    assert watch.written()
    assert watch.torn is not None


def test_a_file_whose_length_varies_is_not_torn_because_it_is_shorter(tmp_path: Path) -> None:
    for name, shorter in (("last.json", b"[1]"), ("last.bin", bytes(90))):
        watch = Watch(tmp_path, {name: {100, 120}})
        (tmp_path / name).write_bytes(shorter)
        assert watch.written()
        assert watch.torn is None
    (tmp_path / "last.bin").write_bytes(bytes(40))
    watch.written()
    assert watch.torn == Torn("last.bin", 40, 100)


def test_checkpoints_lie_in_the_working_directory_or_where_the_library_keeps_them(tmp_path: Path) -> None:
    assert checkpoint_directory(tmp_path, "own/checkpoints") == tmp_path / "work/own/checkpoints"
    assert checkpoint_directory(tmp_path, "") == tmp_path / "run/checkpoint"


def test_a_file_that_gave_way_to_another_one_was_whole_whatever_its_size(tmp_path: Path) -> None:
    """Of a script that counts to ten the first saves are shorter, and perhaps none of them was committed."""
    watch = Watch(tmp_path, {})
    for number in (8, 16, 24):
        (tmp_path / "new").write_text(f"{number}\n")
        os.replace(tmp_path / "new", tmp_path / "count")
        watch.written()
    assert watch.replaced["count"] == {2, 3}


def test_a_file_that_is_written_on_was_not_whole(tmp_path: Path) -> None:
    watch = Watch(tmp_path, {})
    with open(tmp_path / "count", "w") as file:
        for _ in range(3):
            file.write("half")
            file.flush()
            watch.written()
    assert watch.replaced == {}
