"""Large chunks go to the disk without the page cache; whatever the file system thinks of that, every byte arrives."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from outlast.errors import StoreFull
from outlast.store import direct
from outlast.store.directory import DirectoryStore

LARGE = direct.DIRECT_BYTES_MIN
BLOCK = direct.BLOCK_BYTES


def noise(size: int) -> bytes:
    return os.urandom(BLOCK) * (size // BLOCK) + os.urandom(size % BLOCK)


@pytest.mark.parametrize(
    "sizes",
    [(LARGE,), (LARGE - 1,), (LARGE + 1,), (3 * LARGE + 5 * BLOCK + 77,), (LARGE, LARGE), (100, LARGE + 3, LARGE)],
)
def test_every_byte_of_large_chunks_arrives_whatever_their_lengths(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    chunks = [noise(size) for size in sizes]
    store = DirectoryStore(tmp_path)
    assert store.upload("packs/a", chunks) == sum(sizes)
    assert b"".join(store.download("packs/a")) == b"".join(chunks)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such thing elsewhere")
def test_a_chunk_goes_past_the_page_cache_but_for_its_last_part_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = os.write

    def seen(file: int, data: bytes) -> int:
        import fcntl

        asked.append(fcntl.fcntl(file, fcntl.F_GETFL) & direct.FLAG)
        return real(file, data)

    monkeypatch.setattr(os, "write", seen)
    DirectoryStore(tmp_path).upload("packs/a", [noise(2 * LARGE + 9)])
    assert asked == [direct.FLAG, direct.FLAG, 0]


def refuse(file: int, data: memoryview) -> int:
    raise OSError(errno.EINVAL, "not aligned")


def half_a_block(file: int, data: memoryview) -> int:
    import fcntl

    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    fcntl.fcntl(file, fcntl.F_SETFL, flags & ~direct.FLAG)
    try:
        return os.pwrite(file, data[: BLOCK // 2], os.lseek(file, BLOCK // 2, os.SEEK_CUR) - BLOCK // 2)
    finally:
        fcntl.fcntl(file, fcntl.F_SETFL, flags)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such thing elsewhere")
@pytest.mark.parametrize("answer", [refuse, half_a_block])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_file_system_that_cannot_do_it_gets_the_rest_the_usual_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[int, memoryview], int], nth: int
) -> None:
    data = noise(3 * LARGE + 1)
    calls = 0
    real = os.write

    def write(file: int, given: memoryview) -> int:
        nonlocal calls
        calls += 1
        return answer(file, given) if calls == nth else real(file, given)

    monkeypatch.setattr(os, "write", write)
    store = DirectoryStore(tmp_path)
    store.upload("packs/a", [data])
    monkeypatch.undo()
    assert calls > nth
    assert b"".join(store.download("packs/a")) == data


def test_a_full_disk_is_said_to_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(file: int, given: memoryview) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StoreFull):
        DirectoryStore(tmp_path).upload("packs/a", [noise(LARGE)])
