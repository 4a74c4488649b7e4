"""Cloud Storage's JSON API: one method per request that outlast makes, and what each is billed as."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from outlast.google.transport import Transport, read_date
from outlast.google.wire import Answer, Body, NoAnswer, Request, body_bytes

LIST_MAX = 1000
JOINED_BYTES_MAX = 64 << 10
BROKEN_MAX = 3
"""How often an answer that cannot be read is asked for again."""

UNBILLED = frozenset({401, 403, 408, 429})

OBJECT_FIELDS = "generation,size,md5Hash,metadata"
BUCKET_FIELDS = "name,location,locationType,labels,iamConfiguration,softDeletePolicy,lifecycle,projectNumber"


class Listed(NamedTuple):
    name: str
    generation: int
    bytes: int


class Page(NamedTuple):
    objects: list[Listed]
    next_token: str


class Operations:
    """How many requests were answered, by what they cost."""

    def __init__(self) -> None:
        self.class_a = 0
        """Writes and lists: the dear ones."""

        self.class_b = 0
        """Reads."""


def _none(answer: Answer) -> bool:
    return False


class StorageClient:
    """Names go in as they are. Every method raises `ApiError` or `NoAnswer` and nothing else of the network's."""

    def __init__(self, transport: Transport, bucket: str) -> None:
        self.transport = transport
        self.bucket = bucket
        self.operations = Operations()
        self.on_date: Callable[[float], None] = lambda date: None
        """Told the server's time with every answer."""

        self._base = f"{transport.endpoints.storage}/storage/v1/b"
        self._objects = f"{self._base}/{quote(bucket, safe='')}/o"
        self._uploads = f"{transport.endpoints.storage}/upload/storage/v1/b/{quote(bucket, safe='')}/o"

    # Objects.

    def insert(self, name: str, data: bytes | Sequence[bytes], *, if_generation: int | None, op: str = "") -> Answer:
        """Metadata and content in one request, with the content's md5: Google refuses what arrives otherwise."""
        boundary = secrets.token_hex(16)
        chunks = [data] if isinstance(data, bytes) else data
        check = hashlib.md5(usedforsecurity=False)
        for chunk in chunks:
            check.update(chunk)
        described = json.dumps(_described(name, op, md5=md5_text(check.digest())))
        head = (
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{described}\r\n"
            f"--{boundary}\r\nContent-Type: application/octet-stream\r\n\r\n"
        )
        pieces = [head.encode(), *chunks, f"\r\n--{boundary}--\r\n".encode()]
        # A small one in one packet instead of three; a large one is not copied.
        body = b"".join(pieces) if sum(map(len, pieces)) <= JOINED_BYTES_MAX else pieces
        url = _url(self._uploads, uploadType="multipart", ifGenerationMatch=if_generation, fields=OBJECT_FIELDS)
        return self._call("POST", url, {"Content-Type": f"multipart/related; boundary={boundary}"}, body, billed="a")

    def begin(self, name: str, *, if_generation: int | None, total: int | None, op: str = "") -> str:
        """A resumable upload: the condition stands in this first request, and is enforced at the end. Answers its url."""
        url = _url(self._uploads, uploadType="resumable", ifGenerationMatch=if_generation, fields=OBJECT_FIELDS)
        headers = {
            "Content-Type": "application/json; charset=UTF-8",
            "X-Upload-Content-Type": "application/octet-stream",
        }
        if total is not None:
            headers["X-Upload-Content-Length"] = str(total)
        answer = self._call("POST", url, headers, json.dumps(_described(name, op)).encode(), billed="a")
        return answer.headers.get("location", "")

    def send(self, session: str, data: Body, offset: int, total: int | None, md5: str = "") -> Answer:
        """One piece, tried once; `total`: it is the last one. 308 with `Range` says how far the server has got."""
        size = body_bytes(data)
        place = f"{offset}-{offset + size - 1}" if size else "*"
        headers = {"Content-Range": f"bytes {place}/{'*' if total is None else total}"}
        if md5 and total is not None:
            headers["X-Goog-Hash"] = f"md5={md5}"
        return self._call("PUT", session, headers, data, accept=_unfinished, once=True)

    def ask(self, session: str, total: int | None) -> Answer:
        """How far a session has got, after an answer was lost: 308 with `Range`, or what the last piece would have answered."""
        headers = {"Content-Range": f"bytes */{'*' if total is None else total}"}
        return self._call("PUT", session, headers, b"", accept=_unfinished)

    def cancel(self, session: str) -> None:
        self._call("DELETE", session, {}, None, accept=lambda answer: answer.status in (404, 410, 499))

    def read(
        self,
        name: str,
        *,
        generation: int | None = None,
        first: int = 0,
        size: int | None = None,
        place: Callable[[int], bytearray] = bytearray,
    ) -> Answer:
        """The content as it is stored: asked for with gzip, so that nothing unpacks on the way what was put in packed."""
        headers = {"Accept-Encoding": "gzip"}
        if first or size is not None:
            headers["Range"] = f"bytes={first}-{'' if size is None else first + size - 1}"
        url = _url(f"{self._objects}/{_quoted(name)}", alt="media", generation=generation)
        return self._call("GET", url, headers, None, billed="b", place=place)

    def describe(self, name: str) -> dict[str, Any]:
        url = _url(f"{self._objects}/{_quoted(name)}", fields=OBJECT_FIELDS)
        return self._document("GET", url, billed="b")

    def made(self, name: str) -> str:
        """When it was written, in Google's words."""
        url = _url(f"{self._objects}/{_quoted(name)}", fields="timeCreated")
        return str(self._document("GET", url, billed="b")["timeCreated"])

    def list(self, prefix: str, *, start: str = "", limit: int = LIST_MAX, token: str = "") -> Page:
        """`start` and what comes after it, in the order of the names' UTF-8 bytes."""
        url = _url(
            self._objects,
            prefix=prefix or None,
            startOffset=start or None,
            maxResults=min(limit, LIST_MAX),
            pageToken=token or None,
            fields="items(name,generation,size),nextPageToken",
        )
        document = self._document("GET", url, billed="a")
        objects = [Listed(one["name"], int(one["generation"]), int(one["size"])) for one in document.get("items", ())]
        return Page(objects, document.get("nextPageToken", ""))

    def delete(self, name: str, *, if_generation: int | None = None) -> Answer:
        url = _url(f"{self._objects}/{_quoted(name)}", ifGenerationMatch=if_generation)
        return self._call("DELETE", url, {}, None)

    # Buckets.

    def get_bucket(self) -> dict[str, Any]:
        url = _url(f"{self._base}/{quote(self.bucket, safe='')}", fields=BUCKET_FIELDS)
        return self._document("GET", url, billed="b")

    def insert_bucket(self, project: str, described: Mapping[str, Any]) -> dict[str, Any]:
        url = _url(self._base, project=project, fields=BUCKET_FIELDS)
        return self._document("POST", url, described, billed="a")

    def list_buckets(self, project: str, prefix: str) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            url = _url(
                self._base,
                project=project,
                prefix=prefix,
                pageToken=token or None,
                fields=f"items({BUCKET_FIELDS}),nextPageToken",
            )
            document = self._document("GET", url, billed="a")
            yield from document.get("items", ())
            token = document.get("nextPageToken", "")
            if not token:
                return

    def _call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Body | None,
        *,
        billed: str = "",
        accept: Callable[[Answer], bool] = _none,
        once: bool = False,
        place: Callable[[int], bytearray] = bytearray,
    ) -> Answer:
        request = Request(method, url, headers, body, place)
        return self.transport.call(request, accept=accept, observe=lambda answer: self._note(answer, billed), once=once)

    def _document(self, method: str, url: str, body: Mapping[str, Any] | None = None, *, billed: str) -> dict[str, Any]:
        """A JSON object. An answer that broke on its way is asked for again."""
        headers = {} if body is None else {"Content-Type": "application/json; charset=UTF-8"}
        data = None if body is None else json.dumps(body).encode()
        for _ in range(BROKEN_MAX):
            answer = self._call(method, url, headers, data, billed=billed)
            try:
                document = json.loads(answer.body or b"{}")
            except ValueError:
                continue
            if isinstance(document, dict):
                return document
        raise NoAnswer("the answer is no JSON object", sent=True)

    def _note(self, answer: Answer, billed: str) -> None:
        if answer.status < 500 and answer.status not in UNBILLED:
            self.operations.class_a += billed == "a"
            self.operations.class_b += billed == "b"
        date = read_date(answer.headers.get("date", ""))
        if date:
            self.on_date(date)


def md5_text(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def _described(name: str, op: str, md5: str = "") -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "contentType": "application/octet-stream"}
    if md5:
        described["md5Hash"] = md5
    if op:
        described["metadata"] = {"outlast-op": op}
    return described


def _unfinished(answer: Answer) -> bool:
    return answer.status == 308


def _url(base: str, **parameters: str | int | None) -> str:
    return base + _query(**parameters)


@functools.lru_cache(maxsize=64)  # a thousand small objects are asked for with the same one
def _query(**parameters: str | int | None) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"?{urlencode(given, quote_via=quote)}" if given else ""


def _quoted(name: str) -> str:
    """As `quote(name, safe="")`, which is quick only where there is nothing to quote: most names have but slashes."""
    return "%2F".join([quote(part, safe="") for part in name.split("/")])
