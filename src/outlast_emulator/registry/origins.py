"""Where the registry's behaviour is from (see `outlast_emulator.sources`): the open specification, which is public."""

from __future__ import annotations

_OF = "artifactregistry.docker"
_REPOSITORIES = "artifactregistry.projects.locations.repositories"
_SPEC = {"page": "the OCI distribution specification"}

ORIGINS: dict[str, dict[str, str]] = {
    f"{_OF}.ping": {**_SPEC, "report": "always asks for a token, as Google does"},
    f"{_OF}.token": {
        "page": "`oauth2accesstoken` with an access token",
        "guess": "the token that is given is the same",
    },
    f"{_OF}.blobs.get": {**_SPEC, "report": "ranges"},
    f"{_OF}.blobs.delete": _SPEC,
    f"{_OF}.uploads.start": {**_SPEC, "guess": "a push makes its repository: switch `registry_needs_repository`"},
    f"{_OF}.uploads.get": _SPEC,
    f"{_OF}.uploads.append": _SPEC,
    f"{_OF}.uploads.end": _SPEC,
    f"{_OF}.uploads.abort": _SPEC,
    f"{_OF}.manifests.get": _SPEC,
    f"{_OF}.manifests.put": {**_SPEC, "report": "what it names must be there"},
    f"{_OF}.manifests.delete": _SPEC,
    f"{_OF}.tags.list": _SPEC,
    f"{_OF}.catalog.list": _SPEC,
    f"{_REPOSITORIES}.create": {"document": "fields", "guess": "done at once"},
    f"{_REPOSITORIES}.get": {"document": "fields"},
    f"{_REPOSITORIES}.list": {"document": "fields", "guess": "never more than one page"},
    f"{_REPOSITORIES}.delete": {"document": "an operation", "page": "with all that is in it"},
}
