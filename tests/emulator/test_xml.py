"""The XML API, where foreign clients do not look: conditions, checksums, parts that are wrong, errors and their codes."""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from outlast_emulator.storage import xml_uploads
from outlast_emulator.testing import Answer, Running, running


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    """Fresh for each test: switches, accounts and bindings are its own."""
    with running(tmp_path / "emulator") as found:
        yield found


MIB = 1 << 20


@pytest.fixture
def one(emulator: Running) -> Running:
    emulator.make_bucket("one")
    emulator.switch(write_limit=False)
    return emulator


def code(answer: Answer) -> str:
    return ElementTree.fromstring(answer.body).findtext("Code") or ""


def names(answer: Answer) -> list[str]:
    return re.findall(r"<Key>(.*?)</Key>", answer.body.decode())


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("asked", ["0", "right", "wrong", ""])
@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "COPY", "DELETE"])
def test_every_operation_keeps_its_precondition(one: Running, verb: str, asked: str, there: bool) -> None:
    one.put("one", "source", b"source")
    generation = one.put("one", "x", b"x").json()["generation"] if there else "77"
    said = {"0": "0", "right": generation, "wrong": str(int(generation) + 1)}.get(asked)
    headers = {"x-goog-if-generation-match": said} if said else {}
    if verb == "COPY":
        headers["x-goog-copy-source"] = "/one/source"
    answer = one.call("PUT" if verb == "COPY" else verb, "/one/x", b"new" if verb == "PUT" else None, headers)
    holds = not asked or (asked == "right" and there) or (asked == "0" and not there)
    writing = verb in ("PUT", "COPY")
    if there or writing:
        wanted = (204 if verb == "DELETE" else 200) if holds else 412
    else:
        wanted = 404
    assert answer.status == wanted, answer.body
    if answer.status == 412 and verb != "HEAD":
        assert code(answer) == "PreconditionFailed"


def test_contents_are_checked_by_md5_and_crc32c(one: Running) -> None:
    md5 = base64.b64encode(hashlib.md5(b"data").digest()).decode()
    good = one.call("PUT", "/one/a", b"data", {"content-md5": md5})
    assert good.status == 200 and f"md5={md5}" in good.headers["x-goog-hash"]
    crc32c = good.headers["x-goog-hash"].split("crc32c=")[1].split(",")[0]
    assert one.call("PUT", "/one/b", b"data", {"x-goog-hash": f"crc32c={crc32c}, md5={md5}"}).status == 200
    for headers in ({"content-md5": md5}, {"x-goog-hash": f"crc32c={crc32c}"}):
        bad = one.call("PUT", "/one/c", b"other", headers)
        assert bad.status == 400 and code(bad) == "BadDigest"
    assert code(one.call("PUT", "/one/c", b"other", {"content-md5": "?"})) == "InvalidDigest"
    assert one.call("GET", "/one/c").status == 404


def test_both_apis_speak_of_the_same_objects(one: Running) -> None:
    one.call("PUT", "/one/a%2Fb%20c+%C3%A4", b"data", {"x-goog-meta-step": "7", "content-type": "text/x"})
    found = one.get("one", "a/b c+ä").json()
    assert found["metadata"] == {"step": "7"} and found["contentType"] == "text/x" and found["size"] == "4"
    head = one.call("HEAD", "/one/a/b%20c+%C3%A4")
    assert head.headers["x-goog-meta-step"] == "7" and head.headers["content-length"] == "4" and head.body == b""
    assert head.headers["x-goog-generation"] == found["generation"]
    assert head.headers["etag"].strip('"') == hashlib.md5(b"data").hexdigest()


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-30", 206, b"0123456789"),
        ("bytes=5-500", 206, b"56789"),
        ("bytes=10-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=5-2", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
    ],
)
def test_ranges_are_read(one: Running, wanted: str, status: int, body: bytes | None) -> None:
    one.call("PUT", "/one/a", b"0123456789")
    answer = one.call("GET", "/one/a", headers={"range": wanted})
    assert answer.status == status
    assert answer.body == body if body is not None else code(answer) == "InvalidRange"


