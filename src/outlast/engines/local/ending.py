"""Ending a machine: every process that belongs to it, and no other."""

from __future__ import annotations

import os
import signal
from fnmatch import fnmatch

from outlast.clock import Clock
from outlast.errors import OutlastError
from outlast.host import files, system
from outlast.host.machine_dir import MARK, MachineDir
from outlast.host.process import Process

LOOK_SECONDS = 0.005


def kill(directory: MachineDir) -> list[Process]:
    """Kills init and all that is below it, which is returned. A machine that has not begun yet never will: its name is taken."""
    try:
        files.create(directory.init)
    except FileNotFoundError:
        return []  # it is buried already
    init = directory.init_process()
    if init is None or not init.alive():
        return []
    # Known before it dies: who has cleared the environment, or left the session, is found only as long as init lives.
    below = [process for pid in system.descendants(init.pid) if (process := Process.of(pid)) is not None]
    for process in (init, *below):
        process.send(signal.SIGKILL)
    return [init, *below]


def living(directory: MachineDir) -> list[Process]:
    """Every process of the machine that is alive. Slow: looks at all processes of this computer."""
    recorded: list[Process] = []
    own = [] if directory.left_done() is not None else [directory.init, directory.agent]
    for path in [*own, *_trainers(directory)]:
        process = Process.read(files.read_json(path))
        if process is not None and process.boot == system.boot_id():
            recorded.append(process)
    groups = [process.pid for process in recorded if _may_lead(process)]
    try:
        marked = system.carriers(f"{MARK}={directory.read_assignment().machine}", groups)
    except OutlastError:
        marked = []  # a power cut tore its record, and ended its processes
    found = [process for process in recorded if process.alive()]
    return list({process.pid: process for process in [*found, *filter(None, map(Process.of, marked))]}.values())


def _trainers(directory: MachineDir) -> list[str]:
    try:
        names = os.listdir(directory.path)
    except FileNotFoundError:
        return []  # it is being buried
    return [f"{directory.path}/{name}" for name in names if fnmatch(name, "trainer-*.pid.json")]


def _may_lead(process: Process) -> bool:
    """Whether a group with this number is still this process's: its number is not given away while members live."""
    current = system.start_time(process.pid)
    return not current or system.same_start(current, process.began)


def sweep(directory: MachineDir) -> bool:
    """Kills what is left of a machine; True when nothing is."""
    killed = kill(directory)
    left = living(directory)
    for process in left:
        process.send(signal.SIGKILL)
    return not left and not any(process.alive() for process in killed)


def end(directory: MachineDir, clock: Clock, seconds_max: float) -> bool:
    """Sweeps until nothing is left; False: something could not be killed in time."""
    give_up_at = clock.monotonic() + seconds_max
    killed = kill(directory)
    while not sweep(directory) or any(process.alive() for process in killed):
        if clock.monotonic() >= give_up_at:
            return False
        clock.sleep(LOOK_SECONDS)
    return True
