"""Which project pays, where nobody has said so on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.errors import UsageError
from outlast.google.auth.gcloud import Gcloud
from outlast.google.endpoints import EMULATED_PROJECT
from outlast.google.transport import Transport

VARIABLES = ("OUTLAST_PROJECT", "PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")


def project_of(given: str, environ: Mapping[str, str], transport: Transport) -> str:
    """What was given; a variable; on an emulator its own; gcloud's; the credentials'."""
    named = given or next((environ[name] for name in VARIABLES if environ.get(name)), "")
    if named:
        return named
    if transport.endpoints.emulated:
        return EMULATED_PROJECT
    credentials = transport.credentials
    found = Gcloud(environ).project or credentials.project or credentials.quota_project
    if not found:
        raise UsageError(
            "no Google Cloud project is known", hint="`--project PROJECT`, or `gcloud config set project PROJECT`"
        )
    return found
