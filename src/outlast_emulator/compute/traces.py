"""Replays an availability trace: zones lose and regain their room for Spot machines, and machines without room are preempted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import places, traces_synthetic
from outlast_emulator.compute.instances import is_spot
from outlast_emulator.compute.resources import Instance
from outlast_emulator.compute.traces_synthetic import EVENTS_MAX, Event

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

NOTE = "trace"
TASK = "traces.next"
DEFAULT_REGION = "us-central1"


class Traces:
    """One at a time; where it is stands in the database, so that a killed emulator goes on with it."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on(TASK, self._next)
        compute.instances.on_running.append(self._came_up)

    def play(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """`{"name": "busy", "seed": 1, "zones": [...]}` with any of its parameters, or `{"events": [...]}`; `"repeat": true`.

        Another one that was playing ends. ValueError for what cannot be played.
        """
        wanted = dict(wanted)
        repeat, seed, name = bool(wanted.pop("repeat", False)), int(wanted.pop("seed", 0)), str(wanted.pop("name", ""))
        zones = tuple(wanted.pop("zones", ())) or places.REGIONS[DEFAULT_REGION]
        for zone in zones:
            if zone not in places.ZONES:
                raise ValueError(f"no zone `{zone}`")
        if "events" in wanted:
            events, seconds = _read(wanted.pop("events")), float(wanted.pop("seconds", 0.0))
            shown: dict[str, Any] = {"name": name}
            if wanted:
                raise ValueError(f"events have no parameter `{sorted(wanted)[0]}`")
        else:
            parameters = traces_synthetic.changed(name, wanted)
            events, seconds = traces_synthetic.made(parameters, zones, seed), parameters.seconds
            shown = {"name": name, "seed": seed, "parameters": traces_synthetic.shown(parameters)}
        seconds = max(seconds, events[-1].at_seconds if events else 0.0)
        compute = self._compute
        with compute.database.write():
            self.stop()
            began = compute.clock.now()
            playing = {"began_at": began, "seconds": seconds, "repeat": repeat, "next": 0, "shown": shown}
            playing["events"] = [[event.at_seconds, event.zone, event.machines] for event in events]
            compute.database.keep_note(NOTE, json.dumps(playing))
            compute.scheduler.later(0, TASK, began_at=began)
        return self.shown()

    def stop(self) -> None:
        """Zones are as they were before any trace."""
        with self._compute.database.write():
            playing = self._playing()
            self._compute.database.keep_note(NOTE, "")
            for zone in sorted({event[1] for event in playing.get("events", [])}):
                self._compute.capacity.restore(zone=zone, provisioning="SPOT")

    def shown(self) -> dict[str, Any]:
        playing = self._playing()
        shipped = {name: traces_synthetic.shown(found) for name, found in traces_synthetic.SHIPPED.items()}
        if not playing:
            return {"playing": None, "shipped": shipped}
        scale = self._compute.clock.scale
        now_seconds = (self._compute.clock.now() - playing["began_at"]) / scale if scale else playing["seconds"]
        events = [{"at_seconds": at, "zone": zone, "machines": room} for at, zone, room in playing["events"]]
        return {
            "playing": {
                **playing["shown"],
                "at_seconds": now_seconds,
                "seconds": playing["seconds"],
                "repeat": playing["repeat"],
                "played": playing["next"],
                "events": events,
            },
            "shipped": shipped,
        }

    def _playing(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._compute.database.note(NOTE) or "{}")
        return found

    def _next(self, began_at: float) -> None:
        """Everything that is due, and a task for what is not yet."""
        compute = self._compute
        with compute.database.write():
            playing = self._playing()
            if not playing or playing["began_at"] != began_at:
                return  # another one was begun
            now = compute.clock.now()
            events, at = playing["events"], int(playing["next"])
            while at < len(events) and began_at + compute.clock.scaled(events[at][0]) <= now:
                compute.capacity.exhaust(zone=events[at][1], provisioning="SPOT", machines=int(events[at][2]))
                self._preempt(events[at][1], int(events[at][2]))
                at += 1
            playing["next"] = at
            ends_at = began_at + compute.clock.scaled(playing["seconds"])
            if at < len(events):
                compute.scheduler.at(began_at + compute.clock.scaled(events[at][0]), TASK, began_at=began_at)
            elif now < ends_at:
                compute.scheduler.at(ends_at, TASK, began_at=began_at)
            elif playing["repeat"] and playing["seconds"] > 0:
                playing |= {"began_at": ends_at, "next": 0}
                compute.scheduler.at(ends_at, TASK, began_at=ends_at)
            else:
                self.stop()
                return
            compute.database.keep_note(NOTE, json.dumps(playing))

    def _came_up(self, instance: Instance) -> None:
        """A machine that was still booting when its zone lost its room has none either."""
        with self._compute.database.write():
            playing = self._playing()
            rooms = {zone: int(room) for _, zone, room in playing.get("events", [])[: playing.get("next", 0)]}
            if instance.zone in rooms:
                self._preempt(instance.zone, rooms[instance.zone])

    def _preempt(self, zone: str, room: int) -> None:
        """The youngest go first."""
        spots = [
            one
            for one in self._compute.resources.list("instances", scope=f"zones/{zone}")
            if is_spot(one)
            and one.status == "RUNNING"
            and "ending" not in one.state
            and not one.state.get("preempting")
        ]
        for instance in sorted(spots, key=lambda one: one.id)[room:]:
            self._compute.preemption.preempt(instance)


def _read(events: Sequence[Any]) -> list[Event]:
    if not isinstance(events, list) or len(events) > EVENTS_MAX:
        raise ValueError(f"`events` takes a list of at most {EVENTS_MAX}")
    found = [Event(float(one["at_seconds"]), str(one["zone"]), int(one["machines"])) for one in events]
    for event in found:
        if event.zone not in places.ZONES or event.at_seconds < 0 or event.machines < 0:
            raise ValueError(f"no event of a trace: {event}")
    return sorted(found, key=lambda event: event.at_seconds)
