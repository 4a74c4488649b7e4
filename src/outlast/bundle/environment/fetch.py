"""Downloads several files at once, each checked by the sha256 that the lock has for it."""

from __future__ import annotations

import hashlib
import netrc
import os
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3.exceptions import HTTPError
from urllib3.util import Retry, Timeout, make_headers

from outlast.dataclass import dataclass
from outlast.errors import Damaged, Unreachable
from outlast.pattern import pattern

HANDS = 12
"""Each has a connection of its own. An index answers after tens of milliseconds, and a certificate is looked at in one: few files wait
for another to be through."""

CHUNK_BYTES = 1 << 20
TRIES = 3
"""A server that has dropped a connection is asked again; one that says no is not."""

INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
"""Where uv is told of indexes, with their logins: in its lock there are none."""

_WITH_LOGIN = pattern(r"https?://[^\s/@]+@[^\s]+")

TIMES = Timeout(connect=20, read=60)
FOUND = 200


@dataclass(frozen=True)
class Wanted:
    url: str
    """With a scheme, `file` too."""

    path: Path
    sha256: str
    """Empty: nobody knows."""


class Refused(Exception):
    """The server has answered, and did not give it: a login, perhaps, that only the resolver has."""


def _logins(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(host, `user:password`) of each address in the texts that has one."""
    for text in texts:
        for address in _WITH_LOGIN.findall(text):
            parts = urlsplit(address)
            yield parts.hostname or "", f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"


class Fetcher:
    """Making one reads the system's certificates, which takes a while: it may be done while the resolver thinks."""

    def __init__(self, environ: Mapping[str, str], said: str = "") -> None:
        """`said`: text in which indexes may be named with a login, as requirement files do."""
        self._environ = environ
        self._logins = dict(_logins([*(environ.get(name, "") for name in INDEX_VARIABLES), said]))
        cafile = environ.get("SSL_CERT_FILE") or environ.get("PIP_CERT") or environ.get("REQUESTS_CA_BUNDLE")
        context = urllib3.util.create_urllib3_context()
        context.load_verify_locations(cafile) if cafile and os.path.isfile(cafile) else context.load_default_certs()
        retries = Retry(TRIES, redirect=5, status=0, backoff_factor=0.2)
        shared: dict[str, Any] = {
            "maxsize": HANDS,
            "block": True,
            "timeout": TIMES,
            "retries": retries,
            "ssl_context": context,
        }
        proxies = urllib.request.getproxies()
        self._direct = urllib3.PoolManager(**shared)
        self._proxied = {scheme: urllib3.ProxyManager(url, **shared) for scheme, url in proxies.items() if "//" in url}

    def fetch(self, wanted: Sequence[Wanted]) -> None:
        """`Refused`, `Unreachable`, or `Damaged` for what is not what the lock says."""
        if wanted:
            with ThreadPoolExecutor(min(HANDS, len(wanted))) as crew:
                list(crew.map(self._fetch, wanted))

    def _fetch(self, one: Wanted) -> None:
        digest = hashlib.sha256()
        try:
            with open(one.path, "wb") as file:
                for chunk in self._chunks(one.url):
                    digest.update(chunk)
                    file.write(chunk)
        except HTTPError as error:
            raise Unreachable(
                f"`{one.path.name}` cannot be downloaded: {error}",
                state="nothing was submitted, nothing is being spent",
                hint="look at the network, and try again",
            ) from error
        if one.sha256 and digest.hexdigest() != one.sha256:
            raise Damaged(
                f"`{one.path.name}` was downloaded and is not what the index had promised",
                state="nothing was submitted, nothing is being spent",
            )

    def _chunks(self, url: str) -> Iterator[bytes]:
        parts = urlsplit(url)
        if parts.scheme == "file":
            with open(unquote(parts.path), "rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
            return
        host = parts.hostname or ""
        bypassed = urllib.request.proxy_bypass(host)
        pool = self._direct if bypassed else self._proxied.get(parts.scheme, self._direct)
        answer = pool.request("GET", url, headers=self._headers(url), preload_content=False)
        try:
            if answer.status != FOUND:
                raise Refused(f"`{host}` answered {answer.status} to `{unquote(parts.path).rpartition('/')[2]}`")
            yield from answer.stream(CHUNK_BYTES)
        finally:
            answer.release_conn()

    def _headers(self, url: str) -> dict[str, str]:
        """A login that stands in the URL, or where the index was named, or in the user's `.netrc`."""
        parts = urlsplit(url)
        login = dict(_logins([url])).get(parts.hostname or "") or self._logins.get(parts.hostname or "", "")
        kept = self._environ.get("NETRC") or os.path.expanduser("~/.netrc")
        if not login and os.path.isfile(kept):
            try:
                found = netrc.netrc(kept).authenticators(parts.hostname or "")
            except (OSError, netrc.NetrcParseError):
                found = None
            login = f"{found[0]}:{found[2]}" if found else ""
        return {**make_headers(basic_auth=login or None), "User-Agent": "outlast", "Accept-Encoding": "identity"}
