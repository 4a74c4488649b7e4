"""A directory or file of this computer into the home, by content: what is there already is not uploaded again.

The order of writes: packs, then the record that names them. A push that dies in between leaves packs that nothing names; the next one
makes the same packs, finds them there, and goes on. Memory does not grow with the number of files: rows stream from the walk to the
listing, and what was seen last time streams beside them.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import field
from pathlib import Path

from outlast.bundle.crew import ahead
from outlast.bundle.dataset.listing import (
    DIRECTORY,
    SHARD_PIECES_MAX,
    SHARD_ROWS_MAX,
    Digest,
    Piece,
    Row,
    encode_shard,
)
from outlast.bundle.dataset.memory import Head, Known, Memory, Writer
from outlast.bundle.dataset.packs import Packs, PackUpload
from outlast.bundle.dataset.publish import publish, stands
from outlast.bundle.dataset.reading import Asked, Content, Read, ask, batches, read_batch
from outlast.bundle.dataset.record import DatasetRecord, Shard
from outlast.bundle.dataset.walk import Entry, Walk, changed
from outlast.bundle.report import REPORTED_MAX, LeftOut
from outlast.bundle.rules import CREDENTIAL
from outlast.bundle.tree import UNTRUSTED, marks_of, mode_of
from outlast.dataclass import dataclass
from outlast.errors import NotFound, UsageError
from outlast.folder.prunes import read_prunes
from outlast.spec.progress import OnProgress, silent
from outlast.store.store import Store, Upload

PENDING_MAX = 50_000
"""Rows that wait for their pack to be full."""

BATCHES_AHEAD = 2


@dataclass(frozen=True)
class Pushed:
    digest: str
    files: int
    bytes: int
    uploaded_bytes: int
    file: str = ""
    """The name of the only file, if the dataset is a file."""

    left_out: tuple[LeftOut, ...] = ()
    left_out_count: int = 0
    prune: int = 0
    """The home's newest prune when it was pushed."""


