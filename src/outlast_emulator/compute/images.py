"""Images and families: Google's public ones, and those that are made of disks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, rules
from outlast_emulator.compute.failures import Failure
from outlast_emulator.compute.resources import Resource, fingerprint, missing
from outlast_emulator.errors import ApiError, invalid

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

KIND = "images"
GB = 1 << 30

PUBLIC: tuple[tuple[str, str, str, int, str, str], ...] = (
    ("debian-cloud", "debian-12", "debian-12-bookworm-v20261013", 10, "X86_64", "Debian GNU/Linux 12 (bookworm)"),
    (
        "debian-cloud",
        "debian-12-arm64",
        "debian-12-bookworm-arm64-v20261013",
        10,
        "ARM64",
        "Debian GNU/Linux 12 (bookworm)",
    ),
    ("debian-cloud", "debian-13", "debian-13-trixie-v20261013", 10, "X86_64", "Debian GNU/Linux 13 (trixie)"),
    (
        "debian-cloud",
        "debian-13-arm64",
        "debian-13-trixie-arm64-v20261013",
        10,
        "ARM64",
        "Debian GNU/Linux 13 (trixie)",
    ),
    ("ubuntu-os-cloud", "ubuntu-2204-lts", "ubuntu-2204-jammy-v20261020", 10, "X86_64", "Ubuntu 22.04 LTS"),
    ("ubuntu-os-cloud", "ubuntu-2404-lts-amd64", "ubuntu-2404-noble-amd64-v20261020", 10, "X86_64", "Ubuntu 24.04 LTS"),
    ("ubuntu-os-cloud", "ubuntu-2404-lts-arm64", "ubuntu-2404-noble-arm64-v20261020", 10, "ARM64", "Ubuntu 24.04 LTS"),
    *(
        ("deeplearning-platform-release", family, f"{family}-v20260930", 50, "X86_64", title)
        for family, title in (
            ("common-cu129-ubuntu-2204-nvidia-580", "Deep Learning VM, CUDA 12.9, driver 580, Ubuntu 22.04"),
            ("common-cu129-ubuntu-2404-nvidia-580", "Deep Learning VM, CUDA 12.9, driver 580, Ubuntu 24.04"),
            ("pytorch-2-9-cu129-ubuntu-2204-nvidia-580", "Deep Learning VM, PyTorch 2.9, Ubuntu 22.04"),
            ("pytorch-2-9-cu129-ubuntu-2404-nvidia-580", "Deep Learning VM, PyTorch 2.9, Ubuntu 24.04"),
        )
    ),
    (
        "ubuntu-os-accelerator-images",
        "ubuntu-accelerator-2204-amd64-with-nvidia-580",
        "ubuntu-accelerator-2204-amd64-with-nvidia-580-v20261020",
        20,
        "X86_64",
        "Ubuntu 22.04 LTS, driver 580",
    ),
    (
        "ml-images",
        "common-cu128-ubuntu-2204-nvidia-570",
        "c0-deeplearning-common-cu128-v20260131",
        50,
        "X86_64",
        "CUDA 12.8",
    ),
)
"""Project, family, name, size in GB, architecture, description."""

PUBLIC_PROJECTS = frozenset(one[0] for one in PUBLIC)
UNUSABLE = ("OBSOLETE", "DELETED")


class Images:
    """An image that was made here is a disk's contents, kept by whoever runs machines under the image's number."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        compute.scheduler.on("images.copy", self._copy, slow=True)
        self._publish()

    def usable(self, named: str, project: str, field: str) -> Resource:
        """The image that `sourceImage` names: an image, or the newest of a family; 400 in Google's words."""
        link = links.parse(named, KIND, project, links.GLOBAL) or _of_view(named, project)
        found = None
        if link is not None and link.name.startswith("family/"):
            found = self.newest(link.project, link.name.removeprefix("family/"))
        elif link is not None:
            found = self._compute.resources.at(link)
        if found is None:
            raise rules.refused(field, named, "The referenced image resource cannot be found.")
        state = found.document.get("deprecated", {}).get("state", "ACTIVE")
        if state in UNUSABLE:
            raise rules.refused(field, named, f"The referenced image resource is {state}.")
        if found.status != "READY":
            raise ApiError(400, "resourceNotReady", f"The resource '{found.path}' is not ready")
        return found

    def newest(self, project: str, family: str) -> Resource | None:
        """Of a family: the newest that is ready and not deprecated."""
        candidates = [
            one
            for one in self._compute.resources.list(KIND, project, links.GLOBAL)
            if one.document.get("family") == family and one.status == "READY" and not is_deprecated(one)
        ]
        return max(candidates, key=lambda one: (one.document["creationTimestamp"], one.id), default=None)

    def from_family(self, project: str, family: str) -> Resource:
        found = self.newest(project, family)
        if found is None:
            raise missing(f"projects/{project}/global/images/family/{family}")
        return found

    def create(self, project: str, body: dict[str, Any], *, force: bool, operation: Resource) -> Resource:
        """PENDING now, READY after `image_seconds`; `operation` ends then."""
        compute = self._compute
        name = rules.check_name(body.get("name"))
        labels = rules.check_labels(body.get("labels"))
        if body.get("family"):
            rules.check_name(body["family"], "resource.family")
        source = self._source(project, body, force)
        document: dict[str, Any] = {
            "kind": "compute#image",
            "creationTimestamp": rfc3339(int(compute.clock.now() * 1e6)),
            "status": "PENDING",
            "sourceType": "RAW",
            "diskSizeGb": source.document.get("sizeGb") or source.document.get("diskSizeGb", "10"),
            "archiveSizeBytes": "0",
            "architecture": body.get("architecture") or source.document.get("architecture", "X86_64"),
            "labelFingerprint": fingerprint(labels),
            "storageLocations": body.get("storageLocations") or [_continent(source.region)],
        }
        kept = (
            "description",
            "family",
            "guestOsFeatures",
            "licenses",
            "shieldedInstanceInitialState",
            "imageEncryptionKey",
        )
        document.update({key: body[key] for key in kept if body.get(key)})
        if labels:
            document["labels"] = labels
        which = "sourceDisk" if source.kind == "disks" else "sourceImage"
        document[which], document[f"{which}Id"] = source.url, str(source.id)
        with compute.database.write():
            made = compute.resources.add(KIND, project, links.GLOBAL, name, document)
            made.state.update(source=source.id, source_kind=source.kind, operation=operation.id)
            compute.resources.save(made)
            compute.scheduler.later(compute.switches.image_seconds, "images.copy", number=made.id)
        return made

    def delete(self, image: Resource) -> None:
        compute = self._compute
        with compute.database.write():
            compute.resources.remove(image)
            compute.usage.end(image)
            compute.scheduler.later(0, "images.drop", number=image.id)

    def _source(self, project: str, body: dict[str, Any], force: bool) -> Resource:
        given = [one for one in ("sourceDisk", "sourceImage", "sourceSnapshot", "rawDisk") if body.get(one)]
        if len(given) != 1 or given[0] in ("sourceSnapshot", "rawDisk"):
            why = "Exactly one of sourceDisk, sourceImage must be specified." if len(given) != 1 else "Not supported."
            raise rules.refused("resource", ", ".join(given), why)
        if given[0] == "sourceImage":
            return self.usable(body["sourceImage"], project, "resource.sourceImage")
        link = links.parse(body["sourceDisk"], "disks", project, links.GLOBAL)
        found = self._compute.resources.at(link) if link is not None else None
        if found is None:
            raise rules.refused(
                "resource.sourceDisk", body["sourceDisk"], "The referenced disk resource cannot be found."
            )
        for user in found.document.get("users", []):
            owner = links.parse(user, "instances", project, found.scope)
            instance = self._compute.resources.at(owner) if owner is not None else None
            if instance is not None and instance.status != "TERMINATED" and not force:
                raise ApiError(
                    400,
                    "resourceInUseByAnotherResource",
                    f"The disk resource '{found.path}' is already being used by '{instance.path}'",
                )
        return found

    def _copy(self, number: int) -> None:
        compute = self._compute
        image = compute.resources.by_id(number)
        if image is None or image.status != "PENDING":
            return
        failure, size = None, 0
        try:
            size = compute.contents.copy_image(image.state["source"], image.state["source_kind"], number)
        except OSError as error:
            failure = Failure("RESOURCE_OPERATION_FAILED", f"The image could not be made: {error}", 503)
        with compute.database.write():
            image = compute.resources.by_id(number)
            if image is None:
                return
            image.document["status"] = "FAILED" if failure else "READY"
            image.document["archiveSizeBytes"] = str(max(size, GB))
            compute.resources.save(image)
            if failure is None:
                compute.usage.begin_image(image)
            operation = compute.resources.by_id(image.state["operation"])
            if operation is not None:
                compute.operations.end(operation, failure)

    def _publish(self) -> None:
        """Google's, once per data directory."""
        resources = self._compute.resources
        with self._compute.database.write():
            for project, family, name, size_gb, architecture, title in PUBLIC:
                if resources.peek(KIND, project, links.GLOBAL, name) is None:
                    resources.add(KIND, project, links.GLOBAL, name, _public(family, size_gb, architecture, title))


