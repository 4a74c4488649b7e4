"""Reads images from a registry: addresses, manifests, and blobs as streams."""

from __future__ import annotations

import hashlib
import http.client
import json
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
GOOGLES = re.compile(r"(?:[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io|docker\.io)")
"""Hosts whose images are looked for in the emulator's own registry."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ANSWER_SECONDS_MAX = 60.0
MANIFEST_BYTES_MAX = 4 << 20
ARCHITECTURE = "arm64" if platform.machine() in ("aarch64", "arm64") else "amd64"


class NoImage(Exception):
    """It cannot be had, and why."""


class Unreachable(NoImage):
    """Nobody answers there now."""


class Address(NamedTuple):
    url: str
    """Of the registry, `http://127.0.0.1:5000`."""
    name: str
    reference: str
    """A tag or a digest."""


def address_of(text: str, own_url: str) -> Address:
    """`HOST/NAME:TAG` or `HOST/NAME@DIGEST`; without a host it is Docker's."""
    place, _, digest = text.partition("@")
    host, _, name = place.partition("/")
    if not name or not (re.search(r"[.:]", host) or host == "localhost"):
        host, name = "docker.io", place if "/" in place else f"library/{place}"
    name, colon, tag = name.partition(":")
    reference = digest or (tag if colon else "latest")
    bare = host.rpartition(":")[0] or host
    if GOOGLES.fullmatch(host) or host == urlsplit(own_url).netloc:
        return Address(own_url, name, reference)
    if bare in LOOPBACK:
        return Address(f"http://{host}", name, reference)
    raise NoImage(
        f"registry {host} cannot be reached from the emulator: only loopback and Google's hosts, which are here"
    )


class Puller:
    def __init__(self, address: Address, token: str = "") -> None:
        self._address = address
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def manifest(self) -> tuple[str, dict[str, Any]]:
        """Digest and document of the image for this computer's processor."""
        digest, document = self._manifest(self._address.reference)
        if "manifests" not in document:
            return digest, document
        for one in document["manifests"]:
            of = one.get("platform", {})
            if (of.get("os"), of.get("architecture")) == ("linux", ARCHITECTURE):
                return self._manifest(str(one["digest"]))
        raise NoImage(f"{self._address.name}:{self._address.reference} has no image for linux/{ARCHITECTURE}")

    def document(self, digest: str) -> dict[str, Any]:
        """A small blob that is JSON: the image's configuration."""
        with self.blob(digest) as stream:
            found: dict[str, Any] = json.loads(stream.read(MANIFEST_BYTES_MAX))
        return found

    @contextmanager
    def blob(self, digest: str) -> Iterator[Hashed]:
        """A stream; at the end of the block it must have been what its digest says."""
        with self._get(f"blobs/{digest}") as answer:
            stream = Hashed(answer)
            yield stream
            stream.finish()
        if stream.digest != digest:
            raise NoImage(f"{self._address.name}: blob {digest} arrived as {stream.digest}")

    def _manifest(self, reference: str) -> tuple[str, dict[str, Any]]:
        with self._get(f"manifests/{reference}", Accept=", ".join(MANIFESTS)) as answer:
            data = answer.read(MANIFEST_BYTES_MAX)
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if reference.startswith("sha256:") and reference != digest:
            raise NoImage(f"{self._address.name}: manifest {reference} arrived as {digest}")
        return digest, json.loads(data)

    @contextmanager
    def _get(self, what: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(urlsplit(self._address.url).netloc, timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request("GET", f"/v2/{self._address.name}/{what}", headers={**self._headers, **headers})
            answer = connection.getresponse()
            if answer.status != 200:
                raise NoImage(f"{self._address.name}: {what} was answered {answer.status} {answer.reason}")
            yield answer
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self._address.url}: {error}") from error
        finally:
            connection.close()


class Hashed:
    """A stream that knows the digest of what was read from it."""

    def __init__(self, source: http.client.HTTPResponse) -> None:
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    def finish(self) -> None:
        while self.read(1 << 20):
            pass

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"
