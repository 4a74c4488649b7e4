"""The variables that say where Google is and who we are to it."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

NAMES = (
    "OUTLAST_EMULATOR",
    "OUTLAST_PROJECT",
    "STORAGE_EMULATOR_HOST",
    "PROJECT_ID",
    "NO_GCE_CHECK",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
BEGINNINGS = ("GOOGLE_", "CLOUDSDK_", "GCE_METADATA_")

SHARED_NAMES = ("HOME",)
SHARED_BEGINNINGS = ("SSL_CERT_",)
SHARED_ENDINGS = ("_PROXY", "_proxy")
"""What decides it too, and is not Google's alone."""

SECRET = ("TOKEN", "SECRET", "PASSWORD")
"""A variable with one of these in its name holds the secret itself: such a one is written to no disk."""


def is_google(name: str) -> bool:
    """For whoever talks to Google on a user's behalf; a trainer gets it only if the user says so."""
    return (name in NAMES or name.startswith(BEGINNINGS)) and not any(word in name.upper() for word in SECRET)


def of_caller(environ: Mapping[str, str]) -> dict[str, str]:
    """All that a process needs to be to Google what the one with this environment is."""
    return {name: value for name, value in environ.items() if _decides(name)}


def _decides(name: str) -> bool:
    shared = name in SHARED_NAMES or name.startswith(SHARED_BEGINNINGS) or name.endswith(SHARED_ENDINGS)
    return shared or is_google(name)


def become(environ: MutableMapping[str, str], caller: Mapping[str, str]) -> None:
    """In `environ` everything that decides it is the caller's, and nothing of it is its own any more."""
    for name in [name for name in environ if _decides(name)]:
        del environ[name]
    environ.update(of_caller(caller))
