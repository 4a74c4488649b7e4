"""Layers are the same bytes everywhere, and what others read as a tar archive in gzip's form."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlast.bundle.environment.archive import Archive
from outlast.bundle.environment.install import Site
from outlast.bundle.environment.record import EnvironmentManifest
from outlast.container.environment import _LayerSite
from outlast.container.kept import Kept
from outlast.container.layer import Layer, Member, write_layer
from outlast.container.source import LayerSource
from outlast.errors import Damaged
from tests.environments.wheels import make_wheel


def written(*members: Member) -> tuple[Layer, bytes]:
    file = io.BytesIO()
    return write_layer(members, file), file.getvalue()


def read(data: bytes) -> dict[str, tuple[bytes, int]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        return {
            one.name: (archive.extractfile(one).read(), one.mode)  # type: ignore[union-attr]
            for one in archive
            if one.isfile()
        }


NAMES = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="/\\"), min_size=1, max_size=130
)


@given(st.dictionaries(NAMES.filter(lambda name: name not in (".", "..")), st.integers(0, 200_000), max_size=5))
@settings(max_examples=40, deadline=None)
def test_whatever_is_put_into_a_layer_is_read_out_of_it_by_tar(sizes: dict[str, int]) -> None:
    files = {name: name.encode() * (size // 2 + 1) for name, size in sizes.items()}
    files = {name: content[: sizes[name]] for name, content in files.items()}
    layer, data = written(*(Member.of(f"/opt/outlast/{name}", content) for name, content in files.items()))

    assert read(data) == {f"opt/outlast/{name}": (content, 0o644) for name, content in files.items()}
    assert layer.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(data)).hexdigest()}"
    assert layer.bytes == len(data)


def test_the_order_in_which_files_are_found_does_not_change_a_layer() -> None:
    files = [Member.of(f"/opt/{name}", name.encode()) for name in ("b/c", "a", "b/a", "é")]

    assert written(*files)[1] == written(*reversed(files))[1]


def test_a_layer_does_not_depend_on_who_compresses() -> None:
    """The bytes of a known layer, written down: no version of zlib has a say in them."""
    _, data = written(Member.of("/opt/a", b"content\n" * 100), Member(b"opt/l", link=b"a"))

    assert hashlib.sha256(data).hexdigest() == "decd179d399211dc16c8267d164a757c7445cc6890c2814d78cc0fcf91e862dc"


def test_files_belong_to_root_and_are_as_old_as_zip_archives_can_be() -> None:
    _, data = written(Member.of("/opt/a", b"x", 0o755))

    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        assert {(one.uid, one.gid, one.mtime) for one in archive} == {(0, 0, 315532800)}
        assert [one.name for one in archive] == ["opt", "opt/a"]


def test_other_programs_read_a_layer_too(tmp_path: Path) -> None:
    (tmp_path / "layer.tar.gz").write_bytes(written(Member.of("/opt/" + "n" * 200, b"x" * 70_000))[1])

    subprocess.run(["tar", "-xzf", "layer.tar.gz"], cwd=tmp_path, check=True)

    assert (tmp_path / "opt" / ("n" * 200)).read_bytes() == b"x" * 70_000


def test_a_file_that_grew_while_it_was_read_makes_no_layer() -> None:
    with pytest.raises(Damaged, match="has 3 bytes instead of 2"):
        written(Member(b"opt/a", 0o644, 2, lambda: (b"abc",)))


def test_packages_in_a_layer_are_what_an_installation_puts_on_a_disk(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tool/__init__.py": "x = 1\n" * 5000,
        "tool/data.bin": bytes(range(256)) * 9000,
        "tool/empty.py": "",
    }
    packed = make_wheel(tmp_path, "tool", files=files, entry_points="[console_scripts]\ntool = tool:main\n")
    on_disk = Site(tmp_path / "opt/outlast/environment", "3.11", "python3")
    inside = _LayerSite(EnvironmentManifest("3.11", "linux-x86_64", ()))

    with Archive(packed, packed.name) as archive:
        on_disk.install(archive)
        inside.install(archive)
        layer, data = written(*inside.members.values())

    expected = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in (tmp_path / "opt").rglob("*")
        if path.is_file() and path.name != "tool"
    }
    found = {name: content for name, (content, _) in read(data).items()}
    script = found.pop("opt/outlast/environment/bin/tool")
    assert script.startswith(b"#!/usr/bin/env python3\n")
    assert found == expected
    assert layer.bytes < packed.stat().st_size + 20_000, "what was compressed in the wheel stays so"


def test_a_wheel_whose_compressed_content_is_followed_by_something_else_is_refused(tmp_path: Path) -> None:
    wheel = deflated_with_rest(tmp_path)
    inside = _LayerSite(EnvironmentManifest("3.11", "linux-x86_64", ()))

    with Archive(wheel, wheel.name) as archive:
        inside.install(archive)
        with pytest.raises(Damaged, match="not as large as the archive says"):
            written(*inside.members.values())


def deflated_with_rest(folder: Path) -> Path:
    """A content whose compressed form claims to be four bytes longer than it is."""
    made = make_wheel(folder, "tool", files={"tool.py": "x = 1\n" * 100})
    with zipfile.ZipFile(made) as archive:
        entry = archive.getinfo("tool.py")
    data = bytearray(made.read_bytes())
    short, long = entry.compress_size.to_bytes(4, "little"), (entry.compress_size + 4).to_bytes(4, "little")
    central = next(
        at for at in range(len(data)) if data[at : at + 4] == b"PK\x01\x02" and data[at + 46 : at + 53] == b"tool.py"
    )
    assert data[central + 20 : central + 24] == short
    data[central + 20 : central + 24] = long
    made.write_bytes(data)
    return made


def test_an_image_sees_its_packages_before_those_of_its_own_python(tmp_path: Path) -> None:
    """The file that does so, run here with the path of a directory instead of the image's."""
    from outlast.container import entry

    packages = tmp_path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "zlib_of_ours.py").write_text("")
    (packages / "click.py").write_text("ours = True")
    (packages / "extra.pth").write_text(f"{tmp_path}/more\n")
    (tmp_path / "more").mkdir()
    source = (entry.HERE / "sitecustomize.py").read_text().replace("/opt/outlast/environment", str(tmp_path))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(source)

    done = subprocess.run(
        [sys.executable, "-c", "import click, sys, zlib_of_ours; print(click.ours, sys.path)"],
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.startswith("True "), done.stderr
    assert f"{tmp_path}/more" in done.stdout


def test_what_a_killed_build_has_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    folder = tmp_path / "containers" / "layers"
    for pid in (dead.pid, os.getpid()):
        (folder / f".making-{pid}-dir").mkdir(parents=True)
        (folder / f".making-{pid}-file").write_bytes(b"half a layer")

    Kept(tmp_path).layer(LayerSource("code", "1", lambda: nullcontext([Member.of("/a", b"1")])))

    left = {path.name for path in folder.glob(".making-*")}
    assert left == {f".making-{os.getpid()}-dir", f".making-{os.getpid()}-file"}


def _members(data: bytes) -> AbstractContextManager[Iterable[Member]]:
    return nullcontext([Member.of("/a", data)])


def test_layers_that_were_not_used_for_longest_go_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outlast.container.kept.BLOBS_BYTES_MAX", 5 << 20)
    monkeypatch.setattr("outlast.container.kept.SWEPT_BYTES_MIN", 1 << 20)
    kept = Kept(tmp_path)
    sources = [LayerSource("code", str(number), partial(_members, bytes([number]) * (2 << 20))) for number in range(4)]
    for number, source in enumerate(sources):
        os.utime(kept.blob(kept.layer(source).digest), (number, number))

    found = sorted(
        int(path.stat().st_mtime) for path in (tmp_path / "containers" / "layers").iterdir() if path.is_file()
    )
    assert found == [2, 3]
