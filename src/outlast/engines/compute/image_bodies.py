"""What Compute Engine is asked for to make an image: a builder without any rights, which ends by itself, and the image of its disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlast.catalog.images import ENVIRONMENT_LABEL, PYTHON_LABEL
from outlast.engines.compute import names
from outlast.engines.compute.bodies import interface, script
from outlast.engines.imaging import Place, Recipe

Document = dict[str, Any]

LIMIT_SECONDS = 7200
"""Google deletes a builder after so long, whatever has become of whoever started it. It is never stopped: that would end the limit too."""

BUILDER = "image-builder"
FAMILY_LABEL = "outlast-family"
BUILDER_TYPE = "e2-standard-4"
METADATA_BYTES_MAX = 256 * 1024
"""Of one value; Google takes no more."""


def builder_name(nonce: str) -> str:
    return f"outlast-image-{nonce}"


def builder_labels(family: str) -> dict[str, str]:
    return {names.MARK: "1", names.KIND_LABEL: BUILDER, FAMILY_LABEL: names.label_text(family)}


def builder(nonce: str, family: str, zone: str, place: Place, disk: Document, more: Mapping[str, str]) -> Document:
    """No service account: what runs on it can do nothing at Google."""
    values = {
        "startup-script": f"{script('scrub.sh')}\n{script('image.sh')}",
        "outlast-nonce": nonce,
        "enable-guest-attributes": "TRUE",
        "block-project-ssh-keys": "TRUE",
        **more,
    }
    connected = interface(place.network)
    if place.external_ip:
        connected["accessConfigs"] = [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]
    return {
        "name": builder_name(nonce),
        "description": f"makes an image of family {family}, and is deleted then",
        "machineType": f"zones/{zone}/machineTypes/{place.machine_type}",
        "labels": builder_labels(family),
        "metadata": {"items": [{"key": key, "value": value} for key, value in values.items()]},
        "disks": [disk],
        "networkInterfaces": [connected],
        "scheduling": {
            "provisioningModel": "STANDARD",
            "automaticRestart": False,
            "instanceTerminationAction": "DELETE",
            "maxRunDuration": {"seconds": str(LIMIT_SECONDS)},
        },
    }


def fresh_disk(recipe: Recipe, zone: str, place: Place) -> Document:
    return {
        "boot": True,
        "autoDelete": True,
        "initializeParams": {
            "sourceImage": recipe.base,
            "diskSizeGb": str(place.disk_gb),
            "diskType": f"zones/{zone}/diskTypes/{place.disk_type}",
            "labels": builder_labels(recipe.family),
        },
    }


def recipe_metadata(recipe: Recipe) -> dict[str, str]:
    return {
        "outlast-task": "build",
        "outlast-python": recipe.python,
        "outlast-requirements": recipe.requirements,
        "outlast-setup": recipe.setup,
    }


def copied_disk(nonce: str, family: str, source: str) -> Document:
    """`source`: the path of the disk that is copied."""
    return {"name": builder_name(nonce), "sourceDisk": source, "labels": builder_labels(family)}


def attached_disk(nonce: str, zone: str) -> Document:
    """It goes with its builder."""
    return {"boot": True, "autoDelete": True, "source": f"zones/{zone}/disks/{builder_name(nonce)}"}


def image(name: str, family: str, disk: str, *, python: str, description: str) -> Document:
    labels = {names.MARK: "1"}
    if python:
        labels |= {ENVIRONMENT_LABEL: "1", PYTHON_LABEL: python.replace(".", "-")}
    return {"name": name, "family": family, "sourceDisk": disk, "labels": labels, "description": description}