@dataclass
class Source:
    """What is pushed, walked as often as need be."""

    root: bytes
    file: str
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_count: int = 0

    def entries(self) -> Iterator[Entry]:
        self.left_out.clear()
        self.left_out_count = 0
        if not self.file:
            yield from Walk(self.root, self.leave_out)
            return
        status = os.stat(self.root)
        yield Entry(os.fsencode(self.file), self.root, mode_of(status.st_mode), marks_of(status))

    def leave_out(self, path: bytes, why: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < REPORTED_MAX:
            self.left_out.append(LeftOut(os.fsdecode(path), 0, why))


def push(store: Store, path: Path, *, cache: Path, on_progress: OnProgress = silent) -> Pushed:
    """Answers when all of it is in the home. A dataset that changes while it is read is an error, and is not named."""
    source = _source(path, store, cache)
    memory = Memory(cache, Path(os.path.abspath(path)))
    prunes = read_prunes(store)
    packs = Packs(store, prunes)
    before = memory.head()
    if before is not None and (before.home, before.prune) == (store.url, prunes.number):
        same = _difference(source, memory.rows(), trusted=True) is None
        if same and stands(store, prunes, packs, before.digest):
            return _pushed(source, before.digest, before.files, before.bytes, 0, prunes.number)
    pushing = Pushing(source, packs, memory.writer(), on_progress)
    try:
        with closing(pushing.uploads(memory.rows() if before is not None else iter(()))) as uploads:
            store.upload_many(map(pushing.counted, uploads), lambda done: pushing.say())
        difference = _difference(source, pushing.writer.rows(), trusted=False)
        if difference is not None:
            raise changed(difference)
        record = pushing.record()
        pushing.uploaded_bytes += publish(store, prunes, packs, record)
        memory.keep(pushing.writer, Head(store.url, record.digest, prunes.number, record.files, record.bytes))
    finally:
        pushing.writer.discard()
    return _pushed(source, record.digest, record.files, record.bytes, pushing.uploaded_bytes, prunes.number)


class Pushing:
    """From entries to rows, by way of packs. A row is complete when all its contents have their places."""

    def __init__(self, source: Source, packs: Packs, writer: Writer, on_progress: OnProgress) -> None:
        self.source = source
        self.packs = packs
        self.writer = writer
        self.uploaded_bytes = 0
        self._on_progress = on_progress
        self._doing = f"pushing `{os.fsdecode(os.path.basename(source.root))}`"
        self._digest = Digest(source.file)
        self._files = 0
        self._bytes = 0
        self._read_bytes = 0
        self._pending: deque[tuple[Entry, list[str] | None]] = deque()
        """With the sha256s of its contents; None: it is left out."""

        self._rows: list[Row] = []
        self._pieces = 0
        self._shards: list[Shard] = []
        self._used: set[str] = set()

    def uploads(self, known: Iterator[Known]) -> Generator[PackUpload, None, None]:
        """What is to be uploaded, in order; all is placed and listed when it ends."""
        contents: list[str] = []
        for batch in ahead(batches(_asked(self.source.entries(), known)), read_batch, BATCHES_AHEAD):
            for read in batch:
                yield from self._take(read, contents)
                if read.asked.last:
                    contents = []
            self.say()
        yield from self.packs.flush()
        yield from self._drain()
        yield from self._end_shard()

    def counted(self, upload: PackUpload) -> Upload:
        size = sum(content.bytes for content in upload.contents)
        self.uploaded_bytes += size
        return Upload(upload.key, upload.chunks, size)

    def record(self) -> DatasetRecord:
        if not self._files:
            raise UsageError(
                f"there is nothing in `{os.fsdecode(self.source.root)}`", hint="a dataset has a file at least"
            )
        return DatasetRecord(
            self._digest.finish(),
            self._files,
            self._bytes,
            tuple(self._shards),
            self.packs.sizes_of(sorted(self._used)),
            self.source.file,
        )

    def say(self) -> None:
        """How much was seen. How much there is, nobody knows before all of it was."""
        self._on_progress(self._doing, self._read_bytes, 0)

    def _take(self, read: Read, contents: list[str]) -> Iterator[PackUpload]:
        for content in read.contents:
            contents.append(content.sha256)
            yield from self.packs.add(content)
            self._read_bytes += content.bytes
        if read.asked.last:
            self._pending.append((read.asked.entry, None if read.refused else contents))
        if len(self._pending) >= PENDING_MAX:
            yield from self.packs.flush()
        yield from self._drain()

    def _drain(self) -> Iterator[PackUpload]:
        placed = self.packs.placed
        # The end of a long file comes last of all its contents.
        while self._pending and all(sha256 in placed for sha256 in reversed(self._pending[0][1] or [])):
            entry, contents = self._pending.popleft()
            if contents is None:
                self.writer.add(entry, None)
            else:
                yield from self._list(entry, tuple(placed[sha256] for sha256 in contents))
        if not self._pending and len(placed) > PENDING_MAX:
            placed.clear()

    def _list(self, entry: Entry, pieces: tuple[Piece, ...]) -> Iterator[PackUpload]:
        row = Row(entry.path, entry.mode, pieces)
        self._digest.add(row)
        self._files += row.mode != DIRECTORY
        self._bytes += row.bytes
        self._used.update(piece.pack for piece in pieces)
        self.writer.add(entry, pieces)
        self._rows.append(row)
        self._pieces += len(pieces)
        if len(self._rows) >= SHARD_ROWS_MAX or self._pieces >= SHARD_PIECES_MAX:
            yield from self._end_shard()

    def _end_shard(self) -> Iterator[PackUpload]:
        if not self._rows:
            return
        data = encode_shard(self._rows)
        self._rows, self._pieces = [], 0
        content = Content(hashlib.sha256(data).hexdigest(), data, len(data), Entry(b"", b"", "", UNTRUSTED), 0)
        yield from self.packs.place_alone(content)
        self._shards.append(Shard(self.packs.placed[content.sha256].pack, content.bytes, content.sha256))


def _source(path: Path, store: Store, cache: Path) -> Source:
    path = Path(os.path.abspath(path))
    real = Path(os.path.realpath(path))
    if not real.exists():
        raise NotFound(f"there is no `{path}`", hint="a dataset is a directory or a file")
    if not real.is_dir():
        if not real.is_file():
            raise UsageError(f"`{path}` is neither a directory nor a regular file", hint="name one of these")
        return Source(os.fsencode(real), path.name)
    for what, ours in (("home", store.url.removeprefix("file://")), ("cache", str(cache))):
        if os.path.isabs(ours) and Path(os.path.realpath(ours)).is_relative_to(real):
            raise UsageError(f"`{path}` holds the {what} `{ours}` itself", hint="push the directories in it one by one")
    return Source(os.fsencode(real), "")


def _asked(entries: Iterable[Entry], known: Iterator[Known]) -> Iterator[Asked]:
    """Only what has changed since it was known is asked for to be read. Both are in the order of the paths."""
    one = next(known, None)
    for entry in entries:
        while one is not None and one.path < entry.path:
            one = next(known, None)
        if one is None or one.path != entry.path:
            yield from ask(entry, None)
        elif not one.trusted or not one.fits(entry):
            yield from ask(entry, None, one.pieces or ())
        elif one.pieces is None:
            yield Asked(entry, 0, 0, (), last=True, refused=True)
        else:
            yield from ask(entry, one.pieces)


def _difference(source: Source, known: Iterator[Known], *, trusted: bool) -> bytes | None:
    """The first path that is not what was known; None if all is. `trusted`: a file that was too new then may differ."""
    for entry in source.entries():
        one = next(known, None)
        if one is None or not one.fits(entry) or (trusted and not one.trusted):
            return entry.path
        if one.pieces is None:
            source.leave_out(entry.path, CREDENTIAL)
    left = next(known, None)
    return left.path if left is not None else None


def _pushed(source: Source, digest: str, files: int, size: int, uploaded_bytes: int, prune: int) -> Pushed:
    return Pushed(
        digest, files, size, uploaded_bytes, source.file, tuple(source.left_out), source.left_out_count, prune
    )
