"""A commit's files as a directory of the cache, written by rules of our own: raw contents, no filter, no hook, no submodule."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from outlast.bundle.git_clone import Clone
from outlast.bundle.listing import BYTES_MAX, FILES_MAX, directories_of, is_canonical
from outlast.bundle.report import LeftOut
from outlast.bundle.rules import UNPORTABLE
from outlast.bundle.unpack import write_pieces
from outlast.dataclass import dataclass
from outlast.errors import NotFound, OutlastError, UsageError
from outlast.spec.git_source import GitSource

SUBMODULE = "a submodule, which is not fetched"
POINTER = "its content is in git-lfs, and is not fetched"
POINTER_BYTES_MAX = 1024
POINTER_BEGIN = b"version https://git-lfs.github.com/spec/"
CHUNK_BYTES = 1 << 20

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Checkout:
    directory: Path
    commit: str
    left_out: tuple[LeftOut, ...]


class Blob(NamedTuple):
    mode: bytes
    hash: bytes
    path: bytes
    bytes: int


def checkout(cache: Path, source: GitSource) -> Checkout:
    """The commit's files, from the cache if they have been here before. Never the repository's own directory."""
    clone = Clone(cache, source)
    with clone.locked():
        commit = clone.fetch()
        root = cache / "git" / "trees" / commit
        blobs, left_out = _list(clone, commit)
        if not root.is_dir():
            _make(clone, blobs, root)
    directory = root / source.below if source.below else root
    if not directory.is_dir() or not directory.resolve().is_relative_to(root.resolve()):
        raise NotFound(f"commit {commit[:12]} of `{source.url}` has no directory `{source.below}`")
    pointers = [LeftOut(os.fsdecode(blob.path), blob.bytes, POINTER) for blob in blobs if _is_pointer(root, blob)]
    return Checkout(directory, commit, (*left_out, *pointers))


def _list(clone: Clone, commit: str) -> tuple[list[Blob], list[LeftOut]]:
    done = subprocess.run(
        clone.command("ls-tree", "-r", "-l", "-z", "--full-tree", commit),
        env=clone.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise OutlastError(f"git cannot list commit {commit}: {done.stderr.decode(errors='replace').strip()[:200]}")
    blobs: list[Blob] = []
    left_out: list[LeftOut] = []
    for row in done.stdout.split(b"\0"):
        if not row:
            continue
        about, _, path = row.partition(b"\t")
        mode, kind, sha, size = about.split()
        if kind != b"blob":
            left_out.append(LeftOut(os.fsdecode(path), 0, SUBMODULE))
        elif not is_canonical(path):
            left_out.append(LeftOut(os.fsdecode(path), int(size), UNPORTABLE))
        else:
            blobs.append(Blob(mode, sha, path, int(size)))
    total_bytes = sum(blob.bytes for blob in blobs)
    if len(blobs) > FILES_MAX or total_bytes > BYTES_MAX:
        raise UsageError(
            f"commit {commit[:12]} has {len(blobs):,} files and {total_bytes:,} bytes; {FILES_MAX:,} and {BYTES_MAX:,} can be shipped",
            hint="give its data as a `--dataset`",
        )
    return blobs, left_out


def _make(clone: Clone, blobs: list[Blob], root: Path) -> None:
    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".tree-", dir=root.parent))
    try:
        _fill(clone, blobs, os.fsencode(made))
        made.rename(root)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _fill(clone: Clone, blobs: list[Blob], root: bytes) -> None:
    """Links last: until then nothing is there that could lead a file astray."""
    for directory in directories_of(blob.path for blob in blobs):
        _mkdir(os.path.join(root, directory))
    process = subprocess.Popen(
        clone.command("cat-file", "--batch"), env=clone.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    links: list[tuple[bytes, bytes]] = []
    try:
        for blob in blobs:
            process.stdin.write(blob.hash + b"\n")
            process.stdin.flush()
            contents = _contents(process.stdout, blob)
            if blob.mode == b"120000":
                links.append((os.path.join(root, blob.path), b"".join(contents)))
            else:
                _write(os.path.join(root, blob.path), 0o700 if blob.mode == b"100755" else 0o600, contents)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()
    for path, to in links:
        try:
            os.symlink(to, path)
        except (OSError, ValueError):
            continue  # a link to nothing legal: it would be left out anyway


def _contents(stream: IO[bytes], blob: Blob) -> Iterator[bytes]:
    header = stream.readline().split()
    if header[:2] != [blob.hash, b"blob"] or int(header[2]) != blob.bytes:
        raise OutlastError(
            f"git does not give `{os.fsdecode(blob.path)}`", hint="remove the `cache/git` of your OUTLAST_DIR"
        )
    left_bytes = blob.bytes
    while left_bytes:
        chunk = stream.read(min(CHUNK_BYTES, left_bytes))
        if not chunk:
            raise OutlastError(f"git stopped in the middle of `{os.fsdecode(blob.path)}`", hint="try again")
        left_bytes -= len(chunk)
        yield chunk
    stream.read(1)


def _write(path: bytes, mode: int, contents: Iterator[bytes]) -> None:
    try:
        handle = os.open(path, _CREATE, mode)
    except FileExistsError:
        raise _twice(path) from None
    try:
        write_pieces(handle, contents)
    finally:
        os.close(handle)


def _mkdir(path: bytes) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        raise _twice(path) from None


def _twice(path: bytes) -> UsageError:
    return UsageError(f"`{os.fsdecode(os.path.basename(path))}` is in the commit twice, as this file system sees it")


def _is_pointer(root: Path, blob: Blob) -> bool:
    if not len(POINTER_BEGIN) < blob.bytes <= POINTER_BYTES_MAX or blob.mode == b"120000":
        return False
    with open(os.path.join(os.fsencode(root), blob.path), "rb") as file:
        return file.read(len(POINTER_BEGIN)) == POINTER_BEGIN
