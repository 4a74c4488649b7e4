"""The machine's own service account, by the metadata server of a Google machine."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.errors import Denied
from outlast.google.auth.credentials import Token
from outlast.google.auth.user import read_token
from outlast.google.errors import ApiError, passing
from outlast.google.wire import Answer, NoAnswer, Request, Wire

HOST = "169.254.169.254"
"""By its number: a name that nobody knows may be asked for a long time."""

HEADERS = {"Metadata-Flavor": "Google"}
LOOK_SECONDS = 1.0
"""It is one hop away or nowhere: a machine that has none does not hang."""

LOOKS = 2
STALL_SECONDS = 10.0


class MetadataCredentials:
    account = "this machine's service account"
    quota_project = ""

    def __init__(self, host: str, wire: Wire) -> None:
        self.host = host
        self._base = f"http://{host}/computeMetadata/v1"
        self._wire = wire
        self.project = ""

    def renew(self) -> Token:
        answer = self._get("/instance/service-accounts/default/token", connect_seconds=LOOK_SECONDS * 3)
        if answer.status == 200:
            return read_token(answer.body, self.account)
        if passing(answer):
            raise ApiError(answer)
        raise Denied(
            f"this machine has no service account that may do this ({answer.status})",
            hint="give the machine a service account with the scope `cloud-platform`, or `gcloud auth application-default login`",
        )

    def look(self) -> bool:
        """Whether there is such a server, and it is Google's; asks for the project too."""
        for _ in range(LOOKS):
            try:
                answer = self._get("/project/project-id", connect_seconds=LOOK_SECONDS, stall_seconds=LOOK_SECONDS)
            except NoAnswer:
                continue
            if answer.headers.get("metadata-flavor") != "Google":
                return False  # somebody else's, as other clouds have one at the same address
            self.project = answer.body.decode(errors="replace").strip() if answer.status == 200 else ""
            return True
        return False

    def _get(self, path: str, *, connect_seconds: float, stall_seconds: float = STALL_SECONDS) -> Answer:
        request = Request("GET", self._base + path, HEADERS)
        return self._wire.send(request, connect_seconds=connect_seconds, stall_seconds=stall_seconds)


def host_of(environ: Mapping[str, str]) -> str:
    """`GCE_METADATA_HOST` and `GCE_METADATA_IP`, as Google's own libraries read them."""
    return environ.get("GCE_METADATA_HOST") or environ.get("GCE_METADATA_IP") or HOST


def is_named(environ: Mapping[str, str]) -> bool:
    """Somebody says that there is one: it is waited for, not looked for."""
    return bool(environ.get("GCE_METADATA_HOST") or environ.get("GCE_METADATA_IP"))


def is_forbidden(environ: Mapping[str, str]) -> bool:
    return environ.get("NO_GCE_CHECK", "").lower() == "true"
