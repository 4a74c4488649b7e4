"""The wire over real sockets: kept connections, limits, proxies, certificates."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from typing import Any

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError, SSLError
from urllib3.util import Timeout, make_headers, parse_url

from outlast.google.proxies import proxy_for
from outlast.google.wire import Answer, NoAnswer, Request

CONNECTIONS_MAX = 32
"""Kept open per host: more than any of our crews has threads."""

BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file of trusted certificates, as other tools read them."""


class Connections:
    """A process that was forked begins with none: two processes that share a connection read each other's answers."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._owner = os.getpid()
        self._pools: dict[str, urllib3.PoolManager] = {}
        """By proxy; without one: by nothing."""

        self._servers: dict[str, Any] = {}
        """By scheme, host and port."""

        self._making = threading.Lock()

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        pool, target = self._way(request.url)
        headers = dict(request.headers)
        if isinstance(request.body, (list, tuple)):
            headers["Content-Length"] = str(sum(map(len, request.body)))
        try:
            answer = pool.urlopen(
                request.method,
                target,
                body=request.body,
                headers=headers,
                timeout=Timeout(connect=connect_seconds, read=stall_seconds),
                retries=False,
                redirect=False,
                decode_content=False,
                preload_content=False,
            )
            try:
                body = answer.read()
            finally:
                # What was not read to its end is closed: the next request must not find the rest of this answer.
                if answer.length_remaining:
                    answer.close()
                answer.release_conn()
        except HTTPError as error:
            raise _translated(error) from error
        except (OSError, ValueError) as error:
            raise NoAnswer(_said(error), sent=True) from error
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, body)

    def _way(self, url: str) -> tuple[Any, str]:
        """Whom to ask, and for what: a server by the path alone, a proxy by the whole url."""
        if self._owner != os.getpid():
            self._owner, self._pools, self._making = os.getpid(), {}, threading.Lock()
            self._servers = {}
        end = url.find("/", len("https://"))
        origin = url[:end] if end > 0 else url
        server = self._servers.get(origin)
        if server is None:
            proxy = proxy_for(url, self._environ)
            with self._making:
                if proxy not in self._pools:
                    self._pools[proxy] = self._make(proxy)
                pool = self._pools[proxy]
                server = self._servers[origin] = pool if proxy else pool.connection_from_url(origin)
        return server, url if isinstance(server, urllib3.PoolManager) else url[len(origin) :] or "/"

    def _make(self, proxy: str) -> urllib3.PoolManager:
        options: dict[str, Any] = {"maxsize": CONNECTIONS_MAX, "num_pools": 8, "ssl_context": self._trusted()}
        if not proxy:
            return urllib3.PoolManager(**options)
        credentials = parse_url(proxy).auth
        headers = make_headers(proxy_basic_auth=credentials) if credentials else None
        return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)

    def _trusted(self) -> ssl.SSLContext:
        """The file that a variable names, else the system's, else (a Python that knows none) certifi's."""
        context = urllib3.util.ssl_.create_urllib3_context()
        bundle = next((self._environ[name] for name in BUNDLES if self._environ.get(name)), "")
        if bundle:
            try:
                context.load_verify_locations(cafile=bundle)
            except (OSError, ssl.SSLError) as error:
                raise NoAnswer(f"`{bundle}` holds no certificates: {error}", sent=False, trust=True) from error
            return context
        context.load_default_certs()
        if not context.cert_store_stats()["x509_ca"]:
            _load_certifi(context)
        return context


def _load_certifi(context: ssl.SSLContext) -> None:
    try:
        import certifi
    except ImportError:
        return  # a directory of certificates is counted as they are used; and if there is none, the error says what to set
    context.load_verify_locations(cafile=certifi.where())


def _translated(error: HTTPError) -> NoAnswer:
    cause = error.original_error if isinstance(error, ProxyError) else error
    if isinstance(cause, SSLError) and isinstance(cause.args[0] if cause.args else None, ssl.SSLCertVerificationError):
        return NoAnswer(_said(cause), sent=False, trust=True)
    # A name that is not found, a port that nobody listens at, a proxy that refuses: nothing left this machine.
    return NoAnswer(_said(error), sent=not isinstance(error, (NewConnectionError, ProxyError, ConnectTimeoutError)))


def _said(error: Exception) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None or cause.__context__ is not None:
        cause = cause.__cause__ or cause.__context__ or cause
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return str(text)
