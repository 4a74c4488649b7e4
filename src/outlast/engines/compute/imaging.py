"""Images of Compute Engine: a builder makes its disk, says so by a guest attribute, and is deleted whatever happens.

A builder is never stopped: an image is made of its disk while it idles. So its own limit holds until it is gone, and whoever is killed
here leaves nothing for longer than that.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from typing import Any

from outlast.catalog.images import PYTHON_LABEL
from outlast.clock import Clock
from outlast.engines.compute import image_bodies as bodies
from outlast.engines.compute import names, troubles
from outlast.engines.compute.audit import HOURS_A_MONTH, IMAGE_USD_PER_GB_HOUR
from outlast.engines.compute.builder_log import BuilderLog
from outlast.engines.compute.requests import or_none, request_id, told
from outlast.engines.engine import Launch
from outlast.engines.imaging import KeptImage, MadeImage, Place, Recipe, Say
from outlast.errors import NoCapacity, NotFound, OutlastError
from outlast.google.compute_building import BuildingClient

Document = dict[str, Any]
FirstMachine = Callable[[Launch], tuple[str, str] | None]
"""The zone and the name of a launch's machine that runs."""

NAMESPACE = "outlast"
LOOK_SECONDS = (0.5, 5.0)
OPERATION_SECONDS_MAX = 1800.0
OFF = frozenset({"STOPPING", "TERMINATED", "STOPPED", "SUSPENDING", "SUSPENDED"})
NOTHING_LEFT = "no image was made, and its builder is deleted"


