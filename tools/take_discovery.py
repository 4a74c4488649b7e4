"""Takes Google's discovery documents, without their prose, into src/outlast_emulator/discovery: `take_discovery.py [--check] [API...]`.

They come from the copy inside google-api-python-client, which the tests install. What is kept: names, types, enums,
paths, parameters and scopes. What is left out: every sentence. `--check` only compares.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TAKEN = ROOT / "src" / "outlast_emulator" / "discovery"

SHIPPED = (
    "aiplatform.v1",
    "artifactregistry.v1",
    "cloudbilling.v1",
    "cloudresourcemanager.v1",
    "compute.v1",
    "iam.v1",
    "logging.v2",
    "secretmanager.v1",
    "serviceusage.v1",
    "serviceusage.v1beta1",
    "storage.v1",
)
"""What the emulator serves. The tool can take any other, such as batch.v1 or tpu.v2."""

COLLECTIONS: dict[str, tuple[str, ...]] = {
    "aiplatform.v1": (
        "projects.locations.customJobs",
        "projects.locations.customJobs.operations",
        "projects.locations.operations",
    ),
    "artifactregistry.v1": ("projects.locations.repositories",),
    "cloudbilling.v1": ("projects", "services", "services.skus"),
    "cloudresourcemanager.v1": ("projects",),
    "compute.v1": (
        "acceleratorTypes",
        "advice",
        "autoscalers",
        "diskTypes",
        "disks",
        "firewalls",
        "globalOperations",
        "imageFamilyViews",
        "images",
        "instanceGroupManagerResizeRequests",
        "instanceGroupManagers",
        "instanceGroups",
        "instanceTemplates",
        "instances",
        "machineTypes",
        "networks",
        "projects",
        "regionAutoscalers",
        "regionInstanceGroupManagerResizeRequests",
        "regionInstanceGroupManagers",
        "regionInstanceGroups",
        "regionInstanceTemplates",
        "regionInstances",
        "regionOperations",
        "regions",
        "routers",
        "snapshots",
        "subnetworks",
        "zoneOperations",
        "zones",
    ),
    "iam.v1": ("permissions", "projects.roles", "projects.serviceAccounts", "roles"),
    "logging.v2": ("entries", "monitoredResourceDescriptors", "projects.exclusions", "projects.logs", "projects.sinks"),
    "secretmanager.v1": ("projects.secrets", "projects.secrets.versions"),
    "serviceusage.v1": ("operations", "services"),
    "serviceusage.v1beta1": ("services.consumerQuotaMetrics",),
}
"""Of a document that is mostly about what the emulator has nothing of: the part that is taken."""

KEPT_OF_DOCUMENT = ("id", "name", "version", "revision", "rootUrl", "servicePath", "batchPath")
KEPT_OF_METHOD = ("httpMethod", "path", "flatPath", "scopes")
KEPT_OF_SCHEMA = ("type", "$ref", "format", "enum", "pattern", "minimum", "maximum", "readOnly")
KEPT_OF_PARAMETER = (*KEPT_OF_SCHEMA, "location", "required", "repeated")


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    names = [argument for argument in arguments if argument != "--check"] or list(SHIPPED)
    unknown = [name for name in names if not source_path(name).exists()]
    if unknown:
        print(f"error: google-api-python-client has no discovery document `{unknown[0]}`", file=sys.stderr)
        return 2
    drifted = [name for name in names if current(name) != take(name)]
    if check:
        if drifted:
            listed = ", ".join(f"`{name}`" for name in drifted)
            print(f"error: Google's discovery documents have changed: {listed}", file=sys.stderr)
            print(f"\nhint: `python tools/take_discovery.py {' '.join(drifted)}`", file=sys.stderr)
            return 1
        print(f"{len(names)} discovery documents are current")
        return 0
    for name in drifted:
        write(name)
    sizes = sum(taken_path(name).stat().st_size for name in names)
    print(f"Took {len(drifted)} of {len(names)} discovery documents, {sizes} bytes", file=sys.stderr)
    return 0


def source_path(name: str) -> Path:
    import googleapiclient  # type: ignore[import-untyped]

    return Path(googleapiclient.__file__).parent / "discovery_cache" / "documents" / f"{name}.json"


def taken_path(name: str) -> Path:
    return TAKEN / f"{name}.json.gz"


def current(name: str) -> dict[str, Any] | None:
    """The document that is shipped, or None."""
    path = taken_path(name)
    if not path.exists():
        return None
    return dict(json.loads(gzip.decompress(path.read_bytes())))


def write(name: str) -> None:
    text = json.dumps(take(name), sort_keys=True, separators=(",", ":")) + "\n"
    taken_path(name).parent.mkdir(parents=True, exist_ok=True)
    # Without a time in its header the file changes only when the document does.
    taken_path(name).write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def take(name: str) -> dict[str, Any]:
    document = json.loads(source_path(name).read_text())
    taken = {key: document[key] for key in KEPT_OF_DOCUMENT if key in document}
    taken["parameters"] = {key: parameter(value) for key, value in document.get("parameters", {}).items()}
    taken["schemas"] = {key: schema(value) for key, value in document.get("schemas", {}).items()}
    taken["methods"] = methods(document)
    if name in COLLECTIONS:
        cut(taken, COLLECTIONS[name])
    return taken


def cut(taken: dict[str, Any], collections: tuple[str, ...]) -> None:
    """Only these collections' methods, and the types that they lead to."""
    kept = {key: value for key, value in taken["methods"].items() if collection(key) in collections}
    ahead = [value[side] for value in kept.values() for side in ("request", "response") if side in value]
    needed: set[str] = set()
    while ahead:
        one = ahead.pop()
        if one not in needed:
            needed.add(one)
            ahead += references(taken["schemas"][one])
    taken["methods"] = kept
    taken["schemas"] = {key: value for key, value in taken["schemas"].items() if key in needed}


