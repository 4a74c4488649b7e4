"""Availability of Spot machines over time: what a trace is, and the synthetic ones that ship, with their parameters.

A trace says from when on a zone has room for how many Spot machines. None of these was measured anywhere: each is made from
the parameters that stand in `SHIPPED`, by the seed, and is the same for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from random import Random
from typing import Any

ROOM = 1000
"""Machines in a zone that has room."""
EVENTS_MAX = 100_000


@dataclass(frozen=True)
class Event:
    at_seconds: float
    """Of Google's time, since the trace began."""
    zone: str
    machines: int
    """Spot machines that the zone has room for from now on; those above are preempted."""


@dataclass(frozen=True)
class Parameters:
    """All lengths in seconds of Google's time."""

    kind: str
    seconds: float = 24 * 3600.0
    up_seconds: float = 4 * 3600.0
    """The mean time that a zone has room."""
    down_seconds: float = 1200.0
    """The mean time that it has none."""
    early_share: float = 0.0
    """`bathtub`: of the times with room, how many end early."""
    early_seconds: float = 300.0
    """`bathtub`: the mean of those."""
    storm_seconds: float = 0.0
    """`storms`: the mean time between two moments in which all zones lose their room at once; 0: there are none."""
    period_seconds: float = 24 * 3600.0
    """`tides`: from one high water of demand to the next."""
    ebb_share: float = 0.25
    """`tides`: the part of a period in which a zone has no room; each zone has its own hour."""


SHIPPED: dict[str, Parameters] = {
    "calm": Parameters("exponential", up_seconds=12 * 3600.0, down_seconds=600.0),
    "busy": Parameters("exponential", up_seconds=2 * 3600.0, down_seconds=1800.0),
    "rough": Parameters("exponential", seconds=2 * 3600.0, up_seconds=300.0, down_seconds=120.0),
    "bathtub": Parameters("bathtub", up_seconds=10 * 3600.0, down_seconds=900.0, early_share=0.4, early_seconds=240.0),
    "storms": Parameters("storms", up_seconds=8 * 3600.0, down_seconds=1200.0, storm_seconds=3 * 3600.0),
    "tides": Parameters("tides", seconds=48 * 3600.0),
    "drought": Parameters("exponential", seconds=12 * 3600.0, up_seconds=1800.0, down_seconds=2 * 3600.0),
}
"""Name -> what it is made from."""


def changed(name: str, wanted: dict[str, Any]) -> Parameters:
    """A shipped trace's parameters, with others in place of some; ValueError names what there is not."""
    if name not in SHIPPED:
        raise ValueError(f"no trace `{name}`; there are {', '.join(sorted(SHIPPED))}")
    kinds = {entry.name: entry.type for entry in fields(Parameters) if entry.name != "kind"}
    for key, value in wanted.items():
        if key not in kinds:
            raise ValueError(f"a trace has no `{key}`; there are {', '.join(sorted(kinds))}")
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
            raise ValueError(f"`{key}` takes a number of seconds or a share, not {value!r}")
    others: dict[str, Any] = {key: float(value) for key, value in wanted.items()}
    return replace(SHIPPED[name], **others)


def made(parameters: Parameters, zones: Sequence[str], seed: int) -> list[Event]:
    """The events of a trace, in their order; every zone has one at the beginning."""
    makers: dict[str, Callable[[Parameters, Random, int, int], Iterator[tuple[float, bool]]]] = {
        "exponential": _alternating,
        "bathtub": _alternating,
        "storms": _alternating,
        "tides": _tides,
    }
    storms = list(_storms(parameters, Random(f"{seed} storms")))
    events: list[Event] = []
    for index, zone in enumerate(zones):
        random = Random(f"{seed} {zone}")
        for at, has_room in makers[parameters.kind](parameters, random, index, len(zones)):
            events.append(Event(at, zone, ROOM if has_room else 0))
            if len(events) > EVENTS_MAX:
                raise ValueError(
                    f"the trace has more than {EVENTS_MAX} events; `up_seconds` and `down_seconds` are too short"
                )
        events = _with_storms(events, zone, storms, parameters)
    return sorted(events, key=lambda event: (event.at_seconds, event.zone))


def shown(parameters: Parameters) -> dict[str, Any]:
    return asdict(parameters)


def _alternating(parameters: Parameters, random: Random, index: int, count: int) -> Iterator[tuple[float, bool]]:
    at, has_room = 0.0, True
    while at < parameters.seconds:
        yield at, has_room
        early = has_room and random.random() < parameters.early_share
        mean = parameters.early_seconds if early else parameters.up_seconds if has_room else parameters.down_seconds
        at += max(1.0, random.expovariate(1.0 / max(mean, 1.0)))
        has_room = not has_room


def _tides(parameters: Parameters, random: Random, index: int, count: int) -> Iterator[tuple[float, bool]]:
    period = max(parameters.period_seconds, 1.0)
    ebb = parameters.ebb_share * period
    yield 0.0, True
    begins = period * (index + random.random() / 2) / max(count, 1)
    while begins < parameters.seconds:
        yield begins, False
        yield begins + ebb, True
        begins += max(period, ebb + 1.0)


def _storms(parameters: Parameters, random: Random) -> Iterator[float]:
    at = 0.0
    while parameters.storm_seconds > 0:
        at += max(1.0, random.expovariate(1.0 / parameters.storm_seconds))
        if at >= parameters.seconds:
            return
        yield at


def _with_storms(events: list[Event], zone: str, storms: Sequence[float], parameters: Parameters) -> list[Event]:
    """Within a storm, whose length is that of a zone without room, nothing else happens in the zone."""
    if not storms:
        return events
    own = [event for event in events if event.zone == zone]
    others = [event for event in events if event.zone != zone]
    for begins in storms:
        ends = begins + parameters.down_seconds
        after = next((event.machines for event in reversed(own) if event.at_seconds <= ends), ROOM)
        own = [event for event in own if not begins <= event.at_seconds <= ends]
        own = sorted([*own, Event(begins, zone, 0), Event(ends, zone, after)], key=lambda event: event.at_seconds)
    return others + own
