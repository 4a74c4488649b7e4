"""A machine to work on: waits while somebody is there, and for a while after the last one has left.

`python -m outlast.training.shell SECONDS`, with how long that while is. It ends well: the job has succeeded when nobody needs it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from outlast.clock import SYSTEM, Clock
from outlast.training.say import say

ENTERED = "entered"
"""In the machine's directory: a file for everybody who has entered, named by the number of his process."""

LOOK_SECONDS = 1.0
LINGER_SECONDS = 1800.0


def wait(machine: Path, linger_seconds: float, clock: Clock = SYSTEM) -> None:
    """Returns when nobody has been there for so long."""
    left_at = clock.monotonic()
    while clock.monotonic() - left_at < linger_seconds:
        clock.sleep(min(LOOK_SECONDS, linger_seconds))
        if _anybody(machine):
            left_at = clock.monotonic()


def _anybody(machine: Path) -> bool:
    try:
        names = os.listdir(machine / ENTERED)
    except OSError:
        return False
    return any(_is_alive(int(name)) for name in names if name.isdigit())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(arguments: list[str]) -> int:
    linger_seconds = float(arguments[0]) if arguments else LINGER_SECONDS
    job = os.environ.get("OUTLAST_JOB", "")
    say(
        f"this machine waits for you: `outlast ssh {job}`; it goes when nobody has been here for {linger_seconds:.0f} s"
    )
    wait(Path(os.environ["OUTLAST_RUN_DIR"]).parent, linger_seconds)
    say("nobody is here any more")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
