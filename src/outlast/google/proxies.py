"""Which proxy a request goes through, by the variables that every command-line tool reads."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
NEVER = (*LOOPBACK, "169.254.169.254", "metadata.google.internal", "metadata")
"""This machine itself, and the metadata server, which answers for whoever asks it."""


def is_loopback(host: str | None) -> bool:
    """An address: `127.0.0.1.example.com` is a name, and anybody's."""
    return host is not None and (host in LOOPBACK or (host.startswith("127.") and host.replace(".", "").isdigit()))


def proxy_for(url: str, environ: Mapping[str, str]) -> str:
    """The proxy's url; empty: none."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in NEVER or is_loopback(host) or _excepted(host, parts.port, _value("no_proxy", environ)):
        return ""
    proxy = _value(f"{parts.scheme}_proxy", environ) or _value("all_proxy", environ)
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _value(name: str, environ: Mapping[str, str]) -> str:
    """The small name first. A CGI script's `HTTP_PROXY` is a header of whoever calls it."""
    upper = "" if name == "http_proxy" and "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
    return environ.get(name, "") or upper


def _excepted(host: str, port: int | None, exceptions: str) -> bool:
    for one in (piece.strip().lower() for piece in exceptions.split(",")):
        if one == "*":
            return True
        name, colon, only = one.partition(":")
        if colon and only.isdigit() and int(only) != port:
            continue
        name = name.lstrip("*").lstrip(".")
        if name and (host == name or host.endswith(f".{name}")):
            return True
    return False
