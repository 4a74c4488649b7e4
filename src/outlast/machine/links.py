"""`--link`: directories of this computer, seen in the working directory under their own names, not copied."""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlast.errors import NotFound, UsageError


def place_links(links: Iterable[str], work: str) -> None:
    """What is linked to must still be there. The bundle comes first: no name of it may be in the way."""
    for link in links:
        if not os.path.exists(link):
            raise NotFound(f"`{link}`, which the job links to, is gone", hint="put it back, or submit without `--link`")
        try:
            os.symlink(link, f"{work}/{os.path.basename(link)}")
        except FileExistsError:
            raise UsageError(
                f"`{os.path.basename(link)}` is a name of the bundle, and cannot be a link to `{link}` too",
                hint="rename one of them",
            ) from None
