"""Layers are written as overlays want them, and never beside their directory; without root, as one tree that plain processes find."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import threading
from pathlib import Path

import pytest

from outlast_emulator.containers.container import Container
from outlast_emulator.containers.host import ContainerHost, Start
from outlast_emulator.containers.network import Network
from outlast_emulator.containers.pull import NoImage, address_of
from outlast_emulator.containers.unpack import BadLayer, unpack
from outlast_emulator.machines.metadata import Metadata
from outlast_emulator.testing import Running
from tests.emulator_vertex.images import push, tar


def layer(*entries: tuple[str, str, str]) -> io.BytesIO:
    """(name, kind, target or contents)."""
    held = io.BytesIO()
    kinds = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "directory": tarfile.DIRTYPE}
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, kind, text in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kinds.get(kind, tarfile.REGTYPE)
            if kind in ("link", "hard"):
                entry.linkname = text
            else:
                entry.size = len(text) if kind == "file" else 0
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(text.encode()) if kind == "file" else None)
    held.seek(0)
    return held


def test_links_of_a_layer_lead_nowhere_but_into_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    entries = (
        ("absolute", "link", str(outside)),
        ("absolute/a", "file", "1"),
        ("upward", "link", "../../../.."),
        ("upward/b", "file", "1"),
        ("/rooted/c", "file", "1"),
    )
    unpack(layer(*entries), tmp_path / "layer")
    assert list(outside.iterdir()) == []
    inside = tmp_path / "layer" / str(outside).lstrip("/") / "a"
    assert inside.read_text() == "1" and (tmp_path / "layer" / "b").exists()
    assert (tmp_path / "layer" / "rooted" / "c").exists()


@pytest.mark.parametrize(
    "entry",
    [("../a", "file", "1"), ("a/../../b", "file", "1"), ("a", "hard", "../../etc/passwd"), ("loop", "link", "loop")],
)
def test_a_layer_that_would_write_outside_is_refused(tmp_path: Path, entry: tuple[str, str, str]) -> None:
    with pytest.raises((BadLayer, FileNotFoundError)):
        unpack(layer(entry, ("loop/x", "file", "1")), tmp_path / "layer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layer"]


def test_deletions_are_marks_in_a_layer_and_done_in_a_flat_image(tmp_path: Path) -> None:
    first = (("d/a", "file", "1"), ("d/b", "file", "1"), ("e/c", "file", "1"))
    second = (("d/.wh.a", "file", ""), ("e/.wh..wh..opq", "file", ""), ("e/n", "file", "2"))
    unpack(layer(*second), tmp_path / "marked")
    assert stat.S_ISCHR(os.lstat(tmp_path / "marked/d/a").st_mode)
    assert os.getxattr(tmp_path / "marked/e", "trusted.overlay.opaque") == b"y"
    for entries in (first, second):
        unpack(layer(*entries), tmp_path / "flat", flat=True)
    found = sorted(
        str(path.relative_to(tmp_path / "flat")) for path in (tmp_path / "flat").rglob("*") if path.is_file()
    )
    assert found == ["d/b", "e/n"]


def test_a_layer_may_be_a_gzip_file_of_many_members(tmp_path: Path) -> None:
    """As whoever takes over what is compressed already makes them."""
    plain = layer(("a", "file", "1" * 3000), ("b", "file", "2")).getvalue()
    pieces = [plain[at : at + 700] for at in range(0, len(plain), 700)]
    unpack(io.BytesIO(b"".join(gzip.compress(piece) for piece in pieces)), tmp_path / "layer")
    assert (tmp_path / "layer" / "a").read_text() == "1" * 3000
    assert (tmp_path / "layer" / "b").read_text() == "2"
    with pytest.raises(BadLayer):
        unpack(io.BytesIO(gzip.compress(plain)[:-20]), tmp_path / "cut")


def test_what_is_no_tar_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadLayer):
        unpack(io.BytesIO(b"\x28\xb5\x2f\xfd" + b"zstd" * 1000), tmp_path / "layer")


def test_an_address_says_which_registry_is_meant() -> None:
    own = "http://127.0.0.1:1234"
    found = {
        text: address_of(text, own)
        for text in ("127.0.0.1:1234/a/b:t", "gcr.io/p/i", "localhost:5000/a@sha256:1", "python:3.11")
    }
    assert found["127.0.0.1:1234/a/b:t"] == (own, "a/b", "t")
    assert found["gcr.io/p/i"] == (own, "p/i", "latest")
    assert found["localhost:5000/a@sha256:1"] == ("http://localhost:5000", "a", "sha256:1")
    assert found["python:3.11"] == (own, "library/python", "3.11")
    with pytest.raises(NoImage):
        address_of("example.com/a", own)


def test_without_root_a_container_is_a_plain_process_that_finds_its_image(
    emulator: Running, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = b'#!/bin/sh\necho "$(cat $DATA) $GCE_METADATA_HOST"; echo bad >&2; sleep 1000 & exit 7\n'
    address = push(
        emulator,
        layers=(tar({"opt/run.sh": script, "opt/data": b"contents"}),),
        Entrypoint=["/opt/run.sh"],
        Env=["DATA=/opt/data"],
    )
    host = ContainerHost(tmp_path / "containers", kind="plain")
    network = Network(Metadata(), 0, None, isolated=False)
    lines: list[tuple[str, str]] = []
    ended = threading.Event()
    start = Start("w", "one", host.images.ready(address, emulator.url, ""), network, (), (), {}, {}, {})

    def exited(_: Container) -> None:
        ended.set()

    container = host.start(start, lambda stream, line: lines.append((stream, line)), exited)
    assert ended.wait(60) and container.code == 7
    assert sorted(lines) == [("stderr", "bad"), ("stdout", f"contents {network.metadata_host}")]
    assert "containers are plain processes of yours" in capfd.readouterr().err
    assert not (tmp_path / "containers" / "disks" / "one").exists()
    network.close()
