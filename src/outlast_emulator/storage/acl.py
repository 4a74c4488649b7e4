"""Access control lists, as buckets without uniform access show them.

They are kept and shown, and permit nothing: who may do what is decided by IAM policies alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError, invalid, required
from outlast_emulator.iam.state import PROJECT_NUMBER
from outlast_emulator.request import Request
from outlast_emulator.storage.buckets import Bucket
from outlast_emulator.storage.resources import quoted

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

Entries = list[dict[str, Any]]

OWNERS = f"project-owners-{PROJECT_NUMBER}"
_PROJECT = (
    (OWNERS, "OWNER"),
    (f"project-editors-{PROJECT_NUMBER}", "OWNER"),
    (f"project-viewers-{PROJECT_NUMBER}", "READER"),
)
_OWNED = ((OWNERS, "OWNER"),)
"""The emulator does not remember who made what: the project's owners stand for them."""
PREDEFINED: dict[str, tuple[tuple[str, str], ...]] = {
    "private": _OWNED,
    "projectPrivate": _PROJECT,
    "publicRead": (*_OWNED, ("allUsers", "READER")),
    "publicReadWrite": (*_OWNED, ("allUsers", "WRITER")),
    "authenticatedRead": (*_OWNED, ("allAuthenticatedUsers", "READER")),
    "bucketOwnerRead": _OWNED,
    "bucketOwnerFullControl": _OWNED,
}
FULL_BY_DEFAULT = frozenset(
    {"storage.objects.patch", "storage.objects.update", "storage.buckets.patch", "storage.buckets.update"}
)
UNIFORM_MESSAGE = "Cannot {} legacy ACL for {} when uniform bucket-level access is enabled."


def is_uniform(bucket: Bucket) -> bool:
    return bool(bucket.fields["iamConfiguration"]["uniformBucketLevelAccess"].get("enabled"))


def chosen(fields: dict[str, Any], predefined: str, field: str = "acl") -> None:
    """A list that was asked for by its name is written out; one that was sent is checked."""
    if predefined:
        fields[field] = [{"entity": entity, "role": role} for entity, role in PREDEFINED[predefined]]
    for entry in fields.get(field) or ():
        if not entry.get("entity"):
            raise required("entity")
        if entry.get("role") not in ("OWNER", "READER", "WRITER"):
            raise invalid(f"Invalid role in an access control list: {entry.get('role')}")


def chosen_of_object(fields: dict[str, Any], predefined: str, bucket: Bucket) -> None:
    if is_uniform(bucket) and predefined:
        raise invalid("Cannot use predefined ACL for a bucket with uniform bucket-level access enabled.")
    if is_uniform(bucket) and fields.get("acl"):
        raise invalid(UNIFORM_MESSAGE.format("insert", "an object"))
    chosen(fields, predefined)


def of_bucket(bucket: Bucket, field: str = "acl") -> Entries:
    """`field`: or "defaultObjectAcl"."""
    return _short(bucket.fields.get(field) or _listed(_PROJECT))


def of_object(fields: dict[str, Any], bucket: Bucket) -> Entries:
    return _short(fields.get("acl") or of_bucket(bucket, "defaultObjectAcl"))


def _listed(pairs: Iterable[tuple[str, str]]) -> Entries:
    return [{"entity": entity, "role": role} for entity, role in pairs]


def _short(entries: Entries) -> Entries:
    """Who sends back what was shown has sent much that Google sets itself."""
    return [{"entity": entry["entity"], "role": entry["role"]} for entry in entries]


# --------------------------------------------------------------------------------------------------- in the JSON API


def shower(emulator: Emulator, method_id: str) -> Callable[[Request, dict[str, Any]], None]:
    """Puts the lists into a method's answer, or takes them out of it: `projection` says which."""
    of_objects = method_id.startswith("storage.objects.")
    full_by_default = method_id in FULL_BY_DEFAULT

    def show(request: Request, document: dict[str, Any]) -> None:
        full = full_by_default
        if "projection=" in request.query_text and request.query("projection"):
            full = request.query("projection") == "full"
        for resource in _resources(document):
            if full and of_objects:
                _show_object(emulator, request, resource)
            elif full:
                _show_bucket(emulator, request, resource)
            else:
                _hide(resource)

    return show


def _resources(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if "items" in document:
        return list(document["items"])
    return [document["resource"]] if "resource" in document else [document]


def _hide(resource: dict[str, Any]) -> None:
    for field in ("acl", "defaultObjectAcl", "owner"):
        resource.pop(field, None)


def _show_object(emulator: Emulator, request: Request, resource: dict[str, Any]) -> None:
    params = request.params
    bucket = emulator.storage.buckets.find(params.get("bucket") or params["destinationBucket"])
    entries = of_object(resource, bucket)
    _hide(resource)
    if "name" not in resource or is_uniform(bucket) or not _may(emulator, request, "objects", bucket.name):
        return
    name, generation = resource["name"], resource.get("generation", "0")
    place = f"b/{bucket.name}/o/{quoted(name)}/acl"
    more = {"object": name, "generation": generation}
    resource["owner"] = {"entity": OWNERS}
    path = f"{bucket.name}/{name}/{generation}"
    resource["acl"] = [_entry(emulator, "object", one, bucket.name, place, path) | more for one in entries]


def _show_bucket(emulator: Emulator, request: Request, resource: dict[str, Any]) -> None:
    if "name" not in resource:
        return  # a list of none
    bucket = emulator.storage.buckets.find(resource["name"])
    _hide(resource)
    if is_uniform(bucket) or not _may(emulator, request, "buckets", bucket.name):
        return
    name = bucket.name
    resource["owner"] = {"entity": OWNERS}
    resource["acl"] = [_entry(emulator, "bucket", one, name, f"b/{name}/acl", name) for one in of_bucket(bucket)]
    resource["defaultObjectAcl"] = [
        {"kind": "storage#objectAccessControl", **one, **_team(one)} for one in of_bucket(bucket, "defaultObjectAcl")
    ]


def _may(emulator: Emulator, request: Request, kind: str, bucket: str) -> bool:
    """Who may not see the lists is shown the rest."""
    try:
        emulator.demand(request, f"storage.{kind}.getIamPolicy", bucket)
    except ApiError:
        return False
    return True


def _entry(emulator: Emulator, kind: str, entry: dict[str, Any], bucket: str, place: str, path: str) -> dict[str, Any]:
    return {
        "kind": f"storage#{kind}AccessControl",
        "id": f"{path}/{entry['entity']}",
        "selfLink": f"{emulator.url}/storage/v1/{place}/{entry['entity']}",
        "bucket": bucket,
        **entry,
        **_team(entry),
    }


def _team(entry: dict[str, Any]) -> dict[str, Any]:
    kind, _, rest = entry["entity"].partition("-")
    if kind == "project":
        team, _, number = rest.partition("-")
        return {"projectTeam": {"team": team, "projectNumber": number}}
    if kind in ("user", "group"):
        return {"email": rest}
    return {"domain": rest} if kind == "domain" else {}
