"""A committed file's bytes, checked while they are read; and a reader's hold on them while it copies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from outlast.errors import Damaged, Denied, KeyMissing, NotFound, StoreFull
from outlast.folder.folder import Folder, nonce
from outlast.folder.life import best_checkpoint
from outlast.folder.records import Checkpoint, File, Head, Manifest, Pin

PIN_SECONDS = 3600.0
"""How long a reader may copy before the owner may remove under its hands; far longer than any copy that still moves."""


def download(folder: Folder, file: File) -> Iterator[bytes]:
    """The bytes of a file out of its parts; `Damaged` where they are not what was committed."""
    return _checked(file, (folder.store.download(part.key) for part in file.parts))


def download_many(folder: Folder, files: Sequence[File]) -> Iterator[tuple[File, Iterator[bytes]]]:
    """The same for several, in order; each is read to its end before the next one is taken."""
    streams = folder.store.download_many(part.key for file in files for part in file.parts)
    for file in files:
        yield file, _checked(file, streams)


def _checked(file: File, streams: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    for part in file.parts:
        check = hashlib.sha256()
        size = 0
        try:
            for chunk in next(streams):
                check.update(chunk)
                size += len(chunk)
                if size <= part.bytes:
                    yield chunk
        except KeyMissing:
            raise Damaged(f"`{part.key}` is gone, a part of `{file.path}`") from None
        if size != part.bytes or check.hexdigest() != part.sha256:
            raise Damaged(f"`{part.key}` is not what was committed of `{file.path}`")


def read_manifest(folder: Folder, name: str) -> Manifest:
    """`Damaged` also where it is gone: head names it, so it was there."""
    try:
        return folder.read_manifest(name)
    except KeyMissing:
        raise Damaged(f"`{folder.keys.manifest(name)}` is gone, although it was committed") from None


@contextmanager
def pinned(folder: Folder, choose: Callable[[Head], list[str]]) -> Iterator[list[Manifest]]:
    """The manifests that `choose` names, kept whole while they are copied.

    Pin, then read head again: if it still names them, its owner's next look at the pins sees ours; else choose anew.
    A home that is full, or not ours to write, is read without a hold: what goes meanwhile is `Damaged` to whoever reads it.
    """
    pins: list[str] = []
    try:
        while True:
            names = choose(folder.existing_head().head)
            for name in names:
                pins.append(folder.keys.pin(nonce(folder.random)))
                try:
                    folder.rewrite(pins[-1], Pin(name, folder.store.now() + PIN_SECONDS))
                except (StoreFull, Denied):
                    pins.pop()
            if set(names) <= named(folder.existing_head().head):
                break
            folder.store.purge(pins)
        yield [read_manifest(folder, name) for name in names]
    finally:
        folder.store.purge(pins)


def named(head: Head) -> set[str]:
    """The manifests that head holds on to."""
    return {checkpoint.name for checkpoint in head.checkpoints} | ({head.outputs} if head.outputs else set())


def select(head: Head, choose: str) -> Checkpoint:
    """`last`, `best`, a step, or a name."""
    checkpoints = head.checkpoints
    if not checkpoints:
        raise NotFound(
            f"job `{head.job}` kept no checkpoint" if head.state.final else f"job `{head.job}` has no checkpoint yet",
            hint=f"`outlast show {head.job}` says how it {'ended' if head.state.final else 'stands'}",
        )
    if choose == "last":
        return checkpoints[-1]
    if choose == "best":
        return best_checkpoint(checkpoints) or checkpoints[-1]
    for checkpoint in reversed(checkpoints):
        if choose in (str(checkpoint.step), checkpoint.name):
            return checkpoint
    steps = ", ".join(str(checkpoint.step) for checkpoint in checkpoints)
    raise NotFound(
        f"job `{head.job}` has no checkpoint `{choose}`", hint=f"it has `last`, `best` and the steps {steps}"
    )
