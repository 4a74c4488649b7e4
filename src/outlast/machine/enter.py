"""A person enters a machine: `python -m outlast.machine.enter BASE [COMMAND...]`, in the job's directory, with its environment.

BASE is a machine's directory, or the place where a rented machine has its own; where several workers share that, OUTLAST_WORKER says
whose is meant. Without a command it is a shell. Secrets are not there: they went to the trainer alone.
"""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from outlast.agent.trainer_process import read_order
from outlast.host import files
from outlast.host.machine_dir import ENTERED, MachineDir
from outlast.host.process import Process

SHELL = "/bin/bash"
WORKER = "OUTLAST_WORKER"
KEPT = ("TERM", "LANG", "LC_ALL", "DISPLAY", "SSH_CONNECTION", "SSH_TTY", "COLORTERM")
EXIT_NO_MACHINE = 3


def main(arguments: list[str]) -> int:
    machine = find(Path(arguments[0]), os.environ.get(WORKER, ""))
    if machine is not None:
        _enter(machine, arguments[1:])
    sys.stderr.write(f"error: there is no job's machine in `{arguments[0]}`\n")
    return EXIT_NO_MACHINE


def _enter(machine: MachineDir, words: list[str]) -> NoReturn:
    order = read_order(machine)
    env = {**(order.env if order is not None else {}), **{k: v for k, v in os.environ.items() if k in KEPT}}
    env.setdefault("PATH", os.defpath)
    env.setdefault("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    env["OUTLAST_MACHINE_DIR"] = machine.path
    os.chdir(machine.work if os.path.isdir(machine.work) else machine.path)
    _sign(machine)
    shell = os.environ.get("SHELL") or SHELL
    argv = [shell, "-c", words[0] if len(words) == 1 else shlex.join(words)] if words else [shell, "-i"]
    sys.stdout.flush()
    os.execvpe(argv[0], argv, env)


def find(base: Path, worker: str = "") -> MachineDir | None:
    """The directory itself, or the newest machine below it, of that worker if one is named."""
    if os.path.exists(MachineDir(base).assignment):
        return MachineDir(base)
    below = [path.parent for path in base.glob(f"local/machines/*/{worker or '*'}-*/machine.json")]
    return MachineDir(max(below, key=lambda path: path.stat().st_mtime)) if below else None


def _sign(machine: MachineDir) -> None:
    """As the process that this one becomes."""
    directory = Path(machine.path, ENTERED)
    directory.mkdir(mode=0o700, exist_ok=True)
    files.put(directory / str(os.getpid()), Process.me().encode())


def inside(machine: Path) -> list[Process]:
    """Who has entered, and is still there."""
    found = [Process.read(files.read_json(path)) for path in (machine / ENTERED).glob("*")]
    return [process for process in found if process is not None and process.alive()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