class ComputeImager:
    def __init__(self, client: BuildingClient, clock: Clock, first_machine: FirstMachine) -> None:
        self.client = client
        self.clock = clock
        self.first_machine = first_machine

    def build(self, recipe: Recipe, place: Place, say: Say) -> MadeImage:
        nonce = secrets.token_hex(8)

        def start(zone: str) -> None:
            disk = bodies.fresh_disk(recipe, zone, place)
            self._insert_builder(nonce, recipe.family, zone, place, disk, bodies.recipe_metadata(recipe))

        with told(f"image family `{recipe.family}` in project `{self.client.project}`"):
            return self._made(nonce, recipe.family, place.zones, start, say, f"made of {recipe.base}")

    def save(self, launch: Launch, family: str, place: Place, say: Say) -> MadeImage:
        nonce = secrets.token_hex(8)
        with told(f"the disk of job `{launch.job}`'s machine"):
            zone, source = self._disk_of(launch)
            say(f"copying disk `{source.rpartition('/')[2]}` in `{zone}`")

            def start(zone: str) -> None:
                copied = bodies.copied_disk(nonce, family, source)
                self._done(("zones", zone), self.client.insert_disk(zone, copied, request_id()))
                disk = bodies.attached_disk(nonce, zone)
                self._insert_builder(nonce, family, zone, place, disk, {"outlast-task": "save"})

            return self._made(nonce, family, (zone,), start, say, f"of job {launch.job}'s machine")

    def now(self) -> float:
        return self.client.transport.now()

    def images(self) -> Iterator[KeptImage]:
        with told(f"images of project `{self.client.project}`"):
            found = [_kept(one, self.client.project) for one in self.client.list_images(names.MARK)]
        yield from sorted(found, key=lambda one: -one.made_at)

    def delete(self, image: KeptImage) -> None:
        with told(f"image `{image.name}`"):
            operation = or_none(lambda: self.client.delete_in(("global",), "images", image.name, request_id()))
            if operation is not None:
                self._done(("global",), operation)

    # A builder's life.

    def _made(
        self, nonce: str, family: str, zones: tuple[str, ...], start: Callable[[str], None], say: Say, description: str
    ) -> MadeImage:
        tried: list[str] = []
        try:
            zone = self._start(zones, start, tried, say)
            say(f"builder `{bodies.builder_name(nonce)}` in `{zone}`")
            heard = self._wait(nonce, zone, family, say)
            python = heard.get("environment", "").strip()
            name = f"{family}-{datetime.fromtimestamp(self.now(), timezone.utc):%Y%m%d-%H%M%S}"
            say(f"saving its disk as image `{name}`")
            disk = f"projects/{self.client.project}/zones/{zone}/disks/{bodies.builder_name(nonce)}"
            self._publish(name, bodies.image(name, family, disk, python=python, description=description))
            return MadeImage(name, family, python, tuple(heard.get("scrubbed", "").split("\n")))
        finally:
            for zone in tried:
                self._remove(nonce, zone, say)

    def _start(self, zones: tuple[str, ...], start: Callable[[str], None], tried: list[str], say: Say) -> str:
        """The first zone that has room for it."""
        full: NoCapacity | None = None
        for zone in zones:
            tried.append(zone)  # before it is asked for: the answer may be lost
            try:
                start(zone)
            except _NoRoom as error:
                say(error.message)
                full = full or error
            else:
                return zone
        raise full or NoCapacity("there is no zone for a builder", hint="`--zone`, or another `--region`")

    def _insert_builder(
        self, nonce: str, family: str, zone: str, place: Place, disk: Document, more: dict[str, str]
    ) -> None:
        body = bodies.builder(nonce, family, zone, place, disk, more)
        self._done(("zones", zone), self.client.insert_instance(zone, body, request_id()))

    def _wait(self, nonce: str, zone: str, family: str, say: Say) -> dict[str, str]:
        """What it has told, when it has told that it is done."""
        name = bodies.builder_name(nonce)
        log = BuilderLog(partial(self.client.serial_from, zone, name), say)
        until = self.clock.monotonic() + bodies.LIMIT_SECONDS
        wait, wait_max = LOOK_SECONDS
        while True:
            instance = or_none(lambda: self.client.get_instance(zone, name))
            status = str(instance.get("status", "")) if instance is not None else ""
            heard = self.client.guest_attributes(zone, name, NAMESPACE) if instance is not None else {}
            result = heard.get("result", "")
            log.read()
            if result == f"built {nonce}":
                return heard
            if result == f"failed {nonce}":
                log.tell_end(heard.get("log", ""))
                raise OutlastError(
                    f"the set-up of image family `{family}` failed on its builder",
                    state=NOTHING_LEFT,
                    hint="its log stands above this; the same command tries again",
                )
            if instance is None or status in OFF or self.clock.monotonic() >= until:
                how = f"is {status.lower()}" if status in OFF else "is gone" if instance is None else "does not finish"
                raise OutlastError(
                    f"builder `{name}` in `{zone}` {how}, and has not said that it is done",
                    state=NOTHING_LEFT,
                    hint="a set-up script must not turn the machine off; it has two hours",
                )
            self.clock.sleep(wait)
            wait = min(wait_max, wait * 1.2)

    def _publish(self, name: str, body: Document) -> None:
        """Whoever is interrupted while Google copies waits for that and takes it back: a disk that is being copied cannot go."""
        operation = self.client.insert_image(body, request_id())
        try:
            self._done(("global",), operation)
        except KeyboardInterrupt:
            self._done(("global",), operation)
            self._done(("global",), self.client.delete_in(("global",), "images", name, request_id()))
            raise

    def _remove(self, nonce: str, zone: str, say: Say) -> None:
        """The copied disk went with its builder, unless there was none. What cannot be removed is said, and goes by its own limit."""
        name = bodies.builder_name(nonce)
        for kind in ("instances", "disks"):
            try:
                with told(f"deleting `{name}` in `{zone}`"):
                    operation = or_none(partial(self.client.delete_in, ("zones", zone), kind, name, request_id()))
                    if operation is not None:
                        self._done(("zones", zone), operation)
            except OutlastError as error:
                command = f"gcloud compute {kind} delete {name} --zone={zone} --project={self.client.project}"
                say(f"`{name}` may still be paid for: {error.message}; `{command}`, or `outlast audit --fix`")

    # The parts of that.

    def _disk_of(self, launch: Launch) -> tuple[str, str]:
        at = self.first_machine(launch)
        instance = or_none(lambda: self.client.get_instance(*at)) if at is not None else None
        disks = [str(disk["source"]) for disk in (instance or {}).get("disks", ()) if disk.get("boot")]
        if at is None or not disks:
            raise NotFound(
                f"no machine of job `{launch.job}` runs now",
                hint="a machine is there while its job runs, and for as long as `--linger` said afterwards",
            )
        return at[0], disks[0].partition("/compute/v1/")[2] or disks[0]

    def _done(self, scope: tuple[str, ...], operation: Document) -> None:
        until = self.clock.monotonic() + OPERATION_SECONDS_MAX
        while operation.get("status") != "DONE":
            if self.clock.monotonic() >= until:
                raise OutlastError(f"operation `{operation.get('name')}` does not end")
            operation = self.client.wait_in(scope, str(operation["name"]))
        errors = troubles.of_operation(operation)
        if any(error.code in troubles.CAPACITY for error in errors):
            raise _NoRoom(f"no room in `{scope[-1]}`: {troubles.told(errors)}", state=NOTHING_LEFT)
        if errors:
            kind = NoCapacity if any(error.code in troubles.QUOTA for error in errors) else OutlastError
            raise kind(f"in `{scope[-1]}`: {troubles.told(errors)}", state=NOTHING_LEFT)


class _NoRoom(NoCapacity):
    """In this zone, now."""


def _kept(one: Document, project: str) -> KeptImage:
    name, labels = str(one.get("name", "")), one.get("labels", {})
    stored = int(one.get("archiveSizeBytes", 0) or 0)
    made = str(one.get("creationTimestamp", "")).replace("Z", "+00:00")
    return KeptImage(
        name=name,
        family=str(one.get("family", "")),
        path=f"projects/{project}/global/images/{name}",
        made_at=datetime.fromisoformat(made).timestamp() if made else 0.0,
        bytes=stored,
        usd_per_month=round(stored / 1e9 * IMAGE_USD_PER_GB_HOUR * HOURS_A_MONTH, 4),
        python=str(labels.get(PYTHON_LABEL, "")).replace("-", "."),
        status=str(one.get("status", "ready")).lower(),
    )