def test_what_is_stored_compressed_is_sent_plain_to_those_who_take_nothing_else(one: Running) -> None:
    packed = gzip.compress(b"plain")
    one.call("PUT", "/one/a", packed, {"content-encoding": "gzip"})
    assert one.call("GET", "/one/a", headers={"accept-encoding": "gzip"}).body == packed
    plain = one.call("GET", "/one/a", headers={"accept-encoding": "identity"})
    assert plain.body == b"plain" and "content-encoding" not in plain.headers
    assert plain.headers["x-goog-stored-content-encoding"] == "gzip"


def test_what_a_reader_has_already_is_not_sent_again(one: Running) -> None:
    tag = one.call("PUT", "/one/a", b"data").headers["etag"]
    assert one.call("GET", "/one/a", headers={"if-none-match": tag}).status == 304
    assert one.call("GET", "/one/a", headers={"if-match": tag}).status == 200
    assert one.call("GET", "/one/a", headers={"if-match": '"other"'}).status == 412
    now = one.call("GET", "/one/a").headers["last-modified"]
    assert one.call("GET", "/one/a", headers={"if-modified-since": now}).status == 304
    assert one.call("GET", "/one/a", headers={"if-unmodified-since": now}).status == 200
    assert one.call("PUT", "/one/a", b"x", {"if-none-match": "*"}).status == 412


def test_lists_are_paged_in_both_versions(one: Running) -> None:
    for name in ("a", "b/1", "b/2", "c&<", "d"):
        one.put("one", name, b"")
    assert names(one.call("GET", "/one?list-type=2")) == ["a", "b/1", "b/2", "c&amp;&lt;", "d"]
    first = one.call("GET", "/one?list-type=2&max-keys=2&delimiter=/")
    token = re.search(r"<NextContinuationToken>(.*?)</", first.body.decode())
    assert names(first) == ["a"] and b"<Prefix>b/</Prefix>" in first.body and token
    second = one.call("GET", f"/one?list-type=2&max-keys=2&delimiter=/&continuation-token={token[1]}")
    assert names(second) == ["c&amp;&lt;", "d"] and b"<IsTruncated>false" in second.body
    older = one.call("GET", "/one?max-keys=2&delimiter=/")
    assert b"<NextMarker>b/</NextMarker>" in older.body
    assert names(one.call("GET", "/one?max-keys=2&delimiter=/&marker=b/")) == ["c&amp;&lt;", "d"]
    assert names(one.call("GET", "/one?list-type=2&start-after=b/1")) == ["b/2", "c&amp;&lt;", "d"]
    assert names(one.call("GET", "/one?encoding-type=url")) == ["a", "b/1", "b/2", "c%26%3C", "d"]
    assert one.call("GET", "/one?max-keys=many").status == 400


def start(one: Running, name: str = "large") -> str:
    found = re.search(r"<UploadId>(.*?)</UploadId>", one.call("POST", f"/one/{name}?uploads", b"").body.decode())
    assert found
    return found[1]


def part(one: Running, upload: str, number: int, data: bytes, name: str = "large") -> str:
    answer = one.call("PUT", f"/one/{name}?partNumber={number}&uploadId={upload}", data)
    assert answer.status == 200, answer.body
    return answer.headers["etag"]


def complete(one: Running, upload: str, parts: list[tuple[int, str]], headers: dict[str, str] | None = None) -> Answer:
    rows = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>" for number, tag in parts)
    body = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()
    return one.call("POST", f"/one/large?uploadId={upload}", body, headers)


