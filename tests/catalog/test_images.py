"""A family, an image or `PROJECT/FAMILY` becomes one image, and the job keeps that one."""

from __future__ import annotations

import pytest

from outlast.catalog.images import Image, find_image
from outlast.catalog.table import shipped
from outlast.errors import NotFound, UsageError
from outlast.google.connect import connect
from outlast_emulator.testing import Running

pytestmark = pytest.mark.usefixtures("emulator")


def found(text: str) -> Image:
    return find_image(connect(), shipped(), "emulated", text)


def test_every_image_that_the_catalog_names_is_found_by_its_family_alone() -> None:
    for name in (shipped().image, *(gpu.image for gpu in shipped().gpus.values())):
        project, _, family = name.partition("/")
        image = found(family)
        assert image == found(name) and image.family == family
        assert image.path.startswith(f"projects/{project}/global/images/") and "family" not in image.path
        assert image.architecture == "x86_64" and image.disk_gb >= 10


def test_an_image_is_found_by_its_own_name_and_by_its_path() -> None:
    path = found("debian-cloud/debian-12").path
    assert found(path).path == path
    assert found(f"https://www.googleapis.com/compute/v1/{path}").path == path
    assert found(f"debian-cloud/{path.rpartition('/')[2]}").path == path
    assert found("projects/debian-cloud/global/images/family/debian-12").path == path


def test_a_family_of_ones_own_comes_before_googles(emulator: Running) -> None:
    body = {"name": "debian-12-mine", "family": "debian-12", "sourceImage": found("debian-cloud/debian-12").path}
    made = emulator.call("POST", "/compute/v1/projects/emulated/global/images", body)
    assert made.status == 200, made.body
    operation = made.json()["name"]
    emulator.call("POST", f"/compute/v1/projects/emulated/global/operations/{operation}/wait")
    assert found("debian-12").path == "projects/emulated/global/images/debian-12-mine"
    assert found("debian-12-mine").path == "projects/emulated/global/images/debian-12-mine"
    emulator.call("DELETE", "/compute/v1/projects/emulated/global/images/debian-12-mine")


def test_what_is_no_image_is_answered_with_where_was_looked() -> None:
    with pytest.raises(NotFound) as raised:
        found("my-family")
    assert "family `emulated/my-family` nor image `emulated/my-family`" in raised.value.message
    with pytest.raises(NotFound, match="debian-cloud/debian-99"):
        found("debian-cloud/debian-99")
    with pytest.raises(UsageError):
        found("a/b/c")
