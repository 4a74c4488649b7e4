"""How a regional group spreads its machines over its zones: `distributionPolicy.targetShape`."""

from __future__ import annotations

EVEN = "EVEN"
"""As many in each, whether there is room or not."""
BALANCED = "BALANCED"
"""As even as there is room."""
ANY = "ANY"
"""Wherever there is room."""
ANY_SINGLE_ZONE = "ANY_SINGLE_ZONE"
"""All in one, wherever there is room."""
FLEXIBLE = (BALANCED, ANY, ANY_SINGLE_ZONE)
"""Those that look for room, and so may choose among machine types."""
