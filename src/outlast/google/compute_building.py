"""Compute Engine's API, as far as whoever makes images needs it: single machines and disks, what a machine tells, images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlast.google.compute import ComputeClient, Document
from outlast.google.errors import ApiError


class BuildingClient(ComputeClient):
    def insert_instance(self, zone: str, body: Mapping[str, Any], request_id: str) -> Document:
        return self._post(self.url("zones", zone, "instances"), body, requestId=request_id)

    def insert_disk(self, zone: str, body: Mapping[str, Any], request_id: str) -> Document:
        return self._post(self.url("zones", zone, "disks"), body, requestId=request_id)

    def insert_image(self, body: Mapping[str, Any], request_id: str) -> Document:
        """Also of a disk whose machine runs."""
        return self._post(self.url("global", "images"), body, requestId=request_id, forceCreate="true")

    def guest_attributes(self, zone: str, name: str, namespace: str) -> dict[str, str]:
        """What the machine has told; nothing yet is no error."""
        url = f"{self.url('zones', zone, 'instances', name)}/getGuestAttributes"
        try:
            answer = self._get(url, queryPath=f"{namespace}/")
        except ApiError as error:
            if error.status == 404:
                return {}
            raise
        items = answer.get("queryValue", {}).get("items", [])
        return {str(one.get("key", "")): str(one.get("value", "")) for one in items}

    def serial_from(self, zone: str, name: str, start: int) -> tuple[str, int]:
        """What the machine has written to its serial port since then, and where to go on."""
        answer = self._get(f"{self.url('zones', zone, 'instances', name)}/serialPort", port="1", start=str(start))
        return str(answer.get("contents", "")), int(answer.get("next", start) or start)
