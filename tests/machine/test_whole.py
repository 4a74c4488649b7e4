"""Torn files are known by their own format; whole ones are never refused."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from random import Random

import numpy
import pytest

from outlast.machine import whole


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(range(256)) * 40)
        archive.writestr("archive/data/0", b"w" * 5000)
    return data.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [100], "data_offsets": [0, 400]}, "__metadata__": {}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(400)


def npy(array: object) -> bytes:
    data = io.BytesIO()
    numpy.save(data, numpy.asarray(array))
    return data.getvalue()


def hdf5(version: int) -> bytes:
    body = bytearray(2048)
    body[:9] = b"\x89HDF\r\n\x1a\n" + bytes([version])
    body[13 if version == 0 else 9] = 8
    at = 40 if version == 0 else 28
    body[at : at + 8] = struct.pack("<Q", len(body))
    return bytes(body)


WHOLE = {
    "a.pt": ("zip", zipped()),
    "b.safetensors": ("safetensors", safetensors()),
    "c.json": ("json", json.dumps({"step": 3, "history": list(range(200))}).encode()),
    "d.json": ("json", b'{"a": 1}\n{"a": 2}\n'),
    "e.npy": ("npy", npy(numpy.arange(1000.0).reshape(10, 100))),
    "f.npy": ("npy", npy(["some", "words"])),
    "g.h5": ("hdf5", hdf5(0)),
    "h.h5": ("hdf5", hdf5(2)),
    "i.pkl": ("pickle", pickle.dumps(list(range(1000)))),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_passes_and_every_cut_is_seen(tmp_path: Path, name: str) -> None:
    kind, data = WHOLE[name]
    path = tmp_path / name
    path.write_bytes(data)
    assert whole.look(str(path)) == whole.Look(kind, whole=True)
    random = Random(name)
    for _ in range(40):
        path.write_bytes(data[: random.randrange(70, len(data) - 1)] if len(data) > 72 else data[:-3])
        assert not whole.look(str(path)).whole


@pytest.mark.parametrize("name", ["a.pt", "b.safetensors"])
def test_a_lost_page_is_seen_where_the_format_has_checksums(tmp_path: Path, name: str) -> None:
    _, data = WHOLE[name]
    path = tmp_path / name
    path.write_bytes(data[:2000].ljust(len(data), b"\0") if name == "a.pt" else data[:20].ljust(len(data), b"\0"))
    assert not whole.look(str(path)).whole


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("odd.bin", b"anything"),
        ("empty.pt", b""),
        ("legacy.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."),
        ("text.txt", b"{ not json"),
        ("model.keras.part", b""),
        ("zlib.pkl", b"x\x9c\x03\x00"),
    ],
)
def test_what_does_not_tell_is_not_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert whole.look(str(tmp_path / name)) == whole.Look("")


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (open, (str(tmp_path / "canary"), "w"))  # type: ignore[return-value]

    (tmp_path / "x.pkl").write_bytes(pickle.dumps(Evil()))
    assert whole.look(str(tmp_path / "x.pkl")).whole
    assert not (tmp_path / "canary").exists()


def test_real_files_of_torch_are_whole(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"w": torch.zeros(100)}, tmp_path / "a.pt")
    torch.save({"w": torch.zeros(100)}, tmp_path / "b.pt", _use_new_zipfile_serialization=False)
    numpy.savez(tmp_path / "c.npz", w=numpy.zeros(9))
    assert [whole.look(str(tmp_path / name)).whole for name in ("a.pt", "b.pt", "c.npz")] == [True, True, True]
