"""From a bundle in the home to a fresh directory, by rules of our own: whoever wrote the home, nothing is written elsewhere.

Regular files only, canonical paths only, into a directory that nobody has put anything into: every directory on the way is made
here, and every file is created anew, so that no link can lead anything astray. A content counts when its sha256 is right.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from outlast.bundle.listing import EMPTY_SHA256, MODES, File, directories_of
from outlast.bundle.record import Bundle, read_bundle
from outlast.errors import Damaged, KeyMissing, OutlastError, UsageError
from outlast.folder import layout
from outlast.host.files import NO_NAME, remove_tree
from outlast.store.store import Store

HELD_BYTES_MAX = 1 << 20
"""A content that several files have is written from memory up to here; beyond, it is copied from the first of them."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PackGone(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def unpack(store: Store, digest: str, to: str | Path) -> None:
    """`to` is made, or is empty. After an error, what lies in it is not the bundle: throw it away.

    `Damaged` names what is not what was written. The disk's own errors come as OSError.
    """
    bundle = read_bundle(store, digest)
    while True:
        try:
            _unpack(store, bundle, to)
        except PackGone as gone:
            # A prune and another submit may have given the same listing other packs since it was read.
            again = read_bundle(store, digest)
            if again == bundle:
                raise Damaged(f"`{gone.key}` is gone from `{store.url}`", hint=_AGAIN) from None
            bundle = again
            remove_tree(to)
        else:
            return


def unpack_files(store: Store, bundle: Bundle, to: Path) -> None:
    """Some files of a bundle. `Damaged` also for a pack that is gone."""
    try:
        _unpack(store, bundle, to)
    except PackGone as gone:
        raise Damaged(f"`{gone.key}` is gone from `{store.url}`", hint=_AGAIN) from None


def _unpack(store: Store, bundle: Bundle, to: str | Path) -> None:
    root = _fresh(to)
    for directory in directories_of(bundle.files):
        _make(os.path.join(root, directory))
    by_content: dict[str, list[File]] = {}
    for file in bundle.files.values():
        by_content.setdefault(file.sha256, []).append(file)
    for file in by_content.pop(EMPTY_SHA256, []):
        os.close(_create(root, file))
    for pack, contents in _by_pack(bundle, by_content).items():
        _unpack_pack(store, pack, contents, by_content, root)


def _fresh(to: str | Path) -> bytes:
    try:
        os.makedirs(to, mode=0o700)
    except FileExistsError:
        if os.path.islink(to) or not os.path.isdir(to) or os.listdir(to):
            raise UsageError(f"`{to}` is not empty", hint="a bundle is unpacked into a new directory") from None
    return os.fsencode(os.path.abspath(to))


def _by_pack(bundle: Bundle, wanted: dict[str, list[File]]) -> dict[str, list[tuple[int, int, str]]]:
    """(offset, bytes, sha256) of the contents of each pack, in the order in which they lie there."""
    packs: dict[str, list[tuple[int, int, str]]] = {}
    for sha256, files in wanted.items():
        place = bundle.places[sha256]
        packs.setdefault(place.pack, []).append((place.offset, files[0].bytes, sha256))
    return {pack: sorted(contents) for pack, contents in packs.items()}


def _unpack_pack(
    store: Store, pack: str, contents: list[tuple[int, int, str]], wanted: dict[str, list[File]], root: bytes
) -> None:
    key = layout.pack(pack)
    stream = open_pack(store, pack)
    for offset, size, sha256 in contents:
        stream.skip_to(offset)
        first, *others = wanted[sha256]
        if size <= HELD_BYTES_MAX:
            data = stream.read(size)
            if hashlib.sha256(data).hexdigest() != sha256:
                raise not_as_written(key, first.path)
            for file in wanted[sha256]:
                _write(root, file, (data,))
        else:
            _write(root, first, stream.pieces(size, sha256, first.path))
            for file in others:
                _write(root, file, _pieces_of(os.path.join(root, first.path)))


class Stream:
    """A pack's bytes, from its beginning to its end, once."""

    def __init__(self, chunks: Iterator[bytes], key: str) -> None:
        self._chunks = chunks
        self._key = key
        self._chunk = memoryview(b"")
        self._at = 0
        """The offset of what comes next."""

    def skip_to(self, offset: int) -> None:
        if offset < self._at:
            raise Damaged(f"two contents of `{self._key}` overlap, as the bundle tells")
        while offset > self._at:
            self._take(offset - self._at)

    def read(self, size: int) -> bytes:
        pieces = []
        while size:
            piece = self._take(size)
            size -= len(piece)
            pieces.append(piece)
        return bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)

    def pieces(self, size: int, sha256: str, path: bytes) -> Iterator[memoryview]:
        digest = hashlib.sha256()
        while size:
            piece = self._take(size)
            digest.update(piece)
            size -= len(piece)
            yield piece
        if digest.hexdigest() != sha256:
            raise not_as_written(self._key, path)

    def _take(self, size: int) -> memoryview:
        """At least one byte and at most so many."""
        while not self._chunk:
            try:
                self._chunk = memoryview(next(self._chunks))
            except StopIteration:
                raise Damaged(f"`{self._key}` ends after {self._at:,} bytes, too early", hint=_AGAIN) from None
        piece, self._chunk = self._chunk[:size], self._chunk[size:]
        self._at += len(piece)
        return piece


def open_pack(store: Store, pack: str) -> Stream:
    key = layout.pack(pack)
    return Stream(_download(store, key), key)


def _download(store: Store, key: str) -> Iterator[bytes]:
    try:
        yield from store.download(key)
    except KeyMissing:
        raise PackGone(key) from None


_AGAIN = "submit the job again from its directory: what is missing is shipped again"


def not_as_written(key: str, path: bytes) -> Damaged:
    return Damaged(
        f"`{key}` is damaged: the content of `{os.fsdecode(path)}` is not what was shipped",
        hint=f"delete `{key}` in the home and submit the job again from its directory",
    )


def _make(path: bytes) -> None:
    try:
        os.mkdir(path, 0o755)
    except OSError as error:
        raise _no_place(error, path) from None


def _create(root: bytes, file: File) -> int:
    try:
        handle = os.open(os.path.join(root, file.path), _CREATE, MODES[file.mode])
    except OSError as error:
        raise _no_place(error, file.path) from None
    return handle


def _no_place(error: OSError, path: bytes) -> Exception:
    """What it means that something cannot be made there, if that is a matter of names."""
    if isinstance(error, FileExistsError):
        return OutlastError(
            f"`{os.fsdecode(path)}` is there already: this file system takes two names of the bundle for one",
            hint="rename one of the files, and submit again",
        )
    if error.errno in NO_NAME:
        return OutlastError(
            f"`{os.fsdecode(path)}` is in the bundle, and this file system has no such name",
            hint="rename it, and submit again",
        )
    return error


def _write(root: bytes, file: File, pieces: Iterator[memoryview] | Iterator[bytes] | tuple[bytes]) -> None:
    handle = _create(root, file)
    try:
        write_pieces(handle, pieces)
    finally:
        os.close(handle)


def write_pieces(handle: int, pieces: Iterable[memoryview | bytes]) -> None:
    for piece in pieces:
        written = os.write(handle, piece)
        while written < len(piece):
            written += os.write(handle, piece[written:])


def _pieces_of(path: bytes) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            yield piece
