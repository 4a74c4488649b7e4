"""Which project a path means: there is one, by its id, its number, or the dash that stands for whichever it is."""

from __future__ import annotations

from outlast_emulator.errors import young
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.request import Request

NAMES = (PROJECT, str(PROJECT_NUMBER))


def check_project(request: Request, *, dash: bool = False) -> None:
    """403, as for every project that one may not see, for any but ours."""
    name = request.params.get("project", PROJECT)
    if name in NAMES or (dash and name == "-"):
        return
    raise young("PERMISSION_DENIED", f"Permission denied on resource project {name}.", reason="CONSUMER_INVALID")
