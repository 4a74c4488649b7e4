"""Where Google's APIs are: at Google, or at an emulator on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from urllib.parse import urlsplit

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.google.proxies import is_loopback
from outlast.pattern import pattern

EMULATOR = "OUTLAST_EMULATOR"
STORAGE_EMULATOR = "STORAGE_EMULATOR_HOST"
EMULATED_PROJECT = "emulated"


@dataclass(frozen=True)
class Endpoints:
    storage: str
    compute: str
    tokens: str
    """Where a refresh token becomes an access token."""

    apis: str = ""
    """Where an API of the project's own is, with `{api}` for its name: `https://{api}.googleapis.com`."""

    emulated: bool = False
    """Nothing of the user's real login is sent there."""

    def takes_token(self, url: str) -> bool:
        """A token goes to nobody but the APIs that it is for."""
        return url.startswith(self._taking) or (not self.emulated and _REGIONAL.match(url) is not None)

    @cached_property
    def _taking(self) -> tuple[str, ...]:
        bases = (self.storage, self.compute, *(self.api(name) for name in APIS))
        return tuple(f"{base}/" for base in bases if base)

    def api(self, name: str) -> str:
        return self.apis.replace("{api}", name)


APIS = ("artifactregistry", "cloudbilling", "cloudresourcemanager", "iam", "logging", "secretmanager", "serviceusage")
"""What a project is made of, beside data and machines."""

_REGIONAL = pattern(r"https://[a-z]+-[a-z]+[0-9]+-aiplatform\.googleapis\.com/")
"""Vertex AI has a host in each region, and no other."""

GOOGLE = Endpoints(
    storage="https://storage.googleapis.com",
    compute="https://compute.googleapis.com",
    tokens="https://oauth2.googleapis.com/token",
    apis="https://{api}.googleapis.com",
)


def endpoints(environ: Mapping[str, str]) -> Endpoints:
    """By `OUTLAST_EMULATOR`, for all APIs; else by `STORAGE_EMULATOR_HOST`, as Google's own libraries read it."""
    for name in (EMULATOR, STORAGE_EMULATOR):
        if environ.get(name):
            base = _checked(name, environ[name])
            return Endpoints(storage=base, compute=base, tokens=f"{base}/token", apis=base, emulated=True)
    return GOOGLE


def _checked(name: str, value: str) -> str:
    base = (value if "://" in value else f"http://{value}").rstrip("/")
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not is_loopback(parts.hostname) or parts.path or parts.query:
        raise UsageError(
            f"`{name}` is `{value}`, and that is no address of this machine",
            hint=f"`outlast emulator` prints the right one; `unset {name}` to use Google",
        )
    return base
