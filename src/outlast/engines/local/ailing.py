"""A machine that is up and whose agent does not stay, in words for whoever looks at its job."""

from __future__ import annotations

from outlast.engines.local.machines import log_tail
from outlast.host import files
from outlast.host.machine_dir import ORPHAN_SECONDS_MAX, MachineDir

LOSSES_TOLD_MIN = 3
"""One that was killed is replaced at once, and nobody needs to know."""

RECENT_SECONDS = 120.0
"""So long after the last one's end, another one has had the time to prove that it stays."""

OWN_WORDS = "init: "


def losses_words(directory: MachineDir, job: str, now: float) -> str:
    """Empty: all is well. `now`: by the monotonic clock."""
    document = files.read_json(directory.losses)
    if not isinstance(document, dict):
        return ""
    losses, at = document.get("losses"), document.get("at_monotonic")
    if not isinstance(losses, int) or not isinstance(at, int | float):
        return ""
    if losses < LOSSES_TOLD_MIN or now - at > RECENT_SECONDS:
        return ""
    said = [line.strip() for line in log_tail(directory).splitlines() if not line.startswith(OWN_WORDS)]
    last = f", the last with `{said[-1]}`" if said else ""
    return (
        f"without an agent that stays: {losses} in a row have ended{last}; nothing reaches its home meanwhile (all of it is in "
        f"`{directory.log}`). The next one is tried by itself; after {ORPHAN_SECONDS_MAX / 60:.0f} min without one its machine is replaced "
        f"and goes on with its last checkpoint, and if that does not help the job fails. `outlast stop {job}` and `outlast resume {job}` "
        f"replace it now, and `outlast doctor` looks at this computer"
    )
