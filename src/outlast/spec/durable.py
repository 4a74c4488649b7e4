"""Hands what was written to a file over to the disk itself."""

from __future__ import annotations

import errno
import fcntl
import os

UNABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS})
"""What file systems answer that have no such call, network ones among them."""


def make_durable(file: int) -> None:
    """Returns when it would survive a power cut. macOS alone has F_FULLFSYNC: its fsync leaves the data in the drive's own cache."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(file, full)
            return
        except OSError as error:
            if error.errno not in UNABLE:
                raise
    os.fsync(file)
