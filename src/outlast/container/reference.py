"""An image's name, as people write it: `python:3.12-slim`, `HOST/PATH:TAG`, `HOST/PATH@sha256:...`."""

from __future__ import annotations

import re

from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.google.proxies import is_loopback
from outlast.pattern import pattern

DOCKER_HUB = "docker.io"
_HOSTS = {DOCKER_HUB: "registry-1.docker.io", "index.docker.io": "registry-1.docker.io"}
"""Where a registry answers that is called otherwise."""

DIGEST = pattern(r"sha256:[0-9a-f]{64}")
_TAG = pattern(r"\w[\w.-]{0,127}", re.ASCII)
_HOST = pattern(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_PATH = pattern(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*")


@dataclass(frozen=True)
class Reference:
    host: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def url(self) -> str:
        return registry_url(self.host)

    @property
    def wanted(self) -> str:
        """What a registry is asked for."""
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.host}/{self.path}{tag}" + (f"@{self.digest}" if self.digest else "")


def registry_url(host: str) -> str:
    """Without TLS on this computer alone."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return f"{'http' if is_loopback(name.strip('[]')) else 'https'}://{_HOSTS.get(host, host)}"


def parse_reference(text: str) -> Reference:
    name, _, digest = text.partition("@")
    host, slash, path = name.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, path = DOCKER_HUB, name
    path, colon, tag = path.partition(":")
    if host == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    wrong = (
        not _HOST.fullmatch(host)
        or not _PATH.fullmatch(path)
        or (colon and not _TAG.fullmatch(tag))
        or ("@" in text and not DIGEST.fullmatch(digest))
    )
    if wrong:
        raise UsageError(
            f"`{text[:200]}` is no name of an image",
            hint="write `NAME:TAG`, `HOST/PATH:TAG` or `HOST/PATH@sha256:...`, in small letters",
        )
    return Reference(host, path, tag, digest)


def parse_repository(text: str) -> Reference:
    """`HOST/PATH`, where images are pushed to."""
    bare = text.removeprefix("https://").removeprefix("http://").rstrip("/")
    host = bare.partition("/")[0]
    if "/" not in bare or not ("." in host or ":" in host or host == "localhost"):
        raise UsageError(
            f"`{text[:200]}` is no place in a registry",
            hint="write `HOST/PATH`, such as `us-central1-docker.pkg.dev/PROJECT/outlast` or `127.0.0.1:5000/me`",
        )
    found = parse_reference(bare)
    if found.tag or found.digest:
        raise UsageError(f"`{text[:200]}` is an image's name, and a place for images is needed", hint=f"`{host}/PATH`")
    return found


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise UsageError(f"`{tag[:200]}` is no tag", hint="letters, digits, `_`, `.` and `-`, at most 128 of them")
    return tag
