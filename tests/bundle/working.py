"""A working directory, a home and a cache, and what travels between them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from outlast.bundle import tree
from outlast.bundle.pack import Packed, pack
from outlast.bundle.unpack import unpack
from outlast.clock import SYSTEM
from outlast.spec.spec import Target
from outlast.store.memory import MemoryStore
from outlast.store.store import Store

Tree = dict[str, tuple[bytes, int]]
"""Path -> content and mode."""


class Working:
    def __init__(self, scratch: Path, *, git: bool = True) -> None:
        self.scratch = scratch
        self.directory = scratch / "project"
        self.directory.mkdir()
        self.cache = scratch / "cache"
        self.store: Store = MemoryStore("home")
        self._unpacked = 0
        if git:
            self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at: str = "") -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=self.directory / at,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode(errors="replace").strip()

    def write(self, path: str, content: str | bytes = "x\n", mode: int | None = None) -> Path:
        at = self.directory / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            at.chmod(mode)
        return at

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "all")
        return self.git("rev-parse", "HEAD")

    def pack(
        self,
        *,
        store: Store | None = None,
        extra: tuple[Path, ...] = (),
        target: Target | None = None,
        may_be_empty: bool = False,
    ) -> Packed:
        return pack(
            store or self.store,
            self.directory,
            extra=extra,
            cache=self.cache,
            clock=SYSTEM,
            target=target,
            may_be_empty=may_be_empty,
        )

    def pack_anew(self) -> Packed:
        """With nothing remembered, into an empty home: what a bundle must be, however much is remembered."""
        with TemporaryDirectory(dir=self.scratch) as empty:
            return pack(MemoryStore("empty"), self.directory, cache=Path(empty), clock=SYSTEM)

    def unpacked(self, packed: Packed, store: Store | None = None) -> Tree:
        self._unpacked += 1
        to = self.scratch / f"unpacked-{self._unpacked}"
        unpack(store or self.store, packed.digest, to)
        return tree_of(to)

    def shipped(self) -> Tree:
        return self.unpacked(self.pack())

    def left_out(self) -> dict[str, str]:
        return {one.path: one.why for one in self.pack().left_out}

    def settle(self) -> None:
        """Nothing about a file's time is in doubt any more."""
        settle(self.directory)


def tree_of(directory: Path) -> Tree:
    found = {}
    for at, directories, files in os.walk(directory):
        for name in [*files, *(one for one in directories if os.path.islink(os.path.join(at, one)))]:
            path = Path(at, name)
            assert not path.is_symlink()
            found[path.relative_to(directory).as_posix()] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def settle(directory: Path) -> None:
    """Waits until the kernel's time is well beyond the newest change below the directory."""
    newest_ns = max(
        os.lstat(os.path.join(at, name)).st_ctime_ns for at, _, files in os.walk(directory) for name in files
    )
    probe = directory.parent / "probe"
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > newest_ns + tree.RACY_NANOSECONDS:
            return
        SYSTEM.sleep(0.005)
