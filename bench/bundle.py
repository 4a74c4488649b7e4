"""A bundle of 10,000 files and 60 MB: against `git status`, and for the first time against `tarfile` with gzip."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bench.measure import Row, command, interleaved, limit_row, ratio_row, wall
from outlast.bundle.pack import Packed, pack
from outlast.bundle.tree import RACY_NANOSECONDS
from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.store.directory import DirectoryStore

FILES = 10_000
FILE_BYTES = 6_000
EDITED = "package7/part3/module82.py"
ONE_CHANGE_UPLOAD_BYTES_MAX = 500_000


def rows(scratch: Path) -> Iterator[Row]:
    repository = make_repository(scratch / "repository")
    settle(scratch, repository.rglob("*.py"))
    subprocess.run(["git", "update-index", "--refresh", "-q"], cwd=repository, check=True)
    bench = Bench(scratch, repository)
    status = command(["git", "status"], cwd=repository)
    timed = interleaved(
        {
            "status": wall(status),
            "nothing": bench.nothing_changed,
            "status again": wall(status),
            "one": bench.one_changed,
        }
    )
    against = (timed["status"] + timed["status again"]) / 2
    yield ratio_row("bundle of 10,000 files, nothing changed", timed["nothing"], against, "`git status`", 2)
    yield ratio_row("bundle of 10,000 files, one file changed", timed["one"], against, "`git status`", 4)
    yield limit_row(
        "bytes uploaded for one changed line",
        bench.uploaded_bytes,
        ONE_CHANGE_UPLOAD_BYTES_MAX,
        lambda size: f"{size:,.0f}",
    )
    first = interleaved({"first": bench.first_time, "tarfile": wall(lambda: make_tar(scratch, repository))})
    yield ratio_row("bundle of 10,000 files, first time", first["first"], first["tarfile"], "`tarfile`, gzip", 0.1)
    back = interleaved({"unpack": bench.unpack, "copy": lambda: bench.into_fresh(lambda to: copy(repository, to))}, 3)
    yield ratio_row("unpacking 10,000 files", back["unpack"], back["copy"], "`cp -r`", 2)


class Bench:
    def __init__(self, scratch: Path, repository: Path) -> None:
        self.scratch = scratch
        self.repository = repository
        self.uploaded_bytes = 0
        self.packed = self.pack("home", "cache")
        self._count = itertools.count()

    def pack(self, home: str, cache: str) -> Packed:
        store = DirectoryStore(self.scratch / home)
        return pack(store, self.repository, cache=self.scratch / cache, clock=SYSTEM)

    def nothing_changed(self) -> float:
        settle(self.scratch, [self.repository / EDITED])
        self.packed = self.pack("home", "cache")
        return wall(lambda: self.pack("home", "cache"))()

    def one_changed(self) -> float:
        with (self.repository / EDITED).open("a") as file:
            file.write(f"# {next(self._count)}\n")
        before = self.packed.digest

        def action() -> None:
            self.packed = self.pack("home", "cache")

        seconds = wall(action)()
        assert self.packed.digest != before
        self.uploaded_bytes = max(self.uploaded_bytes, self.packed.uploaded_bytes)
        return seconds

    def first_time(self) -> float:
        for name in ("first-home", "first-cache"):
            shutil.rmtree(self.scratch / name, ignore_errors=True)
        return wall(lambda: self.pack("first-home", "first-cache"))()

    def unpack(self) -> float:
        store = DirectoryStore(self.scratch / "home")
        return self.into_fresh(lambda to: unpack(store, self.packed.digest, to))

    def into_fresh(self, action: Callable[[Path], object]) -> float:
        to = self.scratch / "unpacked"
        shutil.rmtree(to, ignore_errors=True)
        return wall(lambda: action(to))()


def make_repository(directory: Path) -> Path:
    """Source text, cut out of Python's own library."""
    library = Path(os.__file__).parent
    text = b"".join(path.read_bytes() for path in sorted(library.glob("*.py")) + sorted(library.glob("*/*.py")))
    for number in range(FILES):
        path = directory / f"package{number % 25}" / f"part{number // 25 % 20}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = number * FILE_BYTES % (len(text) - FILE_BYTES)
        path.write_bytes(b"# %d\n" % number + text[at : at + FILE_BYTES])
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *who, *words], cwd=directory, env=environment, check=True)
    return directory


def settle(scratch: Path, paths: Iterable[Path]) -> None:
    """Waits until no file's time is in doubt, as it is of one that was written a moment ago."""
    newest_ns = max(path.stat().st_ctime_ns for path in paths)
    now = scratch / "now"
    now.write_bytes(b"")
    while now.stat().st_ctime_ns < newest_ns + 2 * RACY_NANOSECONDS:
        SYSTEM.sleep(0.1)
        now.write_bytes(b"")


def make_tar(scratch: Path, repository: Path) -> None:
    with tarfile.open(scratch / "all.tar.gz", "w:gz") as archive:
        for path in sorted(repository.iterdir()):
            if path.name != ".git":
                archive.add(path, path.name)


def copy(repository: Path, to: Path) -> None:
    to.mkdir()
    subprocess.run(["cp", "-r", "--", *map(str, repository.glob("package*")), str(to)], check=True)
