"""What an instance's machine tells through the API: its serial port, its guest attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outlast_emulator.compute import rules
from outlast_emulator.compute.api_instances import found
from outlast_emulator.compute.instances import not_ready
from outlast_emulator.compute.serving import Document, served
from outlast_emulator.errors import ApiError
from outlast_emulator.request import Request
from outlast_emulator.response import Response, answer
from outlast_emulator.routes import Route

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute
    from outlast_emulator.emulator import Emulator

SERIAL_BYTES_MAX = 1 << 20


def routes(emulator: Emulator) -> list[Route]:
    api = _Output(emulator.compute)
    return served(
        {"instances.getSerialPortOutput": api.serial_port, "instances.getGuestAttributes": api.guest_attributes}
    )


class _Output:
    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def serial_port(self, request: Request) -> Response:
        """At most a megabyte of what is kept, from `start`; a negative `start` counts from the end."""
        instance = found(self._compute, request)
        port = request.number("port") or 1
        if not 1 <= port <= 4:
            raise rules.refused("port", port, "Port must be between 1 and 4.")
        kept = self._compute.contents.serial(instance)
        if kept is None:
            raise not_ready(instance)
        offset, text = kept if port == 1 else (0, b"")
        end = offset + len(text)
        start = request.number("start") or 0
        first = max(offset, end + start if start < 0 else start)
        piece = text[max(0, first - offset) :][:SERIAL_BYTES_MAX] if first < end else b""
        return answer(
            {
                "kind": "compute#serialPortOutput",
                "contents": piece.decode(errors="replace"),
                "start": str(min(first, end)),
                "next": str(min(first, end) + len(piece)),
                "selfLink": f"{instance.url}/serialPort",
            }
        )

    def guest_attributes(self, request: Request) -> Response:
        instance = found(self._compute, request)
        path = request.query("queryPath") or request.query("variableKey")
        items = {one["key"]: one["value"] for one in instance.document["metadata"].get("items", ())}
        if items.get("enable-guest-attributes", "").upper() not in ("TRUE", "1", "Y", "YES"):
            raise ApiError(
                412,
                "conditionNotMet",
                "Guest attributes endpoint access is disabled.",
                location="If-Match",
                location_type="header",
            )
        guest = self._compute.instances.guest(instance)
        kept = guest.guest_attributes() if guest is not None else {}
        wanted = path.rstrip("/")
        chosen = {
            key: value for key, value in kept.items() if not wanted or key == wanted or key.startswith(f"{wanted}/")
        }
        if not chosen:
            # gcloud goes on without the machine's host keys by these words alone
            raise ApiError(404, "notFound", f"The resource '{path}' of type 'Guest Attribute' was not found.")
        entries = []
        for key, value in sorted(chosen.items()):
            namespace, _, name = key.partition("/")
            entries.append({"namespace": namespace, "key": name, "value": value})
        shown: Document = {
            "kind": "compute#guestAttributes",
            "selfLink": f"{instance.url}/guestAttributes/{path}",
            "queryPath": path,
            "queryValue": {"items": entries},
        }
        return answer(shown)