def test_parts_become_one_object_with_the_checksum_of_the_whole(one: Running) -> None:
    upload = start(one)
    tags = [(2, part(one, upload, 2, b"tail")), (1, part(one, upload, 1, b"replaced later"))]
    tags = [(1, part(one, upload, 1, b"x" * (5 * MIB))), tags[0]]
    assert f"<UploadId>{upload}</UploadId>".encode() in one.call("GET", "/one?uploads").body
    assert one.call("GET", f"/one/large?uploadId={upload}").body.count(b"<Part>") == 2
    assert one.call("GET", "/one/large").status == 404
    assert complete(one, upload, tags).status == 200
    data = b"x" * (5 * MIB) + b"tail"
    assert one.call("GET", "/one/large").body == data
    whole = one.call("PUT", "/one/whole", data).headers["x-goog-hash"]
    assert one.call("HEAD", "/one/large").headers["x-goog-hash"] == whole.split(",")[0]
    assert "md5Hash" not in one.get("one", "large").json()
    assert code(complete(one, upload, tags)) == "NoSuchUpload"


def test_parts_are_put_together_where_the_kernel_copies_to_sockets_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_sockets(*_: int) -> int:
        raise OSError(errno.ENOTSOCK, "as macOS answers")

    monkeypatch.setattr(os, "sendfile", only_sockets)
    data = bytes(range(256)) * (5 << 12)
    (tmp_path / "part").write_bytes(data)
    with open(tmp_path / "whole", "wb", buffering=0) as whole:
        for number in (1, 2):
            xml_uploads._append(whole.fileno(), xml_uploads.Part(number, len(data), "", 0, tmp_path / "part"))
    assert (tmp_path / "whole").read_bytes() == data * 2


def test_wrong_parts_are_refused_and_nothing_is_lost(one: Running) -> None:
    upload = start(one)
    first, second = part(one, upload, 1, b"a" * (5 * MIB)), part(one, upload, 2, b"b")
    third = part(one, upload, 3, b"c")
    assert code(complete(one, upload, [(2, second), (1, first)])) == "InvalidPartOrder"
    assert code(complete(one, upload, [(1, second)])) == "InvalidPart"
    assert code(complete(one, upload, [(9, second)])) == "InvalidPart"
    assert code(complete(one, upload, [(1, first), (2, second), (3, third)])) == "EntityTooSmall"
    assert code(complete(one, upload, [])) == "MalformedXML"
    assert code(one.call("POST", f"/one/large?uploadId={upload}", b"<nonsense")) == "MalformedXML"
    bomb = b'<!DOCTYPE a [<!ENTITY b "c">]><CompleteMultipartUpload>&b;</CompleteMultipartUpload>'
    assert code(one.call("POST", f"/one/large?uploadId={upload}", bomb)) == "MalformedXML"
    one.put("one", "large", b"there")
    parts = [(1, first), (2, second)]
    assert code(complete(one, upload, parts, {"x-goog-if-generation-match": "0"})) == "PreconditionFailed"
    assert complete(one, upload, parts).status == 200
    for number in ("0", "10001", "x"):
        assert code(one.call("PUT", f"/one/large?partNumber={number}&uploadId={start(one)}", b"")) == "InvalidArgument"


def test_parts_that_are_sent_at_the_same_time_do_not_disturb_one_another(one: Running) -> None:
    upload = start(one)
    numbers = [1 + number % 20 for number in range(200)]  # each part ten times over, too large for one thread

    def send(number: int) -> str:
        return part(one, upload, number, b"%d" % number * 150_000)

    with ThreadPoolExecutor(8) as pool:
        tags = dict(zip(numbers, pool.map(send, numbers), strict=True))
    assert code(complete(one, upload, sorted(tags.items()))) == "EntityTooSmall"
    assert complete(one, upload, [(7, tags[7])]).status == 200
    assert one.call("GET", "/one/large").body == b"7" * 150_000


def test_an_aborted_upload_leaves_nothing(one: Running) -> None:
    upload = start(one)
    part(one, upload, 1, b"a")
    assert one.call("DELETE", f"/one/other?uploadId={upload}").status == 404
    assert one.call("DELETE", f"/one/large?uploadId={upload}").status == 204
    assert code(one.call("DELETE", f"/one/large?uploadId={upload}")) == "NoSuchUpload"
    assert code(one.call("PUT", f"/one/large?partNumber=1&uploadId={upload}", b"a")) == "NoSuchUpload"
    assert list((one.data / "xml-uploads").iterdir()) == []


