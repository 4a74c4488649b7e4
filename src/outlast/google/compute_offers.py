"""What Compute Engine offers to everybody: types of machines and accelerators, how Spot machines have fared, and Cloud Billing's prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outlast.google.json_api import Document, JsonApi, api
from outlast.google.transport import Transport

TYPE_PAGE_MAX = 500
SKU_PAGE_MAX = 5000
FIELDS = {
    "machineTypes": "name,zone,guestCpus,memoryMb,accelerators,architecture,bundledLocalSsds,deprecated",
    "acceleratorTypes": "name,zone,maximumCardsPerInstance,deprecated",
}
"""Of tens of thousands of rows the part that is read."""


class OffersClient:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, project: str) -> None:
        self._compute = JsonApi(transport, f"{transport.endpoints.compute}/compute/v1/projects/{project}")
        self._billing = api(transport, "cloudbilling")

    def types(self, kind: str) -> Iterator[Document]:
        """`kind`: `machineTypes` or `acceleratorTypes`, of all zones."""
        query = {
            "maxResults": TYPE_PAGE_MAX,
            "returnPartialSuccess": "true",
            "fields": f"nextPageToken,items/*/{kind}({FIELDS[kind]})",
        }
        token = ""
        while True:
            page = self._compute.get(f"aggregated/{kind}", {**query, **({"pageToken": token} if token else {})})
            for scope in page.get("items", {}).values():
                yield from scope.get(kind, [])
            token = str(page.get("nextPageToken", ""))
            if not token:
                return

    def skus(self, service: str) -> Iterator[Document]:
        return self._billing.pages(f"services/{service}/skus", "skus", {"pageSize": SKU_PAGE_MAX})

    def capacity_history(
        self, region: str, zone: str, machine_type: str, accelerators: Sequence[tuple[str, int]] = ()
    ) -> Document:
        """Of Spot machines; of nothing else is there any."""
        machine: Document = {"machineType": machine_type, "scheduling": {"provisioningModel": "SPOT"}}
        if accelerators:
            machine["guestAccelerators"] = [
                {"acceleratorType": name, "acceleratorCount": count} for name, count in accelerators
            ]
        asked = {
            "types": ["PRICE", "PREEMPTION"],
            "instanceProperties": machine,
            "locationPolicy": {"location": f"zones/{zone}"},
        }
        return self._compute.post(f"regions/{region}/advice/capacityHistory", asked)