def collection(method_id: str) -> str:
    """`projects.secrets` of `secretmanager.projects.secrets.get`."""
    return method_id.partition(".")[2].rpartition(".")[0]


def references(value: dict[str, Any]) -> list[str]:
    """The types that a type names."""
    inner = [*value.get("properties", {}).values()]
    inner += [value[name] for name in ("items", "additionalProperties") if name in value]
    own = [value["$ref"]] if "$ref" in value else []
    return own + [name for one in inner for name in references(one)]


def methods(resource: dict[str, Any]) -> dict[str, Any]:
    """Every method of a document, by its id: resources within resources are only Google's way of sorting them."""
    found = {value["id"]: method(value) for value in resource.get("methods", {}).values()}
    for child in resource.get("resources", {}).values():
        found.update(methods(child))
    return found


def method(value: dict[str, Any]) -> dict[str, Any]:
    taken: dict[str, Any] = {key: value[key] for key in KEPT_OF_METHOD if key in value}
    taken["parameters"] = {name: parameter(one) for name, one in value.get("parameters", {}).items()}
    for side in ("request", "response"):
        if side in value:
            taken[side] = value[side]["$ref"]
    protocols = value.get("mediaUpload", {}).get("protocols", {})
    if protocols:
        taken["uploads"] = {protocol: one["path"] for protocol, one in protocols.items()}
    if value.get("supportsMediaDownload"):
        taken["download"] = True
    return taken


def parameter(value: dict[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in KEPT_OF_PARAMETER if key in value}


def schema(value: dict[str, Any]) -> dict[str, Any]:
    """One type. A property may well be called `description`: only what stands beside `type` is prose."""
    taken = {key: value[key] for key in KEPT_OF_SCHEMA if key in value}
    if "properties" in value:
        taken["properties"] = {name: schema(one) for name, one in value["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if inner in value:
            taken[inner] = schema(value[inner])
    return taken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
