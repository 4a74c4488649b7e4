"""Generated requests whose names and types are right and whose values are not: they pass the validator and meet the operations."""

from __future__ import annotations

import gzip
import http.client
import json
import random
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from outlast_emulator.discovery.document import HERE
from outlast_emulator.testing import Running

COUNT = 1_500
SHARES = 3
DEPTH_MAX = 4

DOCUMENT: dict[str, Any] = json.loads(gzip.decompress((HERE / "storage.v1.json.gz").read_bytes()))
TEXTS = ["", "it", "other", "x" * 1200, "ä/ö", "a\nb", "\0", "\ud83d\ude00", "..", "*", "US", "us-east1", "STANDARD", "Delete",
         "enforced", "rsync0123456789", "=", "AAAAAA==", "1B2M2Y8AsgTpgAmY7PhCfg==", "text/plain; charset=x", "roles/owner"]  # fmt: skip
WHOLE = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
TIMES = ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-11-15T23:10:00+14:00", "0000-00-00T99:99:99Z"]


def of_type(chance: random.Random, schema: dict[str, Any], depth: int = 0) -> Any:
    """A value of the schema's type."""
    if "$ref" in schema:
        schema = DOCUMENT["schemas"][schema["$ref"]]
    if chance.random() < 0.05:
        return None
    kind, form = schema.get("type", "any"), schema.get("format", "")
    if kind == "object":
        return of_object(chance, schema, depth)
    if kind == "array":
        return [
            of_type(chance, schema["items"], depth + 1)
            for _ in range(chance.choice((0, 1, 1, 2, 40)) if depth < 2 else 1)
        ]
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "integer" or form in WHOLE:
        low, high = WHOLE[form or "int32"]
        number = chance.choice((low, high, 0, 1, -1 if low < 0 else 2, 31, 604800))
        return number if kind == "integer" else str(number)
    if form == "date-time":
        return chance.choice(TIMES)
    if form == "date":
        return "2026-02-31"
    return chance.choice(schema.get("enum", TEXTS) if chance.random() < 0.8 else TEXTS)


