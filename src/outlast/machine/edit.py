"""New code under a trainer that runs: the working directory becomes what another bundle has, file by file.

Only what the two bundles differ in is touched: what the trainer has written stays, unless the new code has a file of that name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from outlast.bundle.record import Bundle, read_bundle
from outlast.bundle.unpack import unpack_files
from outlast.host import files
from outlast.store.store import Store


def edit(store: Store, before: str, after: str, work: Path, say: Callable[[str], None]) -> None:
    """Every file is replaced as a whole. `Damaged` before anything was touched."""
    old, new = read_bundle(store, before), read_bundle(store, after)
    changed = {path: file for path, file in new.files.items() if old.files.get(path) != file}
    removed = [path for path in old.files if path not in new.files]
    staging = Path(tempfile.mkdtemp(prefix=".edit-", dir=work.parent))
    try:
        unpack_files(store, Bundle(changed, new.places), staging / "new")
        _put(staging / "new", work, list(changed))
    finally:
        files.remove(staging)
    _remove(work, removed)
    say(
        f"the code was changed: {_count(len(changed), 'file')} new or different, {_count(len(removed), 'file')} removed"
    )


def _put(staged: Path, work: Path, paths: list[bytes]) -> None:
    root, source = os.fsencode(work), os.fsencode(staged)
    for path in paths:
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(target) and not os.path.islink(target):
            files.remove(Path(os.fsdecode(target)))
        os.replace(os.path.join(source, path), target)


def _remove(work: Path, paths: list[bytes]) -> None:
    """With the directories that this leaves empty."""
    root = os.fsencode(work)
    for path in paths:
        try:
            os.unlink(os.path.join(root, path))
        except OSError:
            continue  # the trainer has done so itself, or has put something else there
        directory = os.path.dirname(path)
        while directory:
            try:
                os.rmdir(os.path.join(root, directory))
            except OSError:
                break
            directory = os.path.dirname(directory)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
