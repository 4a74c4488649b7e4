"""The group of one launch at Google, and the templates beside it: found, emptied, ended.

Every resource has a name that follows from the launch's id, and only what carries the launch's labels is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from outlast.clock import Clock
from outlast.engines.compute import bodies, names, troubles
from outlast.engines.compute.managed import Managed, place_of, there_by_rank
from outlast.engines.compute.requests import or_none, request_id
from outlast.engines.compute.variants import variants
from outlast.engines.engine import Launch
from outlast.engines.renting import region_of, rented_of
from outlast.errors import NoCapacity, OutlastError, StoreUnavailable
from outlast.google.compute import ComputeClient
from outlast.google.errors import ApiError
from outlast.google.transport import Transport

STOP_SECONDS_MAX = 900.0
"""A group of GPU machines takes minutes to go."""

LOOK_SECONDS = (0.2, 5.0)
ASK_AGAIN_SECONDS = 30.0
EXISTS = "RESOURCE_ALREADY_EXISTS"

Document = dict[str, Any]


class Group:
    """Refusals are Google's own (`ApiError`): whoever calls says what it was doing."""

    def __init__(self, transport: Transport, launch: Launch, clock: Clock) -> None:
        self.launch = launch
        self.rented = rented_of(launch)
        self.region = region_of(launch)
        self.name = names.group_name(launch.id)
        self.client = ComputeClient(transport, self.rented.project)
        self.clock = clock

    # What is there.

    def get(self) -> Document | None:
        """None also for a group of somebody else's with the same name."""
        group = or_none(lambda: self.client.get_group(self.region, self.name))
        if group is None:
            return None
        labels = group.get("allInstancesConfig", {}).get("properties", {}).get("labels", {})
        return group if names.is_of(labels, self.launch) else None

    def members(self) -> list[Managed] | None:
        """None: it has just gone. Only of a group that is known to be the launch's."""
        return or_none(lambda: list(self.client.list_managed(self.region, self.name)))

    def managed(self) -> list[Managed]:
        return (self.members() or []) if self.get() is not None else []

    def is_empty(self, group: Document) -> bool:
        """Nobody is left in it, and nobody will be."""
        return self.launch.independent and not int(group.get("targetSize", 1))

    def is_stopped(self) -> bool:
        """Somebody has left word that nobody is to start it."""
        name = names.stopped_name(self.launch.id)
        return or_none(lambda: self.client.get_template(self.region, name)) is not None

    # What is done.

    def refill(self, group: Document) -> None:
        """Workers that are independent leave one by one; if the last one was sent away by somebody, nobody has ended the launch."""
        if not self.is_empty(group) or (self.launch.asked_at or self.clock.now()) >= self.launch.deadline_at:
            return
        try:
            self.client.resize_group(self.region, self.name, self.launch.workers, request_id())
        except ApiError as error:
            if error.status not in (400, 404, 409):  # it is being deleted, or gone
                raise

    def send_away(self, idle: Collection[str]) -> list[str]:
        """Of these machines, `RANK-NUMBER`, those that are there: the group is so much smaller from then on."""
        there = there_by_rank(self.managed())
        found = {one: there[rank] for one in idle if (rank := int(one.partition("-")[0])) in there}
        if found:
            places = [place_of(one) for one in found.values()]
            self.client.delete_instances(self.region, self.name, places, request_id())
        return list(found)

    def leave_word(self) -> None:
        """That nobody is to start it any more."""
        body = bodies.stopped(self.launch, self.rented)
        self.insert(lambda: self.client.insert_template(self.region, body, request_id()))

    def delete(self) -> None:
        """Asked for; it takes its time. Never a group of somebody else's."""
        if self.get() is None:
            return
        try:
            self.client.delete_group(self.region, self.name, request_id())
        except ApiError as error:
            if error.status not in (404, 409, 400):  # gone; or going: Google calls a group that is not ready so
                raise

    def wait_until_gone(self) -> None:
        until = self.clock.monotonic() + STOP_SECONDS_MAX
        wait, wait_max = LOOK_SECONDS
        asked_again_at = self.clock.monotonic() + ASK_AGAIN_SECONDS
        while self.get() is not None:
            now = self.clock.monotonic()
            if now >= until:
                raise OutlastError(
                    f"group `{self.name}` in `{self.region}` is still there",
                    state="its machines may be paid for",
                    hint=f"`gcloud compute instance-groups managed delete {self.name} --region {self.region}`",
                )
            if now >= asked_again_at:
                self.delete()
                asked_again_at = now + ASK_AGAIN_SECONDS
            self.clock.sleep(wait)
            wait = min(wait_max, wait * 1.5)

    def delete_templates(self) -> None:
        """All but the one that says that it was stopped. They cost nothing: what fails here is left to `outlast audit`."""
        for number in range(len(variants(spot=self.rented.spot))):
            name = names.template_name(self.launch.id, number)
            try:
                template = self.client.get_template(self.region, name)
                if names.is_of(template.get("properties", {}).get("labels", {}), self.launch):
                    self.client.delete_template(self.region, name, request_id())
            except ApiError:
                return

    def delete_word(self) -> None:
        self.client.delete_template(self.region, names.stopped_name(self.launch.id), request_id())

    # Operations.

    def insert(self, ask: Callable[[], Document]) -> None:
        """Returns when what was asked for is there, by this call or another one."""
        try:
            operation = self.finished(("regions", self.region), ask())
        except ApiError as error:
            if error.status == 409:
                return
            raise
        errors = troubles.of_operation(operation)
        if not errors or any(error.code == EXISTS for error in errors):
            return
        lacking = any(error.code in troubles.QUOTA | troubles.CAPACITY for error in errors)
        kind = NoCapacity if lacking else OutlastError
        raise kind(f"in `{self.region}`: {troubles.told(errors)}", state="nothing was started, nothing is being spent")

    def finished(self, scope: tuple[str, str], operation: Document) -> Document:
        until = self.clock.monotonic() + STOP_SECONDS_MAX
        while operation.get("status") != "DONE":
            if self.clock.monotonic() >= until:
                raise StoreUnavailable(f"operation `{operation.get('name')}` in `{scope[1]}` does not end")
            operation = self.client.wait_in(scope, str(operation["name"]))
        return operation
