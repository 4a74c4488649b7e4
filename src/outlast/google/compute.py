"""Compute Engine's API: one method per request that outlast makes. Names go in as they are, answers come out as Google gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from outlast.google.errors import ApiError
from outlast.google.transport import Transport
from outlast.google.wire import Request

Document = dict[str, Any]

PAGE_MAX = 500
WAIT_SECONDS_MAX = 120.0
"""How long Google keeps one `wait` open, at most."""


class ComputeClient:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, project: str) -> None:
        self.transport = transport
        self.project = project
        self._base = f"{transport.endpoints.compute}/compute/v1/projects/{quote(project, safe='')}"

    def url(self, *parts: str) -> str:
        return "/".join([self._base, *(quote(part, safe="") for part in parts)])

    # Templates and groups of one region.

    def insert_template(self, region: str, body: Mapping[str, Any], request_id: str) -> Document:
        return self._post(self.url("regions", region, "instanceTemplates"), body, requestId=request_id)

    def delete_template(self, region: str, name: str, request_id: str) -> Document:
        return self._delete(self.url("regions", region, "instanceTemplates", name), requestId=request_id)

    def get_template(self, region: str, name: str) -> Document:
        return self._get(self.url("regions", region, "instanceTemplates", name))

    def insert_group(self, region: str, body: Mapping[str, Any], request_id: str) -> Document:
        return self._post(self.url("regions", region, "instanceGroupManagers"), body, requestId=request_id)

    def group_url(self, region: str, name: str) -> str:
        return self.url("regions", region, "instanceGroupManagers", name)

    def get_group(self, region: str, name: str) -> Document:
        return self._get(self.group_url(region, name))

    def delete_group(self, region: str, name: str, request_id: str) -> Document:
        return self._delete(self.group_url(region, name), requestId=request_id)

    def resize_group(self, region: str, name: str, size: int, request_id: str) -> Document:
        return self._post(f"{self.group_url(region, name)}/resize", None, size=str(size), requestId=request_id)

    def delete_instances(self, region: str, name: str, places: Iterable[tuple[str, str]], request_id: str) -> Document:
        """`places`: zones and names. The group is so much smaller from then on."""
        body = {"instances": [f"zones/{zone}/instances/{instance}" for zone, instance in places]}
        return self._post(f"{self.group_url(region, name)}/deleteInstances", body, requestId=request_id)

    def list_managed(self, region: str, name: str) -> Iterator[Document]:
        """The group's machines, and what it is doing about each of them. This list is asked for by POST."""
        return self._items(
            f"{self.group_url(region, name)}/listManagedInstances", items="managedInstances", verb="POST"
        )

    def list_errors(self, region: str, name: str) -> Iterator[Document]:
        return self._items(f"{self.group_url(region, name)}/listErrors")

    # Machines.

    def get_instance(self, zone: str, name: str) -> Document:
        return self._get(self.url("zones", zone, "instances", name))

    def preempt_instance(self, zone: str, name: str, request_id: str) -> Document:
        """A simulated maintenance event is a real preemption of a Spot machine."""
        return self._post(
            f"{self.url('zones', zone, 'instances', name)}/simulateMaintenanceEvent", None, requestId=request_id
        )

    def reset_instance(self, zone: str, name: str, request_id: str) -> Document:
        """As by pulling the plug: nothing is told, and it boots again."""
        return self._post(f"{self.url('zones', zone, 'instances', name)}/reset", None, requestId=request_id)

    def get_image(self, name: str) -> Document:
        return self._get(self.url("global", "images", name))

    def get_image_of_family(self, family: str) -> Document:
        """The newest of the family that is not deprecated."""
        return self._get(self.url("global", "images", "family", family))

    # All regions and zones at once.

    def aggregated(self, kind: str, label: str) -> Iterator[Document]:
        """`kind` as in the url: `instances`, `disks`, `instanceGroupManagers`, `instanceTemplates`."""
        token = ""
        field = {"instanceGroupManagers": "", "instanceTemplates": "properties.labels."}.get(kind, "labels.")
        wanted = f"{field}{label}:*" if field else "name:outlast-*"
        while True:
            query = {"filter": wanted, "maxResults": str(PAGE_MAX), "returnPartialSuccess": "true"}
            page = self._get(self.url("aggregated", kind), **query, **({"pageToken": token} if token else {}))
            for scope in page.get("items", {}).values():
                yield from scope.get(kind, [])
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    def list_images(self, label: str) -> Iterator[Document]:
        return self._items(self.url("global", "images"), filter=f"labels.{label}:*")

    def delete_in(self, scope: tuple[str, ...], kind: str, name: str, request_id: str) -> Document:
        """`scope`: `("zones", Z)`, `("regions", R)` or `("global",)`."""
        return self._delete(self.url(*scope, kind, name), requestId=request_id)

    def wait_in(self, scope: tuple[str, ...], operation: str) -> Document:
        """Returns when it is done, or when Google does not like to wait any longer: look at `status`."""
        url = f"{self.url(*scope, 'operations', operation)}/wait"
        return self._call("POST", url, None, stall_seconds=WAIT_SECONDS_MAX + 10.0)

    # The parts of that.

    def _get(self, url: str, **query: str) -> Document:
        return self._call("GET", _with(url, query), None)

    def _post(self, url: str, body: Mapping[str, Any] | None, **query: str) -> Document:
        return self._call("POST", _with(url, query), body)

    def _delete(self, url: str, **query: str) -> Document:
        return self._call("DELETE", _with(url, query), None)

    def _items(self, url: str, *, items: str = "items", verb: str = "GET", **query: str) -> Iterator[Document]:
        token = ""
        while True:
            paged = {**query, "maxResults": str(PAGE_MAX), **({"pageToken": token} if token else {})}
            page = self._call(verb, _with(url, paged), None)
            yield from page.get(items, [])
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    def _call(
        self, verb: str, url: str, body: Mapping[str, Any] | None, *, stall_seconds: float | None = None
    ) -> Document:
        headers = {"Accept": "application/json"}
        data: bytes | None = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        elif verb == "POST":
            data = b""
        answer = self.transport.call(Request(verb, url, headers, data), stall_seconds=stall_seconds)
        try:
            document = json.loads(answer.body) if answer.body else {}
        except (ValueError, RecursionError) as error:
            raise ApiError(answer) from error
        return document if isinstance(document, dict) else {}


def _with(url: str, query: Mapping[str, str]) -> str:
    return f"{url}?{urlencode(query)}" if query else url
