"""Whether a directory home is there at all: a file system that is not mounted leaves an empty directory in its place, or none."""

from __future__ import annotations

import os

from outlast.errors import StoreUnavailable
from outlast.store.paths import TEMPORARY
from outlast.store.walk import walk


def is_there(root: str) -> bool:
    """Of a home that was written to. The first write makes the directory for temporary files, and no delete removes it.

    Somebody else may have, so any object in a directory will do. A file in the root is none of ours: people mark a mount point so.
    """
    if os.path.isdir(f"{root}/{TEMPORARY}"):
        return True
    return any("/" in key for key, _ in walk(root, "", ""))


def away(root: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the home `{root}` is not there: nothing is left of what was written to it",
        hint="is its file system mounted? mount and df show what is",
    )