def is_deprecated(image: Resource) -> bool:
    state: str = image.document.get("deprecated", {}).get("state", "ACTIVE")
    return state != "ACTIVE"


def deprecate(image: Resource, body: dict[str, Any]) -> None:
    """The status of a `DeprecationStatus` becomes the image's; ACTIVE takes it away."""
    state = body.get("state", "ACTIVE")
    if state not in ("ACTIVE", "DEPRECATED", "OBSOLETE", "DELETED"):
        raise invalid(f"Invalid value for field 'state': '{state}'.")
    if state == "ACTIVE":
        image.document.pop("deprecated", None)
    else:
        image.document["deprecated"] = dict(body)


def _of_view(named: str, project: str) -> links.Link | None:
    """`.../zones/Z/imageFamilyViews/F`, as gcloud names a family; the zone may be `-`."""
    view = links.parse(named, "imageFamilyViews", project, links.GLOBAL)
    return links.Link(view.project, links.GLOBAL, KIND, f"family/{view.name}") if view is not None else None


def _continent(region: str) -> str:
    """Where an image is kept if nobody says: `us`, `eu` or `asia`."""
    return {"europe": "eu", "asia": "asia", "australia": "asia"}.get(region.partition("-")[0], "us")


def _public(family: str, size_gb: int, architecture: str, title: str) -> dict[str, Any]:
    features = ("UEFI_COMPATIBLE", "VIRTIO_SCSI_MULTIQUEUE", "GVNIC")
    return {
        "kind": "compute#image",
        "creationTimestamp": "2026-10-13T00:00:00.000-07:00",
        "description": title,
        "family": family,
        "status": "READY",
        "sourceType": "RAW",
        "diskSizeGb": str(size_gb),
        "archiveSizeBytes": str(size_gb * GB // 5),
        "architecture": architecture,
        "guestOsFeatures": [{"type": feature} for feature in features],
        "labelFingerprint": fingerprint({}),
        "storageLocations": ["asia", "eu", "us"],
    }
