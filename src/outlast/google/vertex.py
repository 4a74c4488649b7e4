"""Vertex AI's custom jobs, in one region: one method per request that outlast makes. Answers come out as Google gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from outlast.google.json_api import Document, JsonApi
from outlast.google.transport import Transport

PAGE_MAX = 100


class VertexClient:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's.

    `create` has no request id: whose answer is lost may have made a job, and finds it by its labels.
    """

    def __init__(self, transport: Transport, project: str, region: str) -> None:
        self.transport = transport
        self.project = project
        self.region = region
        self._api = JsonApi(transport, f"{transport.endpoints.api(f'{region}-aiplatform')}/v1")
        self._jobs = f"projects/{project}/locations/{region}/customJobs"

    def create(self, body: Mapping[str, Any]) -> Document:
        """Asked once: whoever does not hear the answer looks for the job before asking again."""
        return self._api.post(self._jobs, body, once=True)

    def get(self, name: str) -> Document:
        """`name` as Google gives it: `projects/NUMBER/locations/R/customJobs/ID`."""
        return self._api.get(name)

    def list(self, wanted: str) -> Iterator[Document]:
        """`wanted`: a filter, such as `labels.outlast-launch=ID`."""
        return self._api.pages(self._jobs, "customJobs", {"filter": wanted, "pageSize": PAGE_MAX})

    def cancel(self, name: str) -> None:
        """Asked for; a job that has ended by itself answers with 400."""
        self._api.post(f"{name}:cancel", {})

    def delete(self, name: str) -> bool:
        return self._api.delete(name)
