"""One POST of a JSON document, bounded in every way: no redirect, no address that only this machine should reach, no long wait."""

from __future__ import annotations

import http.client
import ipaddress
import os
import select
import signal
import socket
import ssl
import sys
from urllib.parse import urlsplit

from outlast.host import system

POST_SECONDS_MAX = 10.0
PROBLEM_BYTES_MAX = 1000

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def post(url: str, body: bytes) -> str:
    """What went wrong, without the URL; empty: it was answered with success.

    In a process of its own: whatever a server does to a reader, it is over when the time is.
    """
    if not system.LINUX:
        return _by_program(url, body)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _child(url, body, write)
    os.close(write)
    try:
        ready, _, _ = select.select([read], [], [], POST_SECONDS_MAX)
        answer = os.read(read, PROBLEM_BYTES_MAX) if ready else b"!no answer in time"
    finally:
        os.close(read)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(pid, 0)
    return _problem(answer)


def _by_program(url: str, body: bytes) -> str:
    """Where a forked copy may not ask for an address: a Mac kills it for that. The URL may be a secret, and is in no command line."""
    import subprocess

    command = [sys.executable, "-m", "outlast.machine.post"]
    try:
        done = subprocess.run(
            command, input=url.encode() + b"\n" + body, capture_output=True, timeout=POST_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return "no answer in time"
    return _problem(done.stdout)


def _problem(answer: bytes) -> str:
    return "" if answer == b"." else answer[1:].decode(errors="replace") or "it ended without an answer"


def _child(url: str, body: bytes, answer: int) -> None:
    """Never returns."""
    said = b"!it could not be sent"
    try:
        problem = _send(url, body)
        said = f"!{problem}".encode()[:PROBLEM_BYTES_MAX] if problem else b"."
    except (OSError, http.client.HTTPException, ValueError) as error:
        said = f"!{_words(error)}".encode()[:PROBLEM_BYTES_MAX]
    finally:
        os.write(answer, said)
        os._exit(0)


def _words(error: Exception) -> str:
    """Never the error's own text: it may quote the URL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the server's certificate is not valid"
    if isinstance(error, socket.gaierror):
        return "the server's name is not known"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return type(error).__name__


def _send(url: str, body: bytes) -> str:
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme.lower() == "https"
    port = parts.port or (443 if secure else 80)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    address = str(found[0][4][0])
    problem = refused(address, secure=secure)
    if problem:
        return problem
    # The very address that was looked at: a name may lead elsewhere when it is asked again.
    connected = socket.create_connection((address, port), timeout=POST_SECONDS_MAX)
    if secure:
        connected = ssl.create_default_context().wrap_socket(connected, server_hostname=host)
    connection = http.client.HTTPConnection(host, port, timeout=POST_SECONDS_MAX)
    connection.sock = connected
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"Content-Type": "application/json", "User-Agent": "outlast", "Connection": "close"}
    connection.request("POST", path, body, headers)
    status = connection.getresponse().status
    return "" if 200 <= status < 300 else f"the server answered {status}"


def refused(text: str, *, secure: bool) -> str:
    """Why nothing is sent to that address; empty: it may be."""
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved:
        return "its address is one that nothing is sent to (link-local: a cloud's metadata server is there)"
    if not secure and address.is_global:
        return "`http://` goes over the network for all to read: use `https://`"
    return ""


if __name__ == "__main__":
    asked, _, document = sys.stdin.buffer.read().partition(b"\n")
    _child(asked.decode(), document, sys.stdout.fileno())
