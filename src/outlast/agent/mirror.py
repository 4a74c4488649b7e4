"""What the trainer saved, on its way to the home: parts, then the manifest, then head. And what nothing names any more, removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from outlast.agent.child import Saved, SavedFile
from outlast.dataclass import dataclass
from outlast.errors import Damaged, KeyMissing, NewerFormat
from outlast.folder.folder import Folder, nonce
from outlast.folder.records import File, Head, Manifest, Part, Pin
from outlast.spec.record import decode
from outlast.store.store import Upload

PART_BYTES = 64 << 20
"""Larger files are several parts, so that one lost connection costs little."""


@dataclass(frozen=True)
class Taken:
    """A file as it was committed last: while it has not changed, its parts are referred to and not sent again."""

    identity: str
    manifest: str
    file: File


class Mirror:
    """One attempt's uploads. `between(done, total)` is called between chunks: what must not wait is done there, and it may raise."""

    def __init__(self, folder: Folder, attempt: int, between: Callable[[int, int], None]) -> None:
        self.folder = folder
        self.attempt = attempt
        self.between = between
        self.taken: dict[str, Taken] = {}
        self.manifests = 0
        self._cached: dict[str, Manifest] = {}

    def recall(self) -> None:
        """Numbers go on after those of an earlier life of this agent: manifests are create-only."""
        prefix = f"{self.folder.keys.checkpoints}{self.attempt:06d}-"
        for entry in self.folder.store.list(prefix):
            number = entry.key.removeprefix(prefix).split("-")[0].removesuffix(".json")
            if number.isascii() and number.isdigit():  # a foreign file is no manifest
                self.manifests = max(self.manifests, int(number))

    def write(self, saved: Saved, head: Head) -> Manifest:
        """Parts and manifest; nothing counts before head names it. `Changed` if the trainer rewrote a file meanwhile."""
        kept_names = {checkpoint.name for checkpoint in head.checkpoints}
        upload = _Upload(self.folder, self.attempt, self.between)
        files: list[Callable[[], File]] = []
        for file in saved.files:
            taken = self.taken.get(file.path)
            # Only what a manifest kept in head names may be referred to: anything else may be garbage already.
            if taken and taken.identity == file.identity and taken.manifest in kept_names:
                files.append(partial(_same, taken.file))
            else:
                files.append(upload.add(file))
        upload.send(sum(file.bytes for file in saved.files))
        self.manifests += 1
        manifest = Manifest(
            name=f"{self.attempt:06d}-{self.manifests:06d}-{upload.nonce[:8]}",
            attempt=self.attempt,
            step=saved.step,
            complete=saved.complete,
            created_at=self.folder.store.now(),
            files=tuple(file() for file in files),
            metrics=saved.metrics,
        )
        self.folder.create(self.folder.keys.manifest(manifest.name), manifest)
        return manifest

    def committed(self, saved: Saved, manifest: Manifest) -> None:
        files = {file.path: file for file in manifest.files}
        self.taken = {one.path: Taken(one.identity, manifest.name, files[one.path]) for one in saved.files}
        self._cached[manifest.name] = manifest

    def collect(self, before: Head, after: Head) -> None:
        """Removes what the swap from `before` to `after` stopped naming; only the owner does, right after its own swap."""
        dropped = {one.name for one in before.checkpoints} - {one.name for one in after.checkpoints}
        if dropped:
            self._purge(dropped, after, ())

    def sweep(self, head: Head) -> None:
        """Removes what earlier attempts uploaded and never committed. Never anything of a later attempt: it may be our successor's."""
        strays: list[str] = []
        for attempt in range(_first_unswept(head, self.attempt), self.attempt):
            strays += [entry.key for entry in self.folder.store.list(self.folder.keys.parts(attempt))]
        if strays:
            self._purge(set(), head, strays)

    def _purge(self, dropped: set[str], head: Head, strays: Iterable[str]) -> None:
        # Pins are read after the swap: a reader that pinned before it is seen here, one that pins now finds head changed.
        held = {pin.manifest for pin in self._pins()}
        named = {one.name for one in head.checkpoints} | held | ({head.outputs} if head.outputs else set())
        try:
            keep = {part.key for name in named for part in self._parts(name)}
            gone = {part.key for name in dropped - held for part in self._parts(name)} | set(strays)
        except (Damaged, NewerFormat):
            return  # which parts it needs is not known: nothing goes before it is dropped itself
        self.folder.store.purge(sorted(gone - keep))
        self.folder.store.purge([self.folder.keys.manifest(name) for name in sorted(dropped - held)])
        for name in dropped:
            self._cached.pop(name, None)

    def _parts(self, name: str) -> Iterator[Part]:
        if name not in self._cached:
            try:
                self._cached[name] = self.folder.read_manifest(name)
            except KeyMissing:
                return
        for file in self._cached[name].files:
            yield from file.parts

    def _pins(self) -> Iterator[Pin]:
        now = self.folder.store.now()
        for entry in self.folder.store.list(self.folder.keys.pins):
            try:
                pin = decode(Pin, self.folder.store.get(entry.key).data, entry.key)
            except (KeyMissing, Damaged, NewerFormat):
                continue
            if pin.until > now:
                yield pin


