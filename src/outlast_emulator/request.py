"""One request, as operations and the steps before them see it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, unquote

from outlast_emulator.errors import ApiError, invalid

if TYPE_CHECKING:
    from outlast_emulator.iam.authority import Caller
    from outlast_emulator.routes import Route

JSON_BYTES_MAX = 16 << 20
"""Of a body that is read into memory: more than the largest batch or compose request."""


QUERY_CHARACTERS_KEPT = 500


class Incoming(Protocol):
    """A request's body, read once, from memory or from the connection; transfer encodings are undone."""

    length: int | None
    """None: chunked, so nobody knows yet."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes, at least one, or b"" at the end. Raises `wire.bodies.BodyCut` if the client went away."""
        ...


class Request:
    """Path and query are decoded once, as Google does; header names are in lower case."""

    __slots__ = (
        "_document",
        "_queries",
        "body",
        "caller",
        "headers",
        "method_id",
        "params",
        "path",
        "principal",
        "query_text",
        "route",
        "scheme",
        "verb",
    )

    def __init__(
        self, verb: str, path: str, query_text: str, headers: dict[str, str], body: Incoming, scheme: str = "http"
    ) -> None:
        self.verb = verb
        self.path = path
        """As it was sent: percent-encoded."""
        self.query_text = query_text
        self.headers = headers
        self.body = body
        self.scheme = scheme
        self.route: Route | None = None
        self.params: dict[str, str] = {}
        """The parts of the path that the route's template names, decoded."""
        self.method_id = ""
        """`storage.objects.insert`: by this name faults, permissions, validation and the ledger know the call."""
        self.principal = ""
        """Who calls, once the authorisation step has found out: an e-mail address, or "" for nobody."""
        self.caller: Caller | None = None
        """The same for whoever asks again; None: nobody has asked yet."""
        self._queries: dict[str, list[str]] | None = None
        self._document: Any = None

    @property
    def queries(self) -> dict[str, list[str]]:
        if self._queries is None:
            if not self.query_text:
                self._queries = {}
            elif len(self.query_text) <= QUERY_CHARACTERS_KEPT:
                self._queries = dict(_kept_query(self.query_text))
            else:
                self._queries = _parsed_query(self.query_text)
        return self._queries

    def query(self, name: str, default: str = "") -> str:
        """The last value of a query parameter."""
        values = (self._queries or self.queries).get(name)
        return values[-1] if values else default

    def number(self, name: str) -> int | None:
        """A query parameter that is a 64-bit integer; None if it was not sent."""
        values = self.queries.get(name)
        if not values:
            return None
        try:
            number = int(values[-1])
        except ValueError:
            number = 1 << 70
        if not -(1 << 63) <= number < 1 << 63:
            raise invalid(f"Invalid value for parameter `{name}`: `{values[-1]}`", location=name)
        return number

    def flag(self, name: str) -> bool:
        """A query parameter that is a truth value."""
        word = self.query(name, "false").lower()
        if word not in ("true", "false", "1", "0", ""):
            raise invalid(f"Invalid value for parameter `{name}`: `{word}`", location=name)
        return word in ("true", "1", "")

    @property
    def wants_media(self) -> bool:
        """The bytes of an object, not what is known of it."""
        return self.path.startswith("/download/") or self.query("alt") == "media"

    def text(self) -> bytes:
        """The whole body, which must be small."""
        pieces, size = [], 0
        while piece := self.body.read(1 << 16):
            size += len(piece)
            if size > JSON_BYTES_MAX:
                raise ApiError(413, "uploadTooLarge", f"The request is larger than {JSON_BYTES_MAX} bytes.")
            pieces.append(piece)
        return b"".join(pieces)

    def json(self) -> Any:
        """The body as a JSON object, parsed once; {} if there is none."""
        if self._document is None:
            self._document = parse_json(self.text())
        return self._document


def _parsed_query(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


_kept_query = lru_cache(1024)(_parsed_query)
"""A client sends the same few again and again."""


def parse_json(text: bytes) -> dict[str, Any]:
    if not text or text.isspace():
        return {}
    try:
        document = json.loads(text)
        if b"\\u" in text:  # half a surrogate pair is no text, and could not be answered with
            json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "parseError", "Parse Error") from error
    if document is None:  # as Go writes a body that is not there
        return {}
    if not isinstance(document, dict):
        raise ApiError(400, "parseError", "Parse Error")
    return document


def decoded(segment: str) -> str:
    """A part of a path, percent-decoded; bytes that are no UTF-8 are refused, as Google refuses them."""
    if "%" not in segment:
        return segment
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise invalid("The name in the request's path is not valid UTF-8.") from error
