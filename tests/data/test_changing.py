"""A dataset that changes while it is read is refused: no mixture of before and after is ever named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from outlast.bundle.dataset import listing, reading
from outlast.bundle.dataset.push import push
from outlast.errors import OutlastError
from outlast.store.directory import DirectoryStore
from outlast.store.one_by_one import unwatched
from outlast.store.store import Upload
from tests.data.material import back, contents, make, noise


class Meddling(DirectoryStore):
    """At the first upload somebody changes something."""

    def __init__(self, root: Path, meddle: Callable[[], None]) -> None:
        super().__init__(root)
        self._meddle: Callable[[], None] | None = meddle

    def upload_many(self, uploads: Iterable[Upload], between: Callable[[int], None] = unwatched) -> None:
        super().upload_many(map(self._meddled, uploads), between)

    def _meddled(self, upload: Upload) -> Upload:
        meddle, self._meddle = self._meddle, None
        if meddle is not None:
            meddle()
        return upload


def rewrite(root: Path, name: str) -> None:
    (root / name).write_bytes(b"other")


def rewrite_same_size_and_time(root: Path, name: str) -> None:
    before = (root / name).stat()
    (root / name).write_bytes(b"y" * before.st_size)
    os.utime(root / name, ns=(before.st_atime_ns, before.st_mtime_ns))


def append(root: Path, name: str) -> None:
    with (root / name).open("ab") as file:
        file.write(b"more")


def remove(root: Path, name: str) -> None:
    (root / name).unlink()


def replace(root: Path, name: str) -> None:
    (root / "replacement").write_bytes((root / name).read_bytes())
    (root / "replacement").rename(root / name)


def add(root: Path, name: str) -> None:
    (root / name).with_name("added").write_bytes(b"new")


def make_executable(root: Path, name: str) -> None:
    (root / name).chmod(0o755)


MEDDLING = (rewrite, rewrite_same_size_and_time, append, remove, replace, add, make_executable)


@pytest.mark.parametrize("name", ["a/first", "m/large", "z/last"])
@pytest.mark.parametrize("meddle", MEDDLING, ids=lambda one: one.__name__)
def test_a_dataset_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Path, str], None], name: str
) -> None:
    for module in (listing, reading):
        monkeypatch.setattr(module, "PIECE_BYTES", 1 << 20)
    root = make(
        tmp_path / "data", {"a/first": noise(1 << 20), "m/large": noise((1 << 20) + 10, 2), "z/last": noise(1 << 20, 3)}
    )
    with pytest.raises(OutlastError, match="changed while the dataset was read"):
        push(Meddling(tmp_path / "home", lambda: meddle(root, name)), root, cache=tmp_path / "cache")
    store = DirectoryStore(tmp_path / "home")
    assert not list(store.list("datasets/"))
    pushed = push(store, root, cache=tmp_path / "cache")
    assert contents(back(store, pushed.digest, tmp_path / "back")) == contents(root)


def test_a_file_that_changes_within_the_clocks_grain_is_read_again(store: DirectoryStore, tmp_path: Path) -> None:
    root = make(tmp_path / "data", {"x": b"1"})
    first = push(store, root, cache=tmp_path / "cache")
    status = (root / "x").stat()
    (root / "x").write_bytes(b"2")
    os.utime(root / "x", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert push(store, root, cache=tmp_path / "cache").digest != first.digest
