"""Whether images are in their registries: all of them asked at once where these are on this computer, with next to nothing imported."""

from __future__ import annotations

from _socket import AF_INET, SOCK_STREAM, socket  # what `socket` adds to it takes longer than all the questions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS_MAX = 10.0
HEAD_BYTES_MAX = 64 << 10
ACCEPT = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)

Wanted = tuple[str, str, str, str]
"""(host, path, tag or digest, the digest that it is to have)."""


def are_there(wanted: Sequence[Wanted]) -> bool:
    """Whoever does not answer as expected is asked once more, by the client that knows of logins, proxies and patience."""
    asked = [_ask(*one[:3]) for one in wanted]
    return all(_digest(sock) == one[3] or _by_client(one) for sock, one in zip(asked, wanted, strict=True))


def _by_client(one: Wanted) -> bool:
    from outlast.container.registry import Registry

    host, path, wanted, digest = one
    return Registry(host).manifest_digest(path, wanted) == digest


def _ask(host: str, path: str, wanted: str) -> socket | None:
    """Only an address of this computer, without TLS."""
    name, _, port = host.rpartition(":")
    if not port.isdigit() or not name.startswith("127.") or not name.replace(".", "").isdigit():
        return None
    sock = socket(AF_INET, SOCK_STREAM)
    try:
        sock.settimeout(SECONDS_MAX)
        sock.connect((name, int(port)))
        head = (
            f"HEAD /v2/{path}/manifests/{wanted} HTTP/1.1\r\nHost: {host}\r\nAccept: {ACCEPT}\r\nConnection: close\r\n"
        )
        sock.sendall(f"{head}User-Agent: outlast\r\n\r\n".encode())
    except (OSError, OverflowError):
        sock.close()
        return None
    return sock


def _digest(sock: socket | None) -> str:
    """Empty: it did not say."""
    if sock is None:
        return ""
    head = b""
    try:
        while b"\r\n\r\n" not in head and len(head) < HEAD_BYTES_MAX:
            chunk = sock.recv(1 << 14)
            if not chunk:
                return ""
            head += chunk
    except OSError:
        return ""
    finally:
        sock.close()
    status, *lines = head.decode("latin-1").split("\r\n")
    if status.split(" ")[1:2] != ["200"]:
        return ""
    fields = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in fields if name.lower() == "docker-content-digest"), "")
