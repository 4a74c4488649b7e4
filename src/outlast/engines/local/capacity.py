"""What this machine has to give, and who has it: slots of CPUs and GPUs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from outlast.dataclass import dataclass
from outlast.engines.engine import Room
from outlast.errors import NoCapacity, UsageError
from outlast.host import system
from outlast.spec.spec import Machine

CPUS = "OUTLAST_LOCAL_CPUS"
GPUS = "OUTLAST_LOCAL_GPUS"
SAID = (CPUS, GPUS)
"""Variables by which somebody says how much there is to give."""

NVIDIA_DRIVER = "/proc/driver/nvidia/gpus"
ASK_SECONDS_MAX = 10.0


def said(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in SAID if environ.get(name)}


@dataclass(frozen=True)
class Capacity:
    cpus: int
    gpus: tuple[str, ...]

    def check(self, machine: Machine, workers: int) -> None:
        """`NoCapacity` for what will never fit, so that it does not wait for ever."""
        if machine.cpus * workers > self.cpus:
            raise NoCapacity(
                f"{_count(machine.cpus * workers, 'CPU')} asked for, this machine has {self.cpus}",
                state="nothing was started",
                hint=f"`--cpus {max(1, self.cpus // workers)}`, or `{CPUS}={machine.cpus * workers}` to share them",
            )
        if machine.gpus * workers > len(self.gpus):
            raise NoCapacity(
                f"{_count(machine.gpus * workers, 'GPU')} asked for, this machine has {len(self.gpus) or 'none'}",
                state="nothing was started",
                hint=f"`--gpus {len(self.gpus) // workers}`, or `{GPUS}=N` if they are there and were not found",
            )

    def room(self, machine: Machine) -> Room:
        """What it has in all, whoever has it now."""
        by_cpus = self.cpus // machine.cpus
        by_gpus = len(self.gpus) // machine.gpus if machine.gpus else by_cpus
        if by_gpus < by_cpus:
            return Room(by_gpus, f"this machine's {_count(len(self.gpus), 'GPU')}")
        return Room(by_cpus, f"this machine's {_count(self.cpus, 'CPU')}")


class Slots:
    """Who has what. A launch gets all of its workers' slots at once, or waits."""

    def __init__(self, capacity: Capacity) -> None:
        self.capacity = capacity
        self.cpus_free = capacity.cpus
        self.gpus_free = list(capacity.gpus)

    def take(self, machine: Machine, workers: int) -> list[tuple[str, ...] | None] | None:
        """The GPUs of each worker (None: this machine has none to share); None: not now."""
        if machine.cpus * workers > self.cpus_free or machine.gpus * workers > len(self.gpus_free):
            return None
        self.cpus_free -= machine.cpus * workers
        if not self.capacity.gpus:
            return [None] * workers
        return [tuple(self.gpus_free.pop(0) for _ in range(machine.gpus)) for _ in range(workers)]

    def hold(self, machine: Machine, gpus: tuple[str, ...] | None) -> None:
        """What a machine that was found running has already; there may be less left than nothing."""
        self.cpus_free -= machine.cpus
        self.gpus_free = [gpu for gpu in self.gpus_free if gpu not in (gpus or ())]

    def give(self, machine: Machine, gpus: tuple[str, ...] | None) -> None:
        self.cpus_free += machine.cpus
        returned = {*self.gpus_free, *(gpus or ())}
        self.gpus_free = [gpu for gpu in self.capacity.gpus if gpu in returned]

    def lacking(self, machine: Machine, workers: int) -> str:
        """What a launch waits for, in a person's words."""
        cpus, gpus = machine.cpus * workers, machine.gpus * workers
        if gpus > len(self.gpus_free):
            return f"{_count(gpus, 'GPU')}: {len(self.gpus_free)} of {len(self.capacity.gpus)} are free"
        return f"{_count(cpus, 'CPU')}: {max(0, self.cpus_free)} of {self.capacity.cpus} are free"


def this_machine(environ: Mapping[str, str], *, gpus: bool = True) -> Capacity:
    """`gpus=False`: nobody asks for them, so they need not be looked for."""
    return Capacity(_cpus(environ), _gpus(environ) if gpus else ())


def _cpus(environ: Mapping[str, str]) -> int:
    said = environ.get(CPUS)
    return system.cpus() if not said else _number(CPUS, said, at_least=1)


def _gpus(environ: Mapping[str, str]) -> tuple[str, ...]:
    """A count, or the devices with commas between them; otherwise those that the driver knows."""
    said = environ.get(GPUS)
    if said and "," in said:
        return tuple(str(_number(GPUS, word, at_least=0)) for word in said.split(",") if word.strip())
    count = _number(GPUS, said, at_least=0) if said else _nvidia_gpus()
    return tuple(str(number) for number in range(count))


def _nvidia_gpus() -> int:
    try:
        return len(os.listdir(NVIDIA_DRIVER))
    except OSError:
        pass
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        asked = subprocess.run([program, "-L"], capture_output=True, text=True, check=False, timeout=ASK_SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(1 for line in asked.stdout.splitlines() if line.startswith("GPU "))


def _number(name: str, text: str, *, at_least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = at_least - 1
    if number < at_least:
        raise UsageError(f"`{name}` is `{text}`; it must be a whole number of at least {at_least}")
    return number


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
