"""What this computer refuses of the user's own directory, in words that a user can read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from outlast.errors import Denied, OutlastError, StoreFull

KINDS = {
    errno.EACCES: Denied,
    errno.EPERM: Denied,
    errno.EROFS: Denied,
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
}


@contextmanager
def told(path: os.PathLike[str], state: str = "") -> Iterator[None]:
    """An `OSError` while it is written to, as an error that names it. `state`: what is true then."""
    try:
        yield
    except OSError as error:
        raise KINDS.get(error.errno or 0, OutlastError)(
            f"`{os.fspath(path)}` cannot be written: {error.strerror}",
            state=state,
            hint="free some space there, or set OUTLAST_DIR to a directory that can be written",
        ) from error
