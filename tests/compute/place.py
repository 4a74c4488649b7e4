"""A place for the compute engine: an emulator whose machines really run, and a bucket that they share with whoever started them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from outlast.bundle.agent import ship_agent
from outlast.clock import SYSTEM
from outlast.engines.compute.engine import ComputeEngine
from outlast.engines.engine import Engine, Launch
from outlast.folder import layout
from outlast.spec.spec import Machine, Rented
from outlast.store.registry import open_store
from outlast.testing.engine_place import Place
from outlast_emulator.testing import Running

REGION = "us-central1"
TIME_SCALE = 0.02
"""Notices, boots and repairs take a fiftieth of Google's time."""

MACHINE = Rented(
    project="emulated",
    regions=(REGION,),
    machine_type="e2-standard-4",
    image="projects/debian-cloud/global/images/family/debian-12",
)


def make_engine(user_dir: Path, program: str) -> Engine:
    return ComputeEngine(SYSTEM, program=program)


class ComputePlace(Place):
    queued = 6
    rounds = 3
    remembers_ends = False

    def __init__(self, scratch: Path, emulator: Running, bucket: str = "contract") -> None:
        self.emulator = emulator
        self.bucket = bucket
        super().__init__(scratch, make_engine)
        self.agent = layout.agent(ship_agent(open_store(self.home), scratch / "cache", testing=True))

    def make_home(self) -> str:
        self.emulator.make_bucket(self.bucket)
        return f"gs://{self.bucket}/home"

    def machine(self, cpus: int) -> Machine:
        return Machine(cpus=cpus, rented=MACHINE)

    def other(self) -> Place:
        return ComputePlace(self.scratch / "other", self.emulator, f"{self.bucket}-other")

    def named(self, launch: Launch) -> Launch:
        return replace(launch, home=self.home)

    def alive(self, machine: str, process: int) -> bool:
        """The number that a process has inside its machine says nothing outside of it: the machine's name does."""
        name = f"outlast-{machine.rpartition('-')[0]}"
        return any(_is_inside(int(one), name, process) for one in os.listdir("/proc") if one.isdigit())


def _is_inside(pid: int, machine: str, process: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
    except (OSError, StopIteration):
        return False
    if len(numbers) < 3 or int(numbers[-1]) != process:
        return False
    said = subprocess.run(
        ["nsenter", f"--target={pid}", "--uts", "hostname"], capture_output=True, text=True, check=False
    )
    return machine in said.stdout
