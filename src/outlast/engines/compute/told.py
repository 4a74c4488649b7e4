"""What the engine tells a machine's agent: the attribute `outlast` of its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from outlast.dataclass import dataclass

if TYPE_CHECKING:
    from outlast.engines.engine import Launch
    from outlast.spec.spec import Rented

ATTRIBUTE = "outlast"
ENVIRONMENT = "/opt/outlast/environment"
"""On a machine whose image has an environment: a job that declares none of its own runs in it."""

ENVIRONMENT_PYTHON = f"{ENVIRONMENT}/bin/python"
SOFT_OFF_SECONDS = 28.0
"""Google gives 30, at its best."""


@dataclass(frozen=True)
class Told:
    home: str
    job: str
    launch: int
    launch_id: str
    workers: int
    deadline_at: float
    boots: str
    """The beginning of the keys under which its boots are counted."""

    notice_seconds: float = SOFT_OFF_SECONDS
    """From the word that it will be taken away until it is gone."""

    soft_off_seconds: float = SOFT_OFF_SECONDS
    linger_seconds: float = 0.0
    slots: int = 1
    """How many of the launch's workers share this machine; their numbers are rank * slots and the following."""

    gpus: int = 0
    limited: bool = False
    """Each machine has a share of the launch's money, and leaves before it lives longer than it has paid for."""

    time_scale: float = 1.0
    """Of an emulator whose seconds are shorter."""

    program: str = ""
    """`module:function` that stands for the agent, in tests of engines."""

    labels: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    """Where Google is, if it is an emulator."""


def told_of(
    launch: Launch,
    rented: Rented,
    *,
    notice_seconds: float,
    time_scale: float,
    program: str,
    environ: Mapping[str, str],
) -> Told:
    """What all machines of a launch are told alike."""
    return Told(
        home=launch.home,
        job=launch.job,
        launch=launch.launch,
        launch_id=launch.id,
        workers=launch.workers,
        deadline_at=launch.deadline_at,
        boots=launch.boots,
        notice_seconds=notice_seconds * time_scale,
        soft_off_seconds=SOFT_OFF_SECONDS * time_scale,
        linger_seconds=rented.linger_seconds,
        slots=launch.slots,
        gpus=launch.machine.gpus,
        limited=launch.paid_seconds is not None,
        time_scale=time_scale,
        program=program,
        labels=launch.labels,
        environ=environ,
    )
