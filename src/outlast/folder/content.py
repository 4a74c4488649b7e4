"""A committed file's bytes, checked while they are read; and a reader's hold on them while it copies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from outlast.errors import Damaged, KeyMissing, NotFound
from outlast.folder.folder import Folder, nonce
from outlast.folder.life import best_checkpoint
from outlast.folder.records import Checkpoint, File, Head, Manifest, Pin

PIN_SECONDS = 3600.0
"""How long a reader may copy before the owner may remove under its hands; far longer than any copy that still moves."""


def download(folder: Folder, file: File) -> Iterator[bytes]:
    """The bytes of a file out of its parts; `Damaged` where they are not what was committed."""
    for part in file.parts:
        check = hashlib.sha256()
        size = 0
        try:
            for chunk in folder.store.download(part.key):
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
def pinned(folder: Folder, choose: str) -> Iterator[tuple[Checkpoint, Manifest]]:
    """A kept checkpoint that stays whole while it is copied. `choose`: `last`, `best`, a step, or a name.

    Pin, then read head again: still kept, then its owner's next look at the pins will see ours; else take the newest instead.
    """
    key = folder.keys.pin(nonce(folder.random))
    try:
        while True:
            checkpoint = select(folder.existing_head().head, choose)
            folder.rewrite(key, Pin(checkpoint.name, folder.store.now() + PIN_SECONDS))
            if checkpoint in folder.existing_head().head.checkpoints:
                break
        yield checkpoint, read_manifest(folder, checkpoint.name)
    finally:
        folder.store.purge([key])


def select(head: Head, choose: str) -> Checkpoint:
    checkpoints = head.checkpoints
    if not checkpoints:
        raise NotFound(f"job `{head.job}` has no checkpoint yet")
    if choose == "last":
        return checkpoints[-1]
    if choose == "best":
        return best_checkpoint(checkpoints) or checkpoints[-1]
    for checkpoint in reversed(checkpoints):
        if choose in (str(checkpoint.step), checkpoint.name):
            return checkpoint
    steps = ", ".join(str(checkpoint.step) for checkpoint in checkpoints)
    raise NotFound(f"job `{head.job}` has no checkpoint `{choose}`", hint=f"it has `last`, `best` and the steps {steps}")
