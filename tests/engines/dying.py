"""A supervisor that dies by its own hand: while it makes one machine's directory the next one's, or before a machine begins."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from outlast.engines.local import moving
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.host.series import Leader
from outlast.machine import supervise
from outlast.testing.engine_program import boot

__all__ = ["boot"]

DIES = "dies"
"""A file in the user's directory: the name of the moment, a line for each supervisor that dies."""


def main(arguments: list[str]) -> int:
    plan, me = Path(arguments[0]).parent / DIES, os.getpid()
    moment, *later = plan.read_text().splitlines() if plan.exists() else [""]

    def die_before(do: Any) -> Any:
        def done(*words: Any) -> Any:
            in_row = not words or not isinstance(words[0], MachineDir) or "/." in words[0].path
            if os.getpid() == me and in_row:
                if later:
                    files.put(plan, "\n".join(later).encode())
                else:
                    plan.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            return do(*words)

        return done

    if moment == "cleared":
        moving._clear = die_before(moving._clear)
    elif moment == "told":
        MachineDir.write_assignment = die_before(MachineDir.write_assignment)  # type: ignore[method-assign]
    elif moment == "handed over":
        Leader.hand_over = die_before(Leader.hand_over)  # type: ignore[method-assign]
    elif moment == "forking":
        os.fork = die_before(os.fork)
    return supervise.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
