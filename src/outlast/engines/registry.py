"""The list of engines: ours in one literal mapping, third parties' by entry point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from outlast.clock import Clock
from outlast.engines.engine import Auditor, Engine, Examined, Launch, Leftover, Line, Resource

if TYPE_CHECKING:
    from outlast.engines.imaging import Imager

MakeEngine = Callable[[Path, Clock], Engine]
"""(the user's directory, the clock) -> the engine. It starts nothing and may not fail for want of anything."""

GROUP = "outlast.engines"


def _local(user_dir: Path, clock: Clock) -> Engine:
    from outlast.engines.local.engine import LocalEngine

    return LocalEngine(user_dir, clock)


def _compute(user_dir: Path, clock: Clock) -> Engine:
    from outlast.engines.compute.engine import ComputeEngine

    return ComputeEngine(clock)


def _vertex(user_dir: Path, clock: Clock) -> Engine:
    from outlast.engines.vertex.engine import VertexEngine

    return VertexEngine(clock)


BUILT_IN: Mapping[str, MakeEngine] = {
    "local": _local,
    "compute": _compute,
    "vertex": _vertex,
}


def _local_leftovers(user_dir: Path) -> Iterator[Leftover]:
    from outlast.engines.local.leftovers import leftovers

    return leftovers(user_dir)


LEFTOVERS: Mapping[str, Callable[[Path], Iterator[Leftover]]] = {
    "local": _local_leftovers,
}
"""The user's directory -> what the engine has left there, for those engines that leave anything on this computer."""


def _local_examine(user_dir: Path) -> Examined:
    from outlast.engines.local.examine import examine

    return examine(user_dir)


EXAMINERS: Mapping[str, Callable[[Path], Examined]] = {
    "local": _local_examine,
}
"""The same, for `doctor`."""


def _local_held(user_dir: Path) -> Iterator[Launch]:
    from outlast.engines.local.held import held

    return held(user_dir)


HELD: Mapping[str, Callable[[Path], Iterator[Launch]]] = {
    "local": _local_held,
}
"""The user's directory -> launches that run or wait on this computer, whatever has become of their home."""


def _compute_resources(launch: Launch) -> tuple[Resource, ...]:
    from outlast.engines.compute.resources import resources

    return resources(launch)


def _vertex_resources(launch: Launch) -> tuple[Resource, ...]:
    from outlast.engines.vertex.resources import resources

    return resources(launch)


RESOURCES: Mapping[str, Callable[[Launch], tuple[Resource, ...]]] = {
    "compute": _compute_resources,
    "vertex": _vertex_resources,
}
"""What a launch makes at a provider, for those engines that make anything there."""


def resources_of(engine: str, launch: Launch) -> tuple[Resource, ...]:
    return RESOURCES[engine](launch) if engine in RESOURCES else ()


def _compute_tidy(launch: Launch, environ: Mapping[str, str], clock: Clock, marker_too: bool) -> None:
    from outlast.engines.compute.engine import ComputeEngine

    ComputeEngine(clock, environ).tidy(launch, marker_too=marker_too)


TIDIERS: Mapping[str, Callable[[Launch, Mapping[str, str], Clock, bool], None]] = {
    "compute": _compute_tidy,
}
"""Removes what a launch that is over has left and that costs nothing; at last also what keeps a late start from beginning it again."""


def _compute_send_away(
    launch: Launch, environ: Mapping[str, str], clock: Clock, idle: Collection[str]
) -> Collection[str]:
    from outlast.engines.compute.engine import ComputeEngine

    return ComputeEngine(clock, environ).send_away(launch, idle)


DISMISSERS: Mapping[str, Callable[[Launch, Mapping[str, str], Clock, Collection[str]], Collection[str]]] = {
    "compute": _compute_send_away,
}
"""Sends away machines that are not needed any more and may not leave by themselves (`LaunchState.idle`); those that were there."""


def _compute_complaint(launch: Launch, environ: Mapping[str, str], clock: Clock) -> str:
    from outlast.engines.compute.engine import ComputeEngine

    return ComputeEngine(clock, environ).complaint(launch)


COMPLAINTS: Mapping[str, Callable[[Launch, Mapping[str, str], Clock], str]] = {
    "compute": _compute_complaint,
}
"""What machines that are up and do nothing say of it, for those engines whose machines can tell without a home."""


def _compute_lost(
    launch: Launch, environ: Mapping[str, str], clock: Clock, there_until: float | None
) -> tuple[int, float]:
    from outlast.engines.compute.engine import ComputeEngine

    found = ComputeEngine(clock, environ).lost(launch, there_until)
    return found.machines, found.seconds


LOST: Mapping[str, Callable[[Launch, Mapping[str, str], Clock, float | None], tuple[int, float]]] = {
    "compute": _compute_lost,
}
"""How many machines of a launch never came up until its end, after the last that did, and how long they have lived together.

Last argument: the time until which the newest of them were still there; None: they were gone."""


def _vertex_made(engine: Engine, launch: Launch) -> tuple[Resource, ...]:
    from outlast.engines.vertex.engine import VertexEngine
    from outlast.engines.vertex.resources import made

    return made(launch, engine.custom_jobs(launch)) if isinstance(engine, VertexEngine) else ()


MADE: Mapping[str, Callable[[Engine, Launch], tuple[Resource, ...]]] = {
    "vertex": _vertex_made,
}
"""What a launch has made, by asking its provider, for those engines whose launches have pages of their own there."""


def made_by(engine: Engine, launch: Launch) -> tuple[Resource, ...]:
    return MADE[engine.name](engine, launch) if engine.name in MADE else ()


def _vertex_said(engine: Engine, launch: Launch) -> Iterator[Line]:
    from outlast.engines.vertex.engine import VertexEngine

    return engine.lines(launch) if isinstance(engine, VertexEngine) else iter(())


SAID: Mapping[str, Callable[[Engine, Launch], Iterator[Line]]] = {
    "vertex": _vertex_said,
}
"""What a launch's machines have said, for those engines whose provider keeps that."""


def said_at_provider(engine: Engine, launch: Launch) -> Iterator[Line]:
    return SAID[engine.name](engine, launch) if engine.name in SAID else iter(())


def _compute_auditor(project: str, environ: Mapping[str, str]) -> Auditor:
    from outlast.engines.compute.audit import ComputeAuditor

    return ComputeAuditor(project, environ)


def _vertex_auditor(project: str, environ: Mapping[str, str]) -> Auditor:
    from outlast.engines.vertex.audit import VertexAuditor

    return VertexAuditor(project, environ)


AUDITORS: Mapping[str, Callable[[str, Mapping[str, str]], Auditor]] = {
    "compute": _compute_auditor,
    "vertex": _vertex_auditor,
}
"""(project, environment) -> who looks through what is rented there."""


def auditors(project: str, environ: Mapping[str, str]) -> dict[str, Auditor]:
    return {name: make(project, environ) for name, make in AUDITORS.items()}


def _compute_imager(project: str, environ: Mapping[str, str], clock: Clock) -> Imager:
    from outlast.engines.compute.engine import ComputeEngine
    from outlast.engines.compute.imaging import ComputeImager
    from outlast.google.compute_building import BuildingClient
    from outlast.google.connect import connect
    from outlast.google.project import project_of

    transport = connect(environ)
    client = BuildingClient(transport, project_of(project, environ, transport))
    return ComputeImager(client, clock, ComputeEngine(clock, environ).first_machine)


IMAGERS: Mapping[str, Callable[[str, Mapping[str, str], Clock], Imager]] = {
    "compute": _compute_imager,
}
"""(project, environment, clock) -> who makes images there, for those engines whose machines boot from any."""


class _Engines(Mapping[str, MakeEngine]):
    """Others' engines are looked for only when somebody asks for more than ours: that costs more than most commands."""

    def __init__(self) -> None:
        self._found: dict[str, MakeEngine] | None = None
        self.broken: dict[str, str] = {}
        """Name -> why it could not be loaded; filled by the first look."""

    def __getitem__(self, name: str) -> MakeEngine:
        return BUILT_IN[name] if name in BUILT_IN else self._others()[name]

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from self._others()

    def __len__(self) -> int:
        return len(BUILT_IN) + len(self._others())

    def _others(self) -> dict[str, MakeEngine]:
        if self._found is None:
            from importlib.metadata import entry_points

            self._found = {}
            for point in entry_points(group=GROUP):
                if point.name in BUILT_IN:
                    self.broken[point.name] = f"`{point.value}` takes the name of an engine of ours"
                    continue
                try:
                    self._found[point.name] = point.load()
                except Exception as error:  # noqa: BLE001  a stranger's code: reported and skipped
                    self.broken[point.name] = f"`{point.value}`: {error}"
        return self._found


ENGINES = _Engines()
"""Name -> how to make it. The contract suite runs over it: what stands here is tested."""
