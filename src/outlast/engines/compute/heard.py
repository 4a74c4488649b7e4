"""What a machine tells that cannot reach the home: by its guest attributes, which take no right to write."""

from __future__ import annotations

from outlast.dataclass import dataclass
from outlast.google.compute_building import BuildingClient
from outlast.google.errors import ApiError

NAMESPACE = "outlast"
WAITS, FAILED = "waits", "failed"
CHARACTERS_MAX = 1000
_NOT_TOLD = (400, 403, 404)
"""Gone again, or nobody may look: the machine ends without us too."""


@dataclass(frozen=True)
class Heard:
    waits: str = ""
    """What it tries, and what it was answered last."""

    failed: str = ""
    """It has given up, and this is the end of its log."""


def hear(client: BuildingClient, zone: str, name: str) -> Heard:
    try:
        told = client.guest_attributes(zone, name, NAMESPACE)
    except ApiError as error:
        if error.status not in _NOT_TOLD:
            raise
        return Heard()
    failed = told.get(FAILED, "").strip()[-CHARACTERS_MAX:]
    return Heard(told.get(WAITS, "").strip().rpartition("\n")[2][:CHARACTERS_MAX], failed)
