"""What of Compute Engine belongs to the project and not to a job: quotas, networks, firewalls."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from outlast.errors import OutlastError
from outlast.google.errors import ApiError
from outlast.google.json_api import Document, JsonApi
from outlast.google.transport import Transport

PAUSES_MAX = 3
"""The pause between two looks at an operation is doubled so often: four seconds at most."""


class ComputeProject:
    def __init__(self, transport: Transport, project: str) -> None:
        self.transport = transport
        self.project = project
        self._api = JsonApi(transport, f"{transport.endpoints.compute}/compute/v1/projects/{project}")
        self._root = JsonApi(transport, f"{transport.endpoints.compute}/compute/v1")

    def quotas(self) -> list[Document]:
        """Those of the whole project: `{"metric", "limit", "usage"}`."""
        return list(self._root.get(f"projects/{self.project}").get("quotas", ()))

    def region_quotas(self, region: str) -> list[Document] | None:
        """None: there is no such region."""
        found = self._api.find(f"regions/{region}")
        return None if found is None else list(found.get("quotas", ()))

    def find_network(self, network: str) -> Document | None:
        return self._api.find(f"global/networks/{network}")

    def find_subnetwork(self, region: str, subnetwork: str) -> Document | None:
        return self._api.find(f"regions/{region}/subnetworks/{subnetwork}")

    def subnetworks(self, region: str, network: str) -> list[Document]:
        """Those of the network in the region."""
        found = self._api.pages(f"regions/{region}/subnetworks", "items")
        return [one for one in found if str(one.get("network", "")).endswith(f"/networks/{network}")]

    def has_nat(self, region: str, network: str) -> bool:
        """Some router of the network lets machines without an address of their own reach the world."""
        return any(
            one.get("nats")
            for one in self._api.pages(f"regions/{region}/routers", "items")
            if str(one.get("network", "")).endswith(f"/networks/{network}")
        )

    def open_private_access(self, region: str, subnetwork: str) -> None:
        """Machines without an address of their own reach Google's APIs."""
        name = f"regions/{region}/subnetworks/{subnetwork}/setPrivateIpGoogleAccess"
        self._done(self._api.post(name, {"privateIpGoogleAccess": True}, _request_id()), f"regions/{region}")

    def find_firewall(self, name: str) -> Document | None:
        return self._api.find(f"global/firewalls/{name}")

    def insert_firewall(self, body: Mapping[str, Any]) -> None:
        try:
            self._done(self._api.post("global/firewalls", body, _request_id()), "global")
        except ApiError as error:
            if error.status != 409:  # an earlier try has made it
                raise

    def delete_firewall(self, name: str) -> bool:
        return self._api.delete(f"global/firewalls/{name}", _request_id())

    def _done(self, operation: Document, place: str) -> None:
        """Waits for it, and raises what it ended with."""
        tries = 0
        while operation.get("status") != "DONE":
            self.transport.pause(tries)
            tries = min(tries + 1, PAUSES_MAX)
            operation = self._api.get(f"{place}/operations/{operation['name']}")
        for error in (operation.get("error") or {}).get("errors", ()):
            raise OutlastError(
                f"{operation.get('operationType')} of `{operation.get('targetLink')}`: {error['message']}"
            )


def _request_id() -> dict[str, str]:
    """Of one call and all its tries."""
    return {"requestId": str(uuid.uuid4())}
