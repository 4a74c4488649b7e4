"""Ten thousand generated requests: each is answered, none by a traceback, none by silence."""

from __future__ import annotations

import http.client
import json
import random
from typing import Any
from urllib.parse import quote

import pytest

from outlast_emulator.discovery.validate import is_unserved
from outlast_emulator.testing import Running
from outlast_emulator.variables import PROJECT

COUNT = 10_000
SHARES = 4

NAMES = [
    "it",
    "a/b",
    "ä ö",
    "%",
    "..",
    "",
    " ",
    "x" * 2000,
    "a\nb",
    "\0",
    "*",
    "{bucket}",
    "\U0001f600",
    "-",
    "it?x=y#z",
]
NUMBERS = ["0", "1", "-1", "9" * 30, "x", "", "1.5", "0x10", " 7", "٣", "9223372036854775807", "9223372036854775808"]
QUERY = [
    "alt", "fields", "generation", "ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "delimiter",
    "ifMetagenerationNotMatch", "ifSourceGenerationMatch", "maxResults", "pageToken", "prefix", "startOffset", "endOffset",
    "matchGlob", "projection", "uploadType", "upload_id", "name", "softDeleted", "versions", "rewriteToken", "project",
    "maxBytesRewrittenPerCall", "contentEncoding", "prettyPrint", "uploads", "uploadId", "partNumber", "list-type",
    "unknownParameter", "userProject", "includeTrailingDelimiter", "key", "callback", "$alt", "acl", "location",
]  # fmt: skip
WORDS = [
    "media",
    "json",
    "multipart",
    "resumable",
    "true",
    "false",
    "full",
    "noAcl",
    "items(name",
    "*",
    "a/b",
    "[!x",
    "{a,b",
]
HEADERS = {
    "range": ["bytes=0-", "bytes=-5", "bytes=5-1", "bytes=,", "x", "bytes=0-1,3-4", "bytes=99999999999999999999-"],
    "content-range": ["bytes 0-3/4", "bytes */*", "bytes */4", "bytes 4-3/2", "x", "bytes 0-/", "bytes -/-"],
    "content-type": ["application/json", "multipart/related", "multipart/related; boundary=x", "multipart/mixed; boundary=x",
                     "text/plain", ";;;", "multipart/related; boundary="],
    "content-encoding": ["gzip", "identity", "x"],
    "authorization": ["Bearer", "Bearer x", "Basic eDp4", "GOOG1 a:b", ""],
    "if-match": ["*", "x", '"'],
    "if-none-match": ["*", "x"],
    "x-goog-hash": ["md5=x", "crc32c=AAAAAA==", ",,=", "md5=" + "A" * 22 + "=="],
    "content-md5": ["x", "A" * 22 + "=="],
    "x-goog-copy-source": ["/x/y", "x", "/", "%ff"],
    "x-goog-if-generation-match": ["0", "x", "-1"],
    "x-upload-content-length": ["x", "-1", "4"],
    "accept-encoding": ["gzip", "identity"],
    "metadata-flavor": ["Google", "x"],
}  # fmt: skip
VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
FIELDS = ["name", "metadata", "contentType", "sourceObjects", "destination", "softDeletePolicy", "iamConfiguration", "acl",
          "labels", "location", "storageClass", "bucket", "md5Hash", "crc32c", "size", "generation", "customTime", "unknown",
          "lifecycle", "retentionPolicy", "temporaryHold", "bindings", "policy", "permissions", "cors", "versioning"]  # fmt: skip


def _value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 3 else 6)
    if kind == 6:
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind >= 7:
        return {chance.choice(FIELDS): _value(chance, depth + 1) for _ in range(chance.randrange(4))}
    simple: list[Any] = [None, True, -1, 1.5, chance.choice(NAMES), chance.choice(NUMBERS)]
    return simple[kind]


def _body(chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return b""
    if kind == 1:
        return chance.randbytes(chance.randrange(200))
    document = {chance.choice(FIELDS): _value(chance) for _ in range(chance.randrange(5))}
    text = json.dumps(document).encode()
    if kind == 2:
        return text[: chance.randrange(len(text) + 1)]
    if kind == 3:
        part = b"--x\r\ncontent-type: application/http\r\n\r\n" + text + b"\r\n--x\r\n\r\ndata\r\n--x--"
        return part[: chance.randrange(len(part) + 1)]
    return text


def _path(chance: random.Random, template: str, bucket: str) -> str:
    segments = []
    for segment in template.split("/"):
        if segment.startswith("{"):
            name, _, called = segment[1:].partition("}")
            likely = bucket if "ucket" in name else PROJECT if name == "project" else "it"
            value = chance.choice(NAMES) if chance.random() < 0.3 else likely
            segment = (quote(value, safe="") if chance.random() < 0.95 else "%ff") + called
        segments.append(segment)
    query = []
    for _ in range(min(chance.randrange(5), chance.randrange(5))):
        value = chance.choice([*NUMBERS, *WORDS, *NAMES])
        query.append(f"{chance.choice(QUERY)}={quote(value, safe='')}")
    return "/".join(segments) + ("?" + "&".join(query) if query else "")


@pytest.mark.parametrize("share", range(SHARES))
def test_every_generated_request_is_answered_and_none_is_the_emulator_s_fault(
    emulator: Running, bucket: str, share: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert emulator.inside is not None
    chance = random.Random(share)
    routes = [route for route in emulator.inside.router.routes if "_emulator" not in route.template]
    served = [route for route in routes if not is_unserved(route)]
    emulator.put(bucket, "it", b"something")
    connection = http.client.HTTPConnection(emulator.url.split("://")[1], timeout=120)
    seen: dict[int, int] = {}
    for number in range(COUNT // SHARES):
        route = chance.choice(served if chance.random() < 0.8 else routes)
        verb = route.verb if chance.random() < 0.8 else chance.choice(VERBS)
        path = _path(chance, route.template, bucket)
        headers = {name: chance.choice(values) for name, values in HEADERS.items() if chance.random() < 0.12}
        body = _body(chance) if verb not in ("GET", "HEAD") else None
        connection.request(verb, path.replace("\n", "%0A"), body, headers)
        answer = connection.getresponse()
        answer.read()
        seen[answer.status] = seen.get(answer.status, 0) + 1
        assert answer.status < 500 or answer.status in (501, 503), (share, number, verb, path, headers, body)
    connection.close()
    assert "bug in" not in capfd.readouterr().err
    assert {200, 400, 404, 501} <= set(seen), seen
    assert seen[200] > 50, seen
