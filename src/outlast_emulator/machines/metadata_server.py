"""The metadata server of one machine: HTTP over its tree, at 169.254.169.254 inside.

The header `Metadata-Flavor: Google` is mandatory, on both sides. Whoever waits for a change holds a thread, not the server.
"""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from outlast_emulator.machines import metadata as trees
from outlast_emulator.machines.metadata import GUEST, Metadata, NotThere

ROOT = "/computeMetadata/v1"
WAIT_SECONDS_MAX = 3600.0
IDLE_SECONDS_MAX = 3700.0
"""Of a connection on which nothing is asked: more than the longest wait."""
GUEST_VALUE_BYTES_MAX = 256 << 10
TEXT, JSON = "application/text", "application/json"


class Refused(Exception):
    def __init__(self, status: int, message: str, location: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.location = location


class MetadataServer:
    """Serves a socket that listens already, until `close`."""

    def __init__(self, metadata: Metadata, listener: socket.socket) -> None:
        self.metadata = metadata
        self._listener = listener
        self._closing = False
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        listener.settimeout(None)
        threading.Thread(target=self._accept, name="metadata", daemon=True).start()

    def close(self) -> None:
        """Also ends the connections: the machine that they came from is gone."""
        self._closing = True
        for sock in (self._listener, *self._snapshot()):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._listener.close()

    def _snapshot(self) -> list[socket.socket]:
        with self._lock:
            return list(self._connections)

    def _accept(self) -> None:
        while not self._closing:
            try:
                sock, address = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(sock)
            threading.Thread(target=self._serve, args=(sock, address), name="metadata-connection", daemon=True).start()

    def _serve(self, sock: socket.socket, address: Any) -> None:
        metadata = self.metadata

        class Handler(Answers):
            tree = metadata

        try:
            sock.settimeout(IDLE_SECONDS_MAX)
            Handler(sock, address, self)  # type: ignore[arg-type]
        except OSError:
            pass
        finally:
            with self._lock:
                self._connections.discard(sock)
            sock.close()


class Answers(BaseHTTPRequestHandler):
    tree: Metadata
    protocol_version = "HTTP/1.1"
    server_version = "Metadata Server for VM"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_PUT(self) -> None:
        self._answer(self._put)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def version_string(self) -> str:
        return self.server_version

    def _answer(self, operation: Any) -> None:
        length = self.headers.get("Content-Length", "")
        if length.isdigit() and int(length) > 4 * GUEST_VALUE_BYTES_MAX:
            self._drop(int(length))
            self._send(413, b"Request Entity Too Large\n", "text/html; charset=UTF-8", "")
            return
        self._body = self.rfile.read(int(length)) if length.isdigit() else b""
        parts = urlsplit(self.path)
        self._asked = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        try:
            body, kind, etag = operation(self._place(unquote(parts.path)))
        except NotThere:
            self._send(404, b"Not Found\n", "text/html; charset=UTF-8", "")
        except Refused as refused:
            body = f"{refused}\n".encode()
            self._send(refused.status, body, "text/html; charset=UTF-8", "", location=refused.location)
        else:
            self._send(200, body, kind, etag)

    def _drop(self, length: int) -> None:
        """Reads on to the end: who is answered while it still sends may see a broken connection instead of the answer."""
        self.close_connection = True
        while length > 0 and (piece := self.rfile.read(min(length, 1 << 16))):
            length -= len(piece)

    def _send(self, status: int, body: bytes, kind: str, etag: str, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        if location:
            self.send_header("Location", location)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _place(self, path: str) -> str | None:
        """The path in the tree, with its slash at the end; None: above the tree."""
        if path.rstrip("/") in ("", "/computeMetadata"):
            return None
        if path != ROOT and not path.startswith(ROOT + "/"):
            raise Refused(404, "Not Found")
        if self.headers.get("Metadata-Flavor") != "Google":
            raise Refused(403, "Missing Metadata-Flavor:Google header.")
        if "X-Forwarded-For" in self.headers:
            raise Refused(403, "Requests with an X-Forwarded-For header are refused.")
        return path[len(ROOT) :].lstrip("/") if path != ROOT else ""

    def _get(self, place: str | None) -> tuple[bytes, str, str]:
        if place is None:
            above = "computeMetadata/\n" if self.path.rstrip("/") == "" else "v1/\n"
            return above.encode(), TEXT, ""
        path = place.rstrip("/")
        made = self._made_anew(path)
        if made is not None:
            return made
        if path.startswith(GUEST) and not self.tree.takes_guest_attributes:
            raise Refused(403, "Guest attributes endpoint access is disabled.")
        value = self._waited(path) if self._flag("wait_for_change") else self.tree.get(path)
        if trees.is_directory(value) and path and not place.endswith("/"):
            query = urlsplit(self.path).query
            raise Refused(301, "Moved Permanently", f"{ROOT}/{path}/" + (f"?{query}" if query else ""))
        return self._shown(path, value)

    def _shown(self, path: str, value: Any) -> tuple[bytes, str, str]:
        form, etag = self._asked.get("alt", ""), trees.etag_of(value)
        if trees.is_directory(value) and not self._flag("recursive"):
            return trees.listing(value).encode(), TEXT, etag
        if trees.is_directory(value):
            if form == "text":
                return trees.as_text(value).encode(), TEXT, etag
            chosen = path.rpartition("/")[2] in trees.CHOSEN
            return json.dumps(value if chosen else trees.as_json(value)).encode(), JSON, etag
        if form == "json" or (path.endswith("/tags") and form != "text"):
            return json.dumps(value).encode(), JSON, etag
        if isinstance(value, list):
            return "".join(f"{one}\n" for one in value).encode(), TEXT, etag
        return str(value).encode(), TEXT, etag

    def _waited(self, path: str) -> Any:
        seconds = WAIT_SECONDS_MAX
        if self._asked.get("timeout_sec", "").isdigit():
            seconds = min(seconds, float(self._asked["timeout_sec"]))
        return self.tree.wait(path, self._asked.get("last_etag", ""), seconds)

    def _made_anew(self, path: str) -> tuple[bytes, str, str] | None:
        """Tokens."""
        parts = path.split("/")
        if len(parts) != 4 or parts[:2] != ["instance", "service-accounts"] or parts[3] not in ("token", "identity"):
            return None
        account = self.tree.get("/".join(parts[:3]))
        if parts[3] == "token" and self.tree.token is not None:
            scopes = self._asked.get("scopes", "")
            wanted = tuple(scopes.split(",")) if scopes else tuple(account.get("scopes", ()))
            return json.dumps(dict(self.tree.token(str(account["email"]), wanted))).encode(), JSON, "0"
        if parts[3] == "identity" and self.tree.identity is not None:
            audience = self._asked.get("audience", "")
            if not audience:
                raise Refused(400, "non-empty audience parameter required")
            full = self._asked.get("format", "") == "full"
            return self.tree.identity(str(account["email"]), audience, full).encode(), TEXT, "0"
        raise NotThere(path)

    def _put(self, place: str | None) -> tuple[bytes, str, str]:
        self.tree.set(self._guest_path(place), self._guest_value())
        return b"", TEXT, ""

    def _delete(self, place: str | None) -> tuple[bytes, str, str]:
        self.tree.delete(self._guest_path(place))
        return b"", TEXT, ""

    def _post(self, place: str | None) -> tuple[bytes, str, str]:
        raise Refused(405, "Method Not Allowed")

    def _guest_path(self, place: str | None) -> str:
        path = (place or "").rstrip("/")
        if not path.startswith(f"{GUEST}/"):
            raise Refused(405, "Method Not Allowed")
        if not self.tree.takes_guest_attributes:
            raise Refused(403, "Guest attributes endpoint access is disabled.")
        if path.count("/") != 3 or "//" in path:
            raise Refused(400, "A guest attribute has a namespace and a key.")
        return path

    def _guest_value(self) -> str:
        if len(self._body) > GUEST_VALUE_BYTES_MAX:
            raise Refused(400, f"A guest attribute has at most {GUEST_VALUE_BYTES_MAX} bytes.")
        return self._body.decode("utf-8", "replace")

    def _flag(self, name: str) -> bool:
        return self._asked.get(name, "").lower() == "true"
