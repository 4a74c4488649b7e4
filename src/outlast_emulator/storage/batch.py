"""Batch requests: several calls of the JSON API in one multipart/mixed body, each answered for itself."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from outlast_emulator.errors import ApiError, invalid, json_error
from outlast_emulator.request import JSON_BYTES_MAX, Request
from outlast_emulator.response import Response
from outlast_emulator.routes import Route
from outlast_emulator.storage.multipart import Parts, boundary_of
from outlast_emulator.wire.bodies import MemoryBody

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

CALLS_MAX = 100
"""Google's limit."""

INHERITED = ("authorization", "x-goog-user-project", "user-agent")
"""What a call within takes from the request around it, unless it says otherwise."""


def routes(emulator: Emulator) -> Iterable[Route]:
    def batch(request: Request) -> Response:
        boundary = boundary_of(request.headers.get("content-type", ""))
        answers: list[tuple[str, Response]] = []
        for headers, pieces in Parts(request.body, boundary):
            if len(answers) >= CALLS_MAX:
                raise invalid(f"The batch request could not be processed. The limit is {CALLS_MAX} calls.")
            call = b"".join(_limited(pieces))
            answers.append((headers.get("content-id", ""), _answered(emulator, request, call)))
        mark = f"batch_{secrets.token_urlsafe(24)}"
        body = b"".join(_part(mark, content_id, response) for content_id, response in answers)
        body += f"--{mark}--\r\n".encode()
        damage = next((response.wire for _, response in answers if response.wire), None)
        return Response(200, body, {"content-type": f"multipart/mixed; boundary={mark}"}, wire=damage)

    for template in ("/batch/storage/v1", "/batch"):
        yield Route("storage.batch", "POST", template, batch, quick=False, public=True)
    yield Route("compute.batch", "POST", "/batch/compute/v1", batch, quick=False, public=True)


def _limited(pieces: Iterable[bytes]) -> Iterable[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > JSON_BYTES_MAX:
            raise ApiError(413, "uploadTooLarge", "A call of the batch is too large.")
        yield piece


def _answered(emulator: Emulator, outer: Request, text: bytes) -> Response:
    try:
        request = _request(outer, text)
    except ApiError as error:
        return json_error(error)
    if request.path.startswith(("/upload/", "/resumable/", "/download/", "/batch", "/_emulator")) or (
        request.query("alt") == "media"
    ):
        return json_error(invalid("Media uploads and downloads, and other batches, are not possible in a batch."))
    return emulator.dispatch(request)


def _request(outer: Request, text: bytes) -> Request:
    head, separator, body = text.partition(b"\r\n\r\n")
    if not separator:
        head, _, body = text.partition(b"\n\n")
    lines = head.decode("latin-1").splitlines()
    words = lines[0].split(" ") if lines else []
    if len(words) < 2:
        raise invalid("A call of the batch is no HTTP request.")
    target = words[1]
    if "://" in target:
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    path, _, query = target.partition("?")
    headers = {name: outer.headers[name] for name in INHERITED if name in outer.headers}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Request(words[0].upper(), path, query, headers, MemoryBody(body), outer.scheme)


def _part(mark: str, content_id: str, response: Response) -> bytes:
    body = response.payload()
    assert isinstance(body, bytes)
    inner = content_id.strip("<>")
    lines = [f"--{mark}", "Content-Type: application/http"]
    if inner:
        lines.append(f"Content-ID: <response-{inner}>")
    status = response.status
    lines += ["", f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name.title()}: {value}" for name, value in response.headers.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + body + b"\r\n"
