"""Which of Google's APIs are switched on in the project, and the step that refuses calls to the others."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outlast_emulator.chain import Step
from outlast_emulator.clock import Clock
from outlast_emulator.errors import ApiError, young
from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER, State
from outlast_emulator.request import Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Operation
from outlast_emulator.switches import Switches

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

TITLES = {
    "aiplatform.googleapis.com": "Vertex AI API",
    "artifactregistry.googleapis.com": "Artifact Registry API",
    "batch.googleapis.com": "Batch API",
    "cloudbilling.googleapis.com": "Cloud Billing API",
    "cloudresourcemanager.googleapis.com": "Cloud Resource Manager API",
    "compute.googleapis.com": "Compute Engine API",
    "iam.googleapis.com": "Identity and Access Management (IAM) API",
    "iamcredentials.googleapis.com": "IAM Service Account Credentials API",
    "iap.googleapis.com": "Cloud Identity-Aware Proxy API",
    "logging.googleapis.com": "Cloud Logging API",
    "oslogin.googleapis.com": "Cloud OS Login API",
    "secretmanager.googleapis.com": "Secret Manager API",
    "serviceusage.googleapis.com": "Service Usage API",
    "storage.googleapis.com": "Cloud Storage API",
}
ALWAYS = ("serviceusage",)
"""It cannot be refused: it is how one switches anything on."""


class EnabledApis:
    """All are on in a new emulator, so that nobody needs to know of this; `set` makes it the project that a test wants."""

    def __init__(self, directory: Path, clock: Clock, switches: Switches) -> None:
        self.state = State(directory, "apis.json", _first)
        self._clock = clock
        self._switches = switches

    def is_on(self, name: str) -> bool:
        change = self.state.document["apis"].get(name)
        if change is None:
            return False
        return bool(change["on"]) == bool(self._clock.now() >= change["at"])

    def _will_be(self, name: str) -> bool:
        """Once what is under way is done."""
        return bool(self.state.document["apis"].get(name, {"on": False})["on"])

    def change(self, names: list[str], *, on: bool) -> str:
        """The operation's name: it is done, and the APIs are as wanted, after a while."""
        changing = [name for name in names if not (self.is_on(name) == on == self._will_be(name))]
        if not changing:
            return "operations/noop.DONE_OPERATION"
        at = self._clock.now() + self._clock.scaled(self._switches.enable_seconds)
        operation = f"operations/acf.p2-{PROJECT_NUMBER}-{secrets.token_hex(16)}"
        with self.state.change() as document:
            for name in changing:
                document["apis"][name] = {"on": on, "at": at}
            document["operations"][operation] = {"names": names, "at": at, "on": on}
        return operation

    def operation(self, name: str) -> dict[str, Any] | None:
        found = self.state.document["operations"].get(name)
        return dict(found) if found is not None else None

    def is_done(self, operation: dict[str, Any]) -> bool:
        return bool(self._clock.now() >= operation["at"])

    def set(self, names: list[str]) -> None:
        """These at once, and no other."""
        unknown = sorted(set(names) - TITLES.keys())
        if unknown:
            raise ValueError(f"no API `{unknown[0]}`; there are {', '.join(TITLES)}")
        with self.state.change() as document:
            document["apis"] = {name: {"on": True, "at": 0.0} for name in names}


def step(emulator: Emulator) -> Step:
    enabled = emulator.enabled

    def refuse_disabled(request: Request, following: Operation) -> Response:
        name = api_of(request.method_id)
        if name and not enabled.is_on(name):
            raise disabled(name)
        return following(request)

    return refuse_disabled


def api_of(method_id: str) -> str:
    """`compute.googleapis.com` of `compute.instances.get`; "" for what nobody switches on or off."""
    first = method_id.partition(".")[0]
    name = f"{'storage' if first == 'xml' else first}.googleapis.com"
    return name if name in TITLES and first not in ALWAYS else ""


def disabled(name: str) -> ApiError:
    title = TITLES[name]
    url = f"https://console.developers.google.com/apis/api/{name}/overview?project={PROJECT}"
    message = (
        f"{title} has not been used in project {PROJECT} before or it is disabled. Enable it by visiting {url} then retry. "
        "If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
    )
    if name in ("compute.googleapis.com", "storage.googleapis.com"):
        return ApiError(403, "accessNotConfigured", message, domain="usageLimits")
    return young(
        "PERMISSION_DENIED",
        message,
        reason="SERVICE_DISABLED",
        domain="googleapis.com",
        service=name,
        consumer=f"projects/{PROJECT}",
    )


def _first() -> dict[str, Any]:
    return {"apis": {name: {"on": True, "at": 0.0} for name in TITLES}, "operations": {}}