def of_object(chance: random.Random, schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    if depth > DEPTH_MAX:
        return {}
    names = chance.sample(sorted(properties), min(len(properties), chance.randrange(5)))
    found = {name: of_type(chance, properties[name], depth + 1) for name in names}
    if "additionalProperties" in schema:
        found.update(
            {chance.choice(TEXTS): of_type(chance, schema["additionalProperties"], depth + 1) for _ in range(2)}
        )
    return found


def query(chance: random.Random, parameters: dict[str, Any]) -> str:
    words = []
    for name, parameter in parameters.items():
        if parameter["location"] == "query" and (parameter.get("required") or chance.random() < 0.15):
            value = of_type(chance, parameter)
            words.append((name, str(value).lower() if isinstance(value, bool) else "" if value is None else value))
    return urlencode(words, errors="replace")


def in_path(chance: random.Random, template: str, bucket: str) -> str:
    parts = []
    for part in template.split("/"):
        if part.startswith("{"):
            value = bucket if "ucket" in part else chance.choice(("it", "other", "new"))
            part = quote(value if chance.random() < 0.9 else chance.choice(TEXTS), safe="", errors="replace")
        parts.append(part)
    return "/".join(parts)


def by_document(chance: random.Random, bucket: str) -> tuple[str, str, bytes | None, dict[str, str]]:
    method = DOCUMENT["methods"][chance.choice(sorted(DOCUMENT["methods"]))]
    paths = ["/storage/v1/" + method["path"], *method.get("uploads", {}).values()]
    path = in_path(chance, chance.choice(paths), bucket) + "?" + query(chance, method["parameters"])
    if "request" not in method:
        return method["httpMethod"], path, None, {}
    body = json.dumps(of_type(chance, {"$ref": method["request"]})).encode()
    if not path.startswith(("/upload", "/resumable")):
        return method["httpMethod"], path, body, {"content-type": "application/json"}
    kind = chance.choice(("media", "multipart", "resumable"))
    if kind == "multipart":
        body = b"--x\r\ncontent-type: application/json\r\n\r\n" + body + b"\r\n--x\r\n\r\nhello\r\n--x--\r\n"
    headers = {"content-type": "multipart/related; boundary=x" if kind == "multipart" else "application/json"}
    return method["httpMethod"], f"{path}&uploadType={kind}", body, headers


def by_identity(chance: random.Random, bucket: str) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Forms of the token endpoints and documents of the control surface, rightly named and wrongly filled."""
    if chance.random() < 0.5:
        grants = (
            "refresh_token",
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        )
        jwt = ".".join(chance.choice(("e30", "eyJpc3MiOiJ4In0", "A", "[]", "bnVsbA")) for _ in range(3))
        form = {
            "grant_type": chance.choice(grants),
            "client_id": "x",
            "refresh_token": chance.choice(TEXTS),
            "assertion": jwt,
        }
        form.update(
            {
                "audience": chance.choice(TEXTS),
                "subject_token": jwt,
                "access_token": f"ya29.emulated.{jwt}",
                "token": "x",
            }
        )
        path = chance.choice(("/token", "/v1/token", "/tokeninfo", "/revoke"))
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return "POST", path, urlencode(form, errors="replace").encode(), headers
    names = ("email", "roles", "role", "member", "resource", "scopes", "lifetime_seconds", "how", "disabled", "pool")
    odd: list[Any] = [
        *TEXTS,
        None,
        7,
        -1.5,
        True,
        [],
        ["x"],
        {},
        "a@b",
        "424242424242-compute@developer.gserviceaccount.com",
    ]
    document = {name: chance.choice(odd) for name in names if chance.random() < 0.6}
    what = chance.choice(("users", "service-accounts", "tokens", "bindings", "revoke", "machine", "federation"))
    return "POST", f"/_emulator/iam/{what}", json.dumps(document).encode(), {"content-type": "application/json"}


def by_xml(chance: random.Random, bucket: str) -> tuple[str, str, bytes | None, dict[str, str]]:
    queries = ["", "?uploads", "?uploadId=x", "?partNumber=1&uploadId=" + "a" * 40, "?list-type=2&max-keys=1", "?location",
               "?continuation-token=x", "?continuation-token=w7Y=", "?marker=%00&delimiter=/", "?generation=1", "?acl",
               "?delete", "?upload_id=x", "?defaultObjectAcl"]  # fmt: skip
    bodies = [
        b"",
        b"<a/>",
        b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>",
        b"<Delete><Object><Key>it</Key><VersionId>-</VersionId></Object><Quiet/></Delete>",
        b"\xff",
    ]
    headers = {"x-goog-resumable": chance.choice(("start", "\u00e4"))} if chance.random() < 0.2 else {}
    for name in ("x-goog-if-generation-match", "x-goog-copy-source", "x-goog-meta-step", "content-type", "x-goog-hash"):
        if chance.random() < 0.3:
            headers[name] = chance.choice(
                ("0", "1", f"/{bucket}/it", f"/{bucket}/it?generation=x", "\u00e4", "x" * 3000)
            )
    place = f"/{bucket}" if chance.random() < 0.3 else in_path(chance, f"/{bucket}/{{object}}", bucket)
    verb = chance.choice(("GET", "HEAD", "PUT", "POST", "DELETE"))
    if place == f"/{bucket}" and verb == "DELETE":
        verb = "GET"
    return verb, place + chance.choice(queries), chance.choice(bodies) if verb in ("PUT", "POST") else None, headers


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("make", [by_document, by_identity, by_xml])
def test_rightly_named_and_wrongly_filled_requests_are_never_the_emulators_fault(
    emulator: Running, bucket: str, make: Any, share: int, capfd: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(share)
    connection = http.client.HTTPConnection(emulator.url.split("://")[1], timeout=120)
    answered: set[int] = set()
    for number in range(COUNT // SHARES):
        if number % 50 == 0:
            emulator.put(bucket, "it", b"something")
        verb, path, body, headers = make(chance, bucket)
        connection.request(verb, path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        answered.add(answer.status)
        assert answer.status < 500 or answer.status == 501, (share, number, verb, path, body, headers, said)
    connection.close()
    assert "bug in" not in capfd.readouterr().err
    assert answered & {200, 204} and answered & {400, 404}, answered
