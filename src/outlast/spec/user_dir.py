"""Where a user's own files are: `$OUTLAST_DIR`, else `~/.outlast`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def user_path(environ: Mapping[str, str]) -> Path:
    """It may not be there yet."""
    given = environ.get("OUTLAST_DIR")
    return Path(given) if given else Path(os.path.expanduser("~/.outlast"))
