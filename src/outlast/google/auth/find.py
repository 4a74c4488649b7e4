"""Which credentials are used: the ones that are named, else gcloud's, else the machine's own. Never a prompt, never a hang."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from outlast.clock import Clock
from outlast.errors import Denied
from outlast.google.auth import metadata
from outlast.google.auth.credentials import Anonymous, Credentials
from outlast.google.auth.gcloud import ADC_FILE, Gcloud, read_json
from outlast.google.auth.impersonated import ImpersonatedCredentials
from outlast.google.auth.user import UserCredentials
from outlast.google.endpoints import Endpoints
from outlast.google.proxies import is_loopback
from outlast.google.wire import Wire

KEY = "GOOGLE_APPLICATION_CREDENTIALS"
QUOTA_PROJECT = "GOOGLE_CLOUD_QUOTA_PROJECT"

LOGIN_ADC = "gcloud auth application-default login"
LOGIN = "gcloud auth login"
EXTRA_KINDS = ("service_account", "external_account", "external_account_authorized_user")
IMPERSONATED = "impersonated_service_account"


def find_credentials(environ: Mapping[str, str], endpoints: Endpoints, wire: Wire, clock: Clock) -> Credentials:
    """`Denied` with what to type if there are none."""
    finder = _Finder(environ, endpoints, wire, clock)
    found = finder.find()
    if environ.get(QUOTA_PROJECT) and not isinstance(found, Anonymous):
        found.quota_project = environ[QUOTA_PROJECT]
    return found


class _Finder:
    def __init__(self, environ: Mapping[str, str], endpoints: Endpoints, wire: Wire, clock: Clock) -> None:
        self._environ = environ
        self._endpoints = endpoints
        self._wire = wire
        self._clock = clock

    def find(self) -> Credentials:
        named = self._named()
        if named is not None:
            return named
        gcloud = Gcloud(self._environ)
        if self._endpoints.emulated and not gcloud.named:
            return self._on_emulator()
        document = gcloud.application_default()
        if document is not None and (found := self._read(document, str(gcloud.path / ADC_FILE), LOGIN_ADC)) is not None:
            return found
        document = gcloud.login()
        if (
            document is not None
            and (found := self._read(document, f"gcloud's `{document['account']}`", LOGIN)) is not None
        ):
            return found
        if self._endpoints.emulated:
            return self._on_emulator()
        return self._of_machine()

    def _named(self) -> Credentials | None:
        path = self._environ.get(KEY)
        if not path:
            return None
        document = read_json(Path(path).expanduser())
        if document is None:
            raise Denied(
                f"`{path}`, which `{KEY}` or `--cloud-key` names, is not there",
                hint=f"name a key that is; or `{LOGIN_ADC}`, without `--cloud-key`, and `unset {KEY}`",
            )
        return self._read(document, path, LOGIN_ADC)

    def _read(self, document: Mapping[str, Any], source: str, login: str) -> Credentials | None:
        """None: it belongs to Google, and we talk to an emulator."""
        kind = document.get("type")
        if self._endpoints.emulated and not _made_by_emulator(document):
            return None
        if kind == "authorized_user":
            url = str(document["token_uri"]) if self._endpoints.emulated else self._endpoints.tokens
            return UserCredentials(document, self._wire, url, source=source, login=login)
        if kind == IMPERSONATED and isinstance(document.get("source_credentials"), Mapping):
            acting = self._read(document["source_credentials"], source, login)
            return None if acting is None else ImpersonatedCredentials(document, acting, self._wire)
        if kind in EXTRA_KINDS:
            from outlast.google.auth.extra import ExtraCredentials

            return ExtraCredentials(document, self._wire, self._clock, source=source)
        kinds = ", ".join(f"`{one}`" for one in ("authorized_user", IMPERSONATED, *EXTRA_KINDS))
        raise Denied(f"`{source}` is of the kind `{kind}`, which outlast cannot use", hint=f"it can use {kinds}")

    def _on_emulator(self) -> Credentials:
        """A machine's own address, named together with the emulator, is that of a machine of the emulator's."""
        host = metadata.host_of(self._environ)
        name = urlsplit(f"//{host}").hostname
        if metadata.is_named(self._environ) and (is_loopback(name) or name == metadata.HOST):
            return metadata.MetadataCredentials(host, self._wire)
        return Anonymous()

    def _of_machine(self) -> Credentials:
        machine = metadata.MetadataCredentials(metadata.host_of(self._environ), self._wire)
        if metadata.is_named(self._environ) or (not metadata.is_forbidden(self._environ) and machine.look()):
            return machine
        raise Denied(
            "no Google login was found: no key is named, gcloud is not logged in, and this is no Google machine",
            hint=f"`{LOGIN_ADC}`, or `--cloud-key KEY.json`",
        )


URLS = ("token_uri", "token_url", "service_account_impersonation_url")


def _made_by_emulator(document: Mapping[str, Any]) -> bool:
    """All that it would be sent to is on this machine."""
    source = document.get("source_credentials")
    urls = [str(document[name]) for name in URLS if document.get(name)]
    return (
        bool(urls)
        and all(is_loopback(urlsplit(url).hostname) for url in urls)
        and (not isinstance(source, Mapping) or _made_by_emulator(source))
    )
