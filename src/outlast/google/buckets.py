"""A bucket that is fit for a home: found, or made private, uniform, without soft delete, in the asked region."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from outlast.dataclass import dataclass
from outlast.errors import Denied, UsageError
from outlast.google.errors import ApiError
from outlast.google.storage import StorageClient
from outlast.google.wire import NoAnswer
from outlast.pattern import pattern

ABANDONED_DAYS = 7
"""After so long an upload that nobody finished is removed: it is billed, and no list shows it."""

LABEL = "outlast"
LABEL_VALUE = "home"
DEFAULT_PREFIX = "outlast-"
DEFAULT_TRIES = 5
NAME_LENGTH_MAX = 63
REGION_DEFAULT = "us-central1"

MULTI_REGIONS: Mapping[str, tuple[str, ...]] = {
    "us": ("us-", "northamerica-"),
    "eu": ("europe-",),
    "asia": ("asia-",),
}
_NAME = pattern(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]")


@dataclass(frozen=True)
class Bucket:
    name: str
    location: str
    """`us-central1`, `us`, `nam4`; empty: we may not ask."""

    made: bool = False
    soft_delete: bool = False
    """What is overwritten or deleted is kept, and billed, for days."""


def check_name(name: str) -> str:
    """`UsageError` for what cannot be a bucket's name."""
    pieces = name.split(".")
    if (
        not _NAME.fullmatch(name)
        or any(not 0 < len(piece) <= NAME_LENGTH_MAX for piece in pieces)
        or name.startswith("goog")
        or re.fullmatch(r"\d+\.\d+\.\d+\.\d+", name)
    ):
        raise UsageError(
            f"`{name}` cannot be a bucket's name",
            hint="3 to 63 small letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        )
    return name


def find(client: StorageClient) -> Bucket | None:
    """None: there is none of this name."""
    try:
        return _bucket(client.get_bucket())
    except ApiError as error:
        if error.status == 404:
            return None
        if error.status == 403:
            # Its objects may be ours all the same, and their requests will tell; that there is none is told there too.
            return None if _is_absent(client) else Bucket(client.bucket, "")
        raise client.transport.explain(error, f"bucket `{client.bucket}`") from error
    except NoAnswer as error:
        raise client.transport.explain(error, f"bucket `{client.bucket}`") from error


def _is_absent(client: StorageClient) -> bool:
    try:
        client.list("", limit=1)
    except (ApiError, NoAnswer) as error:
        return isinstance(error, ApiError) and error.status == 404
    return False


def ensure(client: StorageClient, project: str, region: str) -> Bucket:
    """The bucket, made if it is absent. Who makes it at the same moment has made it for both."""
    found = find(client)
    if found is not None:
        return found
    made = _make(client, project, region)
    if made is not None:
        return made
    found = find(client)
    if found is not None and found.location:
        return found
    raise Denied(
        f"there is a bucket `{client.bucket}`, and it is not yours: names are shared by everybody",
        hint="choose another name; `--bucket` makes it",
    )


def ensure_default(client: StorageClient, project: str, region: str, random: Random) -> Bucket:
    """This project's own bucket for homes in the region, made if there is none.

    It is looked for among the project's own buckets only, and its name ends at random: nobody else can have made it before us,
    and waited for our data.
    """
    try:
        found = find_default(client, project, region)
    except (ApiError, NoAnswer) as error:
        raise client.transport.explain(error, f"the buckets of project `{project}`") from error
    if found is not None:
        return found
    for name in default_names(region, random):
        made = _make(StorageClient(client.transport, name), project, region)
        if made is not None:
            return made
    raise Denied(f"no free name for a bucket of project `{project}`", hint="`--bucket NAME` names one")


def find_default(client: StorageClient, project: str, region: str) -> Bucket | None:
    """`ApiError` and `NoAnswer` as they come."""
    ours = [_bucket(one) for one in client.list_buckets(project, DEFAULT_PREFIX) if _is_home(one)]
    here = [bucket for bucket in ours if bucket.location == region]
    return min(here, key=lambda one: one.name, default=None)


def is_ours(client: StorageClient) -> bool:
    """It carries the mark of a bucket that was made for homes."""
    return _is_home(client.get_bucket())


def region_note(bucket: Bucket, region: str) -> str:
    """What to say where bytes would travel between regions; empty: they do not, or nobody knows."""
    location = bucket.location
    if not location or not region or location == region:
        return ""
    if region.startswith(MULTI_REGIONS.get(location, ())):
        return ""
    return (
        f"bucket `{bucket.name}` is in `{location}`, the machines are in `{region}`: "
        "every byte between them is slower, and is billed"
    )


def _make(client: StorageClient, project: str, region: str) -> Bucket | None:
    """None: the name is taken."""
    described: dict[str, Any] = {
        "name": check_name(client.bucket),
        "location": (region or REGION_DEFAULT).upper(),
        "storageClass": "STANDARD",
        "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True},
            "publicAccessPrevention": "enforced",
        },
        "softDeletePolicy": {"retentionDurationSeconds": "0"},
        "lifecycle": {
            "rule": [
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": ABANDONED_DAYS}},
            ]
        },
        "labels": {LABEL: LABEL_VALUE},
    }
    doing = f"making bucket `{client.bucket}` in project `{project}`"
    try:
        try:
            return _bucket(client.insert_bucket(project, described), made=True)
        except ApiError as error:
            if error.status != 412:
                raise
            # An organisation may demand soft delete: its bucket costs more, and is still a bucket.
            del described["softDeletePolicy"]
            return _bucket(client.insert_bucket(project, described), made=True)
    except ApiError as error:
        if error.status == 409:
            return None
        raise client.transport.explain(error, doing) from error
    except NoAnswer as error:
        raise client.transport.explain(error, doing) from error


def _bucket(document: Mapping[str, Any], *, made: bool = False) -> Bucket:
    soft = str((document.get("softDeletePolicy") or {}).get("retentionDurationSeconds") or "0")
    return Bucket(str(document["name"]), str(document.get("location", "")).lower(), made, soft != "0")


def _is_home(document: Mapping[str, Any]) -> bool:
    return (document.get("labels") or {}).get(LABEL) == LABEL_VALUE


def default_names(region: str, random: Random) -> Iterator[str]:
    for _ in range(DEFAULT_TRIES):
        yield f"{DEFAULT_PREFIX}{region}-{random.getrandbits(64):016x}"
