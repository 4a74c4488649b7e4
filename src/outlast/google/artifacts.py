"""Artifact Registry's repositories: whether one is there, and how it is made."""

from __future__ import annotations

from outlast.clock import Clock
from outlast.errors import OutlastError
from outlast.google.errors import ApiError
from outlast.google.json_api import api
from outlast.google.transport import Transport

MAKE_SECONDS_MAX = 120.0
LOOK_SECONDS = 1.0


class ArtifactsClient:
    """Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, project: str, region: str) -> None:
        self._api = api(transport, "artifactregistry")
        self._parent = f"projects/{project}/locations/{region}"

    def has_repository(self, name: str) -> bool:
        return self._api.find(f"{self._parent}/repositories/{name}") is not None

    def make_repository(self, name: str, clock: Clock) -> None:
        """Returns when it is there, by this call or another one."""
        described = {"format": "DOCKER", "description": "Images of outlast's jobs"}
        try:
            operation = self._api.post(f"{self._parent}/repositories", described, {"repositoryId": name})
        except ApiError as error:
            if error.status == 409:
                return
            raise
        until = clock.monotonic() + MAKE_SECONDS_MAX
        while not operation.get("done"):
            if clock.monotonic() > until:
                raise OutlastError(f"repository `{name}` is not there after {MAKE_SECONDS_MAX:.0f} s")
            clock.sleep(LOOK_SECONDS)
            operation = self._api.get(str(operation["name"]))
        if error_document := operation.get("error"):
            raise OutlastError(
                f"repository `{name}` cannot be made: {error_document.get('message', 'no reason was given')}"
            )
