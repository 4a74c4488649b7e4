"""What the same people need for images and a new catalog: each right is taken away in turn, and the error names it."""

from __future__ import annotations

import pytest

from outlast.engines.compute import image_bodies
from outlast.errors import OutlastError
from outlast.jobs import images, roles
from outlast.jobs.catalog import refresh_catalog
from outlast.jobs.world import World
from outlast_emulator.testing import Running
from tests.cloud.test_rights import ANN, ann, asked_of, taken
from tests.compute.renter import until

__all__ = ["ann"]

IMAGES = "/compute/v1/projects/emulated/global/images"


def build(world: World, emulator: Running) -> None:
    """As far as a builder comes that is a record: nobody says that it is done. On an image of the project's own."""
    publish(emulator)
    images.Images(world, {}).build(images.Asked("family", base="emulated/tools"), lambda _: None)


def publish(emulator: Running) -> None:
    source = "projects/debian-cloud/global/images/family/debian-12"
    body = {"name": "old", "family": "tools", "sourceImage": source, "labels": {"outlast": "1"}}
    assert emulator.call("POST", IMAGES, body).status == 200
    until(lambda: emulator.call("GET", f"{IMAGES}/old").json().get("status") == "READY", "the image is ready")


def delete(world: World, emulator: Running) -> None:
    publish(emulator)
    known = images.Images(world, {})
    known.delete(known.named(["old"]))


def refresh(world: World, emulator: Running) -> None:
    refresh_catalog(world, {}, "", lambda *_: None)


DISPENSABLE = {"compute.advice.capacityHistory"}
"""Asked for, and done without where it is refused."""

ACTS = {
    build: (
        "compute.disks.create",
        "compute.images.getFromFamily",
        "compute.images.useReadOnly",
        "compute.instances.get",
        "compute.instances.getGuestAttributes",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.subnetworks.use",
        "compute.subnetworks.useExternalIp",
        "compute.zoneOperations.get",
    ),
    delete: ("compute.globalOperations.get", "compute.images.delete"),
    refresh: ("compute.acceleratorTypes.list", "compute.machineTypes.list"),
}


@pytest.fixture
def records(emulator: Running, ann: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """There is room, and machines are records."""
    emulator.switch(machines=False)
    emulator.call("DELETE", "/_emulator/capacity")
    monkeypatch.setattr(image_bodies, "LIMIT_SECONDS", 30)
    return ann


@pytest.mark.parametrize(("act", "permission"), [(act, one) for act, needed in ACTS.items() for one in needed])
def test_without_any_one_of_them_an_error_names_it(
    records: World, emulator: Running, act: object, permission: str
) -> None:
    assert permission in roles.USER_ROLE_PERMISSIONS
    taken(emulator, permission)
    with pytest.raises(OutlastError) as refused:
        act(records, emulator)  # type: ignore[operator]
    assert permission in f"{refused.value.message} {refused.value.state}", refused.value.message


@pytest.mark.parametrize("act", [refresh, delete])
def test_a_member_may_do_all_of_it(records: World, emulator: Running, act: object) -> None:
    act(records, emulator)  # type: ignore[operator]
    needed = {one for one in asked_of(emulator, ANN) if one.startswith("compute.")}
    assert needed - DISPENSABLE <= set(roles.USER_ROLE_PERMISSIONS)
