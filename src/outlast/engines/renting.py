"""What every engine that rents its machines asks of a launch."""

from __future__ import annotations

from outlast.engines.engine import Launch
from outlast.errors import NoCapacity, OutlastError, UsageError
from outlast.spec.spec import Machine, Rented

CPUS_MAX = 416


def check_rented(machine: Machine) -> None:
    """Before anything of a job is written."""
    if (machine.cpus or 0) > CPUS_MAX:
        raise NoCapacity(f"{machine.cpus} CPUs are more than the {CPUS_MAX} of the largest machine")
    if machine.rented is None:
        raise UsageError("it is not said what to rent", hint="`--machine-type` names a machine, `--gpus L4` finds one")


def check_reach(home: str) -> None:
    """Before anything of a job is written: what is in a directory of this computer, no rented machine can read."""
    if "://" not in home or home.startswith("file:"):
        raise out_of_reach(home)


def out_of_reach(home: str) -> UsageError:
    return UsageError(
        f"`{home}` is on this computer, and a rented machine cannot reach it",
        state="nothing was started, nothing is being spent",
        hint="`--bucket NAME` puts the job's home into a bucket; `outlast init` makes one and remembers it",
    )


def rented_of(launch: Launch) -> Rented:
    if launch.machine.rented is None:
        raise OutlastError(f"launch `{launch.id}` does not say what it rents")
    return launch.machine.rented


def region_of(launch: Launch) -> str:
    return rented_of(launch).regions[0]