def test_what_is_not_known_is_refused_with_its_name(one: Running) -> None:
    for verb, path in (("PUT", "/one?acl"), ("PUT", "/one/x?acl"), ("GET", "/one?cors"), ("POST", "/one/x")):
        answer = one.call(verb, path, b"" if verb != "GET" else None)
        assert answer.status == 501 and code(answer) == "NotImplemented" and b"xml." in answer.body, (path, answer.body)
    sealed = one.call("PUT", "/one/x", b"x", {"x-goog-encryption-key": "k"})
    assert sealed.status == 501 and one.call("GET", "/one/x").status == 404


def test_buckets_are_made_found_and_deleted(one: Running) -> None:
    body = b"<CreateBucketConfiguration><LocationConstraint>us-east1</LocationConstraint></CreateBucketConfiguration>"
    assert one.call("PUT", "/two-two", body).status == 200
    assert code(one.call("PUT", "/two-two", body)) == "BucketAlreadyOwnedByYou"
    assert b"US-EAST1" in one.call("GET", "/two-two?location").body
    assert b"<Name>two-two</Name>" in one.call("GET", "/").body
    assert one.call("HEAD", "/two-two").status == 200
    one.put("two-two", "x", b"")
    assert code(one.call("DELETE", "/two-two")) == "BucketNotEmpty"
    one.call("DELETE", "/two-two/x")
    assert one.call("DELETE", "/two-two").status == 204
    assert code(one.call("GET", "/two-two")) == "NoSuchBucket"


# -------------------------------------------------------------------------------------------------- resumable uploads


def begin(one: Running, name: str = "slow", **headers: str) -> str:
    said = {"x-goog-resumable": "start", **{key.replace("_", "-"): value for key, value in headers.items()}}
    answer = one.call("POST", f"/one/{name}", b"", said)
    assert answer.status == 201, answer.body
    return answer.headers["location"].removeprefix(one.url)


def test_a_resumable_upload_goes_on_where_it_is_and_ends_as_an_object(one: Running) -> None:
    data, half = b"x" * 300_000 + b"y" * 300_000, 256 << 10
    session = begin(one, "a%20b/c", content_type="text/x", x_goog_meta_step="7")
    first = one.call("PUT", session, data[:half], {"content-range": f"bytes 0-{half - 1}/{len(data)}"})
    asked = one.call("PUT", session, b"", {"content-range": f"bytes */{len(data)}"})
    assert [(answer.status, answer.headers["range"]) for answer in (first, asked)] == [(308, f"bytes=0-{half - 1}")] * 2
    assert one.get("one", "a b/c").status == 404
    rest = {"content-range": f"bytes {half}-{len(data) - 1}/{len(data)}"}
    ended = one.call("PUT", session, data[half:], rest)
    assert (ended.status, ended.body, ended.headers["etag"]) == (200, b"", f'"{hashlib.md5(data).hexdigest()}"')
    again = one.call("PUT", session, b"", {"content-range": f"bytes */{len(data)}"})
    found = one.get("one", "a b/c").json()
    assert again.headers["x-goog-generation"] == ended.headers["x-goog-generation"] == found["generation"]
    assert (found["contentType"], found["metadata"]) == ("text/x", {"step": "7"})
    assert one.call("GET", "/one/a%20b/c").body == data


def test_a_resumable_upload_is_refused_by_its_precondition_when_it_begins_and_when_it_ends(one: Running) -> None:
    session = begin(one, "x", x_goog_if_generation_match="0")
    one.put("one", "x", b"other")
    assert code(one.call("PUT", session, b"mine")) == "PreconditionFailed"
    refused = one.call("POST", "/one/x", b"", {"x-goog-resumable": "start", "x-goog-if-generation-match": "0"})
    assert code(refused) == "PreconditionFailed"
    assert one.call("GET", "/one/x").body == b"other"


