"""The metadata server, as a machine sees it: the default account's tokens, the project, the machine's own description.

Google's clients find it by `GCE_METADATA_HOST`. The header `Metadata-Flavor: Google` is mandatory, on both sides.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from typing import Any

from outlast_emulator.errors import ApiError
from outlast_emulator.iam.authority import Authority
from outlast_emulator.iam.oauth import identity_token
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER
from outlast_emulator.iam.tokens import LIFETIME_SECONDS
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route

ROOT = "/computeMetadata/v1"
FLAVOR = {"metadata-flavor": "Google", "server": "Metadata Server for VM"}
WAIT_SECONDS_MAX = 3600.0


class Metadata:
    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._changed = threading.Condition()
        self.instance: dict[str, Any] = {
            "id": 1,
            "name": "emulated",
            "hostname": f"emulated.c.{PROJECT}.internal",
            "zone": f"projects/{PROJECT_NUMBER}/zones/us-central1-a",
            "machine-type": f"projects/{PROJECT_NUMBER}/machineTypes/e2-standard-4",
            "preempted": "FALSE",
            "maintenance-event": "NONE",
            "attributes": {},
        }

    def routes(self) -> Iterable[Route]:
        for path in (ROOT, ROOT + "/{path...}"):
            yield Route("metadata.get", "GET", path, self.get, quick=False, render=plain_error, public=True)

    def get(self, request: Request) -> Response:
        if request.headers.get("metadata-flavor") != "Google":
            message = "Missing Metadata-Flavor:Google header."
            raise ApiError(403, "forbidden", message)
        if "x-forwarded-for" in request.headers:
            raise ApiError(403, "forbidden", "Requests with an X-Forwarded-For header are refused.")
        path = request.params.get("path", "").strip("/")
        wanted = request.query("last_etag") if request.query("wait_for_change").lower() == "true" else ""
        if wanted or request.query("wait_for_change").lower() == "true":
            self._wait(path, request, wanted)
        special = self._special(path, request)
        if special is not None:
            return special
        value = self._find(path)
        recursive = request.query("recursive").lower() == "true"
        return _shown(value, recursive, request.query("alt"), self._etag(value))

    def change(self, **values: Any) -> None:
        """Sets parts of the machine's description; whoever waits for a change is woken."""
        with self._changed:
            self.instance.update(values)
            self._changed.notify_all()

    def _wait(self, path: str, request: Request, last_etag: str) -> None:
        seconds = WAIT_SECONDS_MAX
        if request.query("timeout_sec").isdigit():
            seconds = min(seconds, float(request.query("timeout_sec")))
        with self._changed:
            before = last_etag or self._etag(self._find(path))
            self._changed.wait_for(lambda: self._etag(self._find(path)) != before, timeout=seconds)

    def _special(self, path: str, request: Request) -> Response | None:
        """What is made anew at every call: tokens."""
        parts = path.split("/")
        if len(parts) != 4 or parts[:2] != ["instance", "service-accounts"] or parts[3] not in ("token", "identity"):
            return None
        machine = self._authority.state.document["machine"]
        if parts[2] not in ("default", machine["account"]):
            raise ApiError(404, "notFound", "Not Found")
        if parts[3] == "identity":
            audience = request.query("audience")
            if not audience:
                raise ApiError(400, "required", "non-empty audience parameter required")
            return _text(identity_token(self._authority, machine["account"], audience))
        scopes = tuple(request.query("scopes").split(",")) if request.query("scopes") else tuple(machine["scopes"])
        text, _ = self._authority.token(f"serviceAccount:{machine['account']}", scopes)
        document = {"access_token": text, "expires_in": LIFETIME_SECONDS - 1, "token_type": "Bearer"}
        return _json(document)

    def _tree(self) -> dict[str, Any]:
        machine = self._authority.state.document["machine"]
        account = {"aliases": ["default"], "email": machine["account"], "scopes": machine["scopes"]}
        accounts = {"default": account, machine["account"]: account}
        project = {"project-id": PROJECT, "numeric-project-id": PROJECT_NUMBER, "attributes": {}}
        return {"instance": {**self.instance, "service-accounts": accounts}, "project": project}

    def _find(self, path: str) -> Any:
        value: Any = self._tree()
        for part in path.split("/") if path else ():
            if not isinstance(value, dict) or part not in value:
                raise ApiError(404, "notFound", "Not Found")
            value = value[part]
        return value

    def _etag(self, value: Any) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def metadata_root() -> Response:
    return _text("computeMetadata/\n")


def _shown(value: Any, recursive: bool, form: str, etag: str) -> Response:
    if isinstance(value, dict) and not recursive:
        listing = "".join(f"{name}/\n" if isinstance(one, dict) else f"{name}\n" for name, one in value.items())
        return _text(listing, etag)
    if isinstance(value, dict) or form == "json":
        return _json(_camel(value), etag)
    if isinstance(value, list):
        return _text("".join(f"{one}\n" for one in value), etag)
    return _text(str(value), etag)


def _camel(value: Any) -> Any:
    """Recursive answers name `service-accounts` `serviceAccounts`; keys of attributes and accounts stay as they are."""
    if not isinstance(value, dict):
        return value
    renamed = {}
    for name, one in value.items():
        head, *rest = name.split("-")
        kept = name if "@" in name else head + "".join(word.capitalize() for word in rest)
        renamed[kept] = one if name == "attributes" else _camel(one)
    return renamed


def _json(document: Any, etag: str = "") -> Response:
    headers = {**FLAVOR, "content-type": "application/json", "etag": etag or "0"}
    return Response(200, json.dumps(document).encode(), headers)


def _text(text: str, etag: str = "") -> Response:
    return Response(200, text.encode(), {**FLAVOR, "content-type": "application/text", "etag": etag or "0"})


def plain_error(error: ApiError) -> Response:
    return Response(error.status, f"{error.message}\n".encode(), {**FLAVOR, "content-type": "text/html; charset=UTF-8"})
