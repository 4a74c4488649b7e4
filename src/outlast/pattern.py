"""Regular expressions that are compiled when they are first used: a command imports sixty and uses the half, and each takes a tenth of a
millisecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["pattern"]

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:
        """In place of `re.compile`, for what is matched with by its own methods."""

        def __init__(self, text, flags=0):
            self._written = text, flags

        def __getattr__(self, name):
            """Asked for what is not there yet; from then on it is, and nobody comes by here again."""
            if name.startswith("__"):
                raise AttributeError(name)
            import re

            found = getattr(re.compile(*self._written), name)  # which `re` remembers
            setattr(self, name, found)
            return found
