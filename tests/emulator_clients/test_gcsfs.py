"""gcsfs, the file system of fsspec, drives the emulator."""

from __future__ import annotations

import random

import gcsfs
import pytest

from outlast_emulator.testing import Running

CLIENT = "gcsfs"

LARGE = random.Random(3).randbytes(12 << 20)


@pytest.fixture
def files(emulator: Running) -> gcsfs.GCSFileSystem:
    options = {"skip_instance_cache": True, "use_listings_cache": False}
    return gcsfs.GCSFileSystem(project="emulated", token="anon", endpoint_url=emulator.url, **options)


def test_files_are_written_listed_read_and_removed(files: gcsfs.GCSFileSystem) -> None:
    files.mkdir("gcsfs-life")
    files.pipe("gcsfs-life/d/a b+ä.txt", b"0123456789")
    assert files.ls("gcsfs-life/d") == ["gcsfs-life/d/a b+ä.txt"]
    assert files.cat("gcsfs-life/d/a b+ä.txt") == b"0123456789"
    assert files.cat_file("gcsfs-life/d/a b+ä.txt", start=2, end=5) == b"234"
    assert files.info("gcsfs-life/d/a b+ä.txt")["size"] == 10
    assert not files.exists("gcsfs-life/none")
    files.rm("gcsfs-life", recursive=True)
    assert not files.exists("gcsfs-life")


def test_a_large_file_is_uploaded_in_blocks(files: gcsfs.GCSFileSystem, bucket: str) -> None:
    with files.open(f"{bucket}/large", "wb", block_size=5 << 20) as file:
        file.write(LARGE)
    with files.open(f"{bucket}/large", "rb") as file:
        file.seek(1 << 20)
        assert file.read(10) == LARGE[1 << 20 : (1 << 20) + 10]
    assert files.cat(f"{bucket}/large") == LARGE


def test_files_are_copied_moved_found_and_globbed(files: gcsfs.GCSFileSystem, bucket: str) -> None:
    for number in range(5):
        files.pipe(f"{bucket}/n/{number}.txt", b"%d" % number)
    files.cp(f"{bucket}/n/0.txt", f"{bucket}/m/zero")
    files.mv(f"{bucket}/m/zero", f"{bucket}/m/moved")
    assert files.find(f"{bucket}/m") == [f"{bucket}/m/moved"]
    assert len(files.glob(f"{bucket}/n/*.txt")) == 5
    assert files.du(bucket) == 6
    files.rm([f"{bucket}/n/{number}.txt" for number in range(5)])
    assert files.find(bucket) == [f"{bucket}/m/moved"]
