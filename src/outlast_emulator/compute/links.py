"""The names of resources: `projects/P/zones/Z/instances/N`, the URL of it, and what clients write instead of either."""

from __future__ import annotations

import re
from typing import NamedTuple

from outlast_emulator.iam.state import PROJECT, PROJECT_NUMBER

ROOT = "https://www.googleapis.com/compute/v1/"
"""Google's own in every link, wherever the emulator is: links are names, and outlive its port."""

GLOBAL = "global"

_NUMBERED = f"projects/{PROJECT_NUMBER}/"

_FULL = re.compile(r"(?:https?://[^/]+/(?:compute/)?(?:v1|beta|alpha)/)?projects/([^/]+)/(.+)\Z")


class Link(NamedTuple):
    project: str
    scope: str
    """`global`, `zones/Z` or `regions/R`."""
    kind: str
    """The collection: `instances`, `machineTypes`..."""
    name: str

    @property
    def path(self) -> str:
        return f"projects/{self.project}/{self.scope}/{self.kind}/{self.name}"

    @property
    def url(self) -> str:
        return ROOT + self.path


def url(path: str) -> str:
    """`projects/...` -> the URL that answers carry."""
    return ROOT + path


def zone_scope(zone: str) -> str:
    return f"zones/{zone}"


def region_scope(region: str) -> str:
    return f"regions/{region}"


def region_of(zone: str) -> str:
    """`us-central1-a` -> `us-central1`"""
    return zone.rpartition("-")[0]


def project_name(text: str) -> str:
    """A project may be called by its number everywhere."""
    return PROJECT if text == str(PROJECT_NUMBER) else text


def numbered(url_or_path: str) -> str:
    """`projects/424242424242/...`, as a machine's metadata name things."""
    return url_or_path.removeprefix(ROOT).replace(f"projects/{PROJECT}/", _NUMBERED, 1)


def last(text: str) -> str:
    """The name at the end of a URL or path."""
    return text.rstrip("/").rpartition("/")[2]


def parse(text: str, kind: str, project: str, scope: str) -> Link | None:
    """What a client wrote for a resource of `kind`: a URL, a part of one, or a name. None: it is none.

    `project` and `scope` are those of whoever names it, and fill in what was left away. An image's family comes back with
    the name `family/F`.
    """
    found = _FULL.match(text)
    if found:
        project, text = project_name(found[1]), found[2]
    parts = text.split("/")
    if parts[0] in ("zones", "regions") and len(parts) >= 3:
        scope, parts = "/".join(parts[:2]), parts[2:]
    elif parts[0] == GLOBAL and len(parts) >= 2:
        scope, parts = GLOBAL, parts[1:]
    elif found:
        return None
    if len(parts) > 1:
        if parts[0] != kind:
            return None
        parts = parts[1:]
    name = "/".join(parts)
    return Link(project, scope, kind, name) if name and (len(parts) == 1 or parts[0] == "family") else None