def test_a_resumable_upload_that_was_cancelled_or_is_of_another_object_is_gone(one: Running) -> None:
    session = begin(one)
    assert one.call("PUT", session.replace("slow", "fast"), b"x").status == 404
    assert one.call("DELETE", session).status == 499
    assert one.call("PUT", session, b"x").status == 404
    assert one.call("POST", "/one/x", b"", {"x-goog-resumable": "stop"}).status == 400


# ---------------------------------------------------------------------------------------------------- many at a time


def delete_many(one: Running, rows: str, headers: dict[str, str] | None = None) -> Answer:
    body = f'<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{rows}</Delete>'.encode()
    return one.call("POST", "/one?delete", body, headers)


def test_many_objects_are_deleted_at_once_and_each_by_its_generation(one: Running) -> None:
    for name in ("a&b", " c ", "d", "e"):
        one.put("one", name, b"x")
    generation = one.get("one", "e").json()["generation"]
    rows = "".join(f"<Object><Key>{name}</Key></Object>" for name in ("a&amp;b", " c ", "absent"))
    wrong = f"<Object><Key>d</Key><VersionId>{generation}</VersionId></Object>"
    right = f"<Object><Key>e</Key><VersionId>{generation}</VersionId></Object>"
    answer = delete_many(one, rows + wrong + right)
    assert answer.status == 200 and names(answer) == ["a&amp;b", " c ", "absent", "d", "e"]
    assert b"<Error>" not in answer.body
    assert names(one.call("GET", "/one?list-type=2")) == ["d"]
    nonsense = delete_many(one, "<Quiet>true</Quiet><Object><Key>d</Key><VersionId>x</VersionId></Object>")
    assert re.findall(r"<Code>(.*?)</Code>", nonsense.body.decode()) == ["InvalidArgument"]
    quiet = delete_many(one, "<Quiet>true</Quiet><Object><Key>d</Key></Object>")
    assert names(quiet) == [] and one.get("one", "d").status == 404


def test_many_objects_are_deleted_by_those_who_may_and_by_a_whole_request(one: Running) -> None:
    one.put("one", "a", b"x")
    row = "<Object><Key>a</Key></Object>"
    assert code(delete_many(one, "")) == code(delete_many(one, row * 1001)) == "MalformedXML"
    assert code(delete_many(one, "<Object><VersionId>1</VersionId></Object>")) == "MalformedXML"
    md5 = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    assert code(delete_many(one, row, {"content-md5": md5})) == "BadDigest"
    one.call("POST", "/_emulator/iam/users", {"email": "nobody@example.invalid", "roles": []})
    token = one.call("POST", "/_emulator/iam/tokens", {"email": "nobody@example.invalid"}).json()["access_token"]
    refused = delete_many(one, row, {"authorization": f"Bearer {token}"})
    assert refused.status == 200 and b"<Code>AccessDenied</Code>" in refused.body
    assert one.get("one", "a").status == 200


# ------------------------------------------------------------------------------------------------------ access lists


def test_access_lists_are_shown_where_access_is_not_uniform(one: Running) -> None:
    one.call("POST", "/upload/storage/v1/b/one/o?uploadType=media&name=open&predefinedAcl=publicRead", b"x")
    one.put("one", "plain", b"x")
    shown = one.call("GET", "/one/open?acl").body
    assert b"<Scope type='AllUsers'/><Permission>READ<" in shown and b"FULL_CONTROL" in shown
    assert one.call("GET", "/one/plain?acl").body == one.call("GET", "/one?defaultObjectAcl").body
    assert one.call("GET", "/one?acl").body.count(b"<Entry>") == 3
    assert code(one.call("GET", "/one/absent?acl")) == "NoSuchKey"
    one.call("PATCH", "/storage/v1/b/one", {"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}})
    assert code(one.call("GET", "/one/open?acl")) == code(one.call("GET", "/one?acl")) == "InvalidArgument"
