"""What the tests of the local engine have in common."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outlast.clock import SYSTEM
from outlast.engines.engine import Launch
from outlast.engines.local.engine import LocalEngine
from outlast.engines.local.layout import LocalDir, Order, encode_order
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.testing.engine_place import Place, running, until
from tests.engines import dying
from tests.engines.conftest import leave_nothing, supervisor_of


def local_dir(place: Place) -> LocalDir:
    return LocalDir(place.scratch / "user" / "local")


@contextmanager
def dying_place(scratch: Path, *moments: str) -> Iterator[Place]:
    """Where one supervisor after another dies by its own hand, at these moments."""
    place = Place(
        scratch,
        lambda user_dir, program: LocalEngine(
            user_dir, SYSTEM, boot="tests.engines.dying:boot", supervise=dying.__name__
        ),
    )
    plan = scratch / "user" / dying.DIES
    plan.parent.mkdir(parents=True)
    plan.write_text("\n".join(moments))
    try:
        yield place
        assert not plan.exists()
    finally:
        leave_nothing(scratch)


def supervisor(place: Place) -> Process:
    until(lambda: supervisor_of(place.scratch / "user"), "a supervisor is there")
    process = supervisor_of(place.scratch / "user")
    assert process is not None
    return process


def machine_of(place: Place, launch: Launch) -> MachineDir:
    return local_dir(place).newest_machines(launch.id)[0]


def start_running(place: Place, do: str = "wait") -> tuple[LocalEngine, Launch]:
    engine, launch = place.engine(), place.launch(do)
    assert isinstance(engine, LocalEngine)
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    return engine, launch


@contextmanager
def standing_still(process: Process) -> Iterator[None]:
    process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send(signal.SIGCONT)


def arrive(place: Place, launch: Launch) -> None:
    """What a start leaves behind that looked before something else happened, and wrote after it."""
    files.put(local_dir(place).incoming_order(launch.id), encode_order(Order(launch, SYSTEM.now())))
