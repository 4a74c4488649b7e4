"""Downloads several files at once, each checked by the sha256 that the lock has for it."""

from __future__ import annotations

import hashlib
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from outlast.errors import Damaged, Unreachable

HANDS = 10
CHUNK_BYTES = 1 << 20
SECONDS_MAX = 60.0
TRIES = 3
"""A server that has dropped a connection is asked again; one that says no is not."""


@dataclass(frozen=True)
class Wanted:
    url: str
    """With a scheme, `file` too."""

    path: Path
    sha256: str
    """Empty: nobody knows."""


class Refused(Exception):
    """The server has answered, and did not give it: a login, perhaps, that only the resolver has."""


def make_opener(environ: Mapping[str, str]) -> urllib.request.OpenerDirector:
    """Reading the system's certificates takes a while: this may be done while the resolver thinks."""
    cafile = environ.get("SSL_CERT_FILE") or environ.get("PIP_CERT") or environ.get("REQUESTS_CA_BUNDLE")
    context = ssl.create_default_context(cafile=cafile if cafile and os.path.isfile(cafile) else None)
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))


def fetch(wanted: Sequence[Wanted], opener: urllib.request.OpenerDirector) -> None:
    """`Refused`, `Unreachable`, or `Damaged` for what is not what the lock says."""
    if not wanted:
        return
    with ThreadPoolExecutor(min(HANDS, len(wanted))) as crew:
        list(crew.map(lambda one: _fetch(one, opener), wanted))


def _fetch(one: Wanted, opener: urllib.request.OpenerDirector) -> None:
    for left in reversed(range(TRIES)):
        try:
            _take(one, opener)
            return
        except urllib.error.HTTPError as error:
            raise Refused(f"{one.url}: {error}") from error
        except OSError as error:
            if left == 0:
                raise Unreachable(
                    f"`{one.path.name}` cannot be downloaded: {error}",
                    state="nothing was submitted, nothing is being spent",
                    hint="look at the network, and try again",
                ) from error


def _take(one: Wanted, opener: urllib.request.OpenerDirector) -> None:
    digest = hashlib.sha256()
    request = urllib.request.Request(one.url, headers={"User-Agent": "outlast"})  # noqa: S310 - the resolver's own URLs
    with opener.open(request, timeout=SECONDS_MAX) as answer, open(one.path, "wb") as file:
        while chunk := answer.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    if one.sha256 and digest.hexdigest() != one.sha256:
        raise Damaged(
            f"`{one.path.name}` was downloaded and is not what the index had promised",
            state="nothing was submitted, nothing is being spent",
        )