def _first_unswept(head: Head, attempt: int) -> int:
    """The last earlier attempt that committed swept those before it; what it left itself is for us."""
    committed = [int(number) for number, one in head.attempts.items() if one.committed_step is not None]
    return max((number for number in committed if number < attempt), default=1)


def _same(file: File) -> File:
    return file


class _Upload:
    """The parts of one manifest, under a nonce that nobody else will ever use."""

    def __init__(self, folder: Folder, attempt: int, between: Callable[[int, int], None]) -> None:
        self.folder = folder
        self.attempt = attempt
        self.nonce = nonce(folder.random)
        self.between = between
        self.parts: list[_Part] = []

    def add(self, file: SavedFile) -> Callable[[], File]:
        """What answers its record, once all is sent."""
        whole = _Whole(file)
        parts = [self._part(whole, offset) for offset in range(0, file.bytes, PART_BYTES)]
        return partial(_record, whole, parts)

    def send(self, total: int) -> None:
        uploads = (Upload(part.key, part.chunks, part.size) for part in self.parts)
        self.folder.store.upload_many(uploads, lambda done: self.between(done, total))

    def _part(self, whole: _Whole, offset: int) -> _Part:
        key = self.folder.keys.part(self.attempt, self.nonce, len(self.parts) + 1)
        part = _Part(key, whole, offset, min(PART_BYTES, whole.file.bytes - offset))
        self.parts.append(part)
        return part


class _Whole:
    """A file's own hash, fed by its parts as long as they come in order; what did not is read again at the end."""

    def __init__(self, file: SavedFile) -> None:
        self.file = file
        self._check = hashlib.sha256()
        self._position = 0

    def feed(self, offset: int, chunk: bytes) -> None:
        if offset == self._position:
            self._check.update(chunk)
            self._position += len(chunk)

    def sha256(self) -> str:
        for offset in range(self._position, self.file.bytes, PART_BYTES):
            for chunk in self.file.chunks(offset, min(PART_BYTES, self.file.bytes - offset)):
                self._check.update(chunk)
        return self._check.hexdigest()


class _Part:
    """A stretch of a file, hashed whenever it is read: perhaps by a thread of the store's, perhaps again."""

    def __init__(self, key: str, whole: _Whole, offset: int, size: int) -> None:
        self.key = key
        self.whole = whole
        self.offset = offset
        self.size = size
        self.sha256 = ""

    def chunks(self) -> Iterator[bytes]:
        check = hashlib.sha256()
        offset = self.offset
        several = self.size < self.whole.file.bytes
        for chunk in self.whole.file.chunks(self.offset, self.size):
            check.update(chunk)
            if several:
                self.whole.feed(offset, chunk)
                offset += len(chunk)
            yield chunk
        self.sha256 = check.hexdigest()

    def record(self) -> Part:
        return Part(self.key, self.size, self.sha256)


def _record(whole: _Whole, parts: list[_Part]) -> File:
    records = tuple(part.record() for part in parts)
    sha256 = records[0].sha256 if len(parts) == 1 else whole.sha256()
    file = whole.file
    return File(file.path, file.bytes, sha256, file.mode, records)
