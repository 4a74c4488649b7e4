"""The wire over real sockets: kept connections, limits, proxies, certificates."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProxyError, SSLError
from urllib3.util import Timeout, make_headers, parse_url

from outlast.clock import SYSTEM
from outlast.google.exchange import Broken, exchange
from outlast.google.proxies import proxy_for
from outlast.google.wire import Answer, NoAnswer, Request, Stream

IDLE_SECONDS = 1.0
"""A connection that was used so lately is not asked whether it is still there: servers wait longer before they hang up."""

CONNECTIONS_MAX = 32
"""Kept open per server: more than any of our crews has threads."""

BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file of trusted certificates, as other tools read them."""


class Connections:
    """A process that was forked begins with none: two processes that share a connection read each other's answers."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._forget()

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._making = threading.Lock()
        self._servers: dict[str, _Server | _Proxied] = {}
        """By scheme, host and port."""

        self._context: ssl.SSLContext | None = None

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        end = request.url.find("/", len("https://"))
        origin = request.url[:end] if end > 0 else request.url
        server = self._server(origin, request.url)
        return server.send(request, request.url[len(origin) :] or "/", connect_seconds, stall_seconds)

    def _server(self, origin: str, url: str) -> _Server | _Proxied:
        if self._owner != os.getpid():
            self._forget()
        server = self._servers.get(origin)
        if server is None:
            with self._making:
                proxy = proxy_for(url, self._environ)
                context = self._trusted() if origin.startswith("https:") or proxy.startswith("https:") else None
                made = _Proxied(proxy, context) if proxy else _Server(origin, context)
                server = self._servers.setdefault(origin, made)
        return server

    def _trusted(self) -> ssl.SSLContext:
        """The file that a variable names, else the system's, else (a Python that knows none) certifi's."""
        if self._context is not None:
            return self._context
        context = urllib3.util.ssl_.create_urllib3_context()
        bundle = next((self._environ[name] for name in BUNDLES if self._environ.get(name)), "")
        if bundle:
            try:
                context.load_verify_locations(cafile=bundle)
            except (OSError, ssl.SSLError) as error:
                raise NoAnswer(f"`{bundle}` holds no certificates: {error}", sent=False, trust=True) from error
        else:
            context.load_default_certs()
            if not context.cert_store_stats()["x509_ca"]:
                _load_certifi(context)
        self._context = context
        return context


class _Server:
    """Connections to one server."""

    def __init__(self, origin: str, context: ssl.SSLContext | None) -> None:
        self._address = parse_url(origin)
        self._host = self._address.netloc or ""
        self._context = context
        self._idle: list[tuple[HTTPConnection, float]] = []
        """With when it was last used."""

    def send(self, request: Request, target: str, connect_seconds: float, stall_seconds: float) -> Answer:
        connection = self._connection(connect_seconds)
        keeps = False
        try:
            sock = connection.sock
            if sock.gettimeout() != stall_seconds:
                sock.settimeout(stall_seconds)
            answer, keeps = exchange(sock, request, self._host, target)
            return answer
        except (Broken, OSError) as error:
            raise NoAnswer(_said(error), sent=True) from error
        finally:
            if keeps and len(self._idle) < CONNECTIONS_MAX:
                self._idle.append((connection, SYSTEM.monotonic()))
            else:
                connection.close()

    def _connection(self, connect_seconds: float) -> HTTPConnection:
        while self._idle:
            try:
                connection, used_at = self._idle.pop()
            except IndexError:
                break  # another thread was faster
            if SYSTEM.monotonic() - used_at < IDLE_SECONDS or connection.is_connected:
                return connection
            connection.close()
        host, port = str(self._address.host).strip("[]"), self._address.port
        if self._context is None:
            connection = HTTPConnection(host, port or 80, timeout=connect_seconds)
        else:
            connection = HTTPSConnection(host, port or 443, timeout=connect_seconds, ssl_context=self._context)
        try:
            connection.connect()
        except (HTTPError, OSError) as error:
            connection.close()
            raise _translated(error) from error
        return connection


class _Proxied:
    """Everything that goes through one proxy: seldom, and not worth a way of our own."""

    def __init__(self, proxy: str, context: ssl.SSLContext | None) -> None:
        credentials = parse_url(proxy).auth
        headers = make_headers(proxy_basic_auth=credentials) if credentials else None
        options: dict[str, Any] = {"maxsize": CONNECTIONS_MAX, "ssl_context": context}
        self._pool = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)

    def send(self, request: Request, target: str, connect_seconds: float, stall_seconds: float) -> Answer:
        body: bytes | Stream | None
        headers = dict(request.headers)
        if isinstance(request.body, Stream):
            body, headers["Content-Length"] = request.body, str(request.body.size)
        else:
            body = request.body if request.body is None or isinstance(request.body, bytes) else b"".join(request.body)
        try:
            answer = self._pool.urlopen(
                request.method,
                request.url,
                body=body,
                headers=headers,
                timeout=Timeout(connect=connect_seconds, read=stall_seconds),
                retries=False,
                redirect=False,
                decode_content=False,
            )
        except HTTPError as error:
            raise _translated(error) from error
        except (OSError, ValueError) as error:
            raise NoAnswer(_said(error), sent=True) from error
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.data)


def _load_certifi(context: ssl.SSLContext) -> None:
    try:
        import certifi
    except ImportError:
        return  # a directory of certificates is counted as they are used; and if there is none, the error says what to set
    context.load_verify_locations(cafile=certifi.where())


def _translated(error: HTTPError | OSError) -> NoAnswer:
    cause = error.original_error if isinstance(error, ProxyError) else error
    refused = cause.args[0] if isinstance(cause, SSLError) and cause.args else cause
    if isinstance(refused, ssl.SSLCertVerificationError):
        return NoAnswer(_said(refused), sent=False, trust=True)
    # A name that is not found, a port that nobody listens at, a proxy that refuses: nothing left this machine.
    unsent = (NewConnectionError, ProxyError, ConnectTimeoutError)
    return NoAnswer(_said(error), sent=not isinstance(error, unsent))


def _said(error: BaseException) -> str:
    cause = error
    while cause.__cause__ is not None or cause.__context__ is not None:
        cause = cause.__cause__ or cause.__context__ or cause
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return str(text)
