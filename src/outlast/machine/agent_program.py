"""The agent as a program of its own: `python -m outlast.machine.agent_program BOOT DIRECTORY [TELL LISTEN]`.

Where a process may not go on as a forked copy (`supervise.agent_program`). It has the number, the name on disk and the log of the copy
that became it; TELL and LISTEN are the ends by which it is given one machine after another.
"""

from __future__ import annotations

import os
import sys

from outlast.agent import agent_process
from outlast.host.machine_dir import MachineDir
from outlast.host.series import Follower
from outlast.machine.supervise import load


def main(arguments: list[str]) -> None:
    boot, directory, *ends = arguments
    paths = MachineDir(directory)
    for end in ends:
        os.set_inheritable(int(end), False)
    tell, listen = (int(end) for end in ends) if ends else (-1, -1)
    agent_process.work(paths, load(boot, paths.user_dir), Follower(tell, listen) if ends else None)


if __name__ == "__main__":
    main(sys.argv[1:])
