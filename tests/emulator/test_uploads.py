"""Uploads: media, multipart, resumable."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import os
import socket

import pytest

from outlast_emulator.testing import Answer, Running

BLOCK = 256 * 1024


def _begin(
    emulator: Running, bucket: str, name: str = "it", more: str = "", body: dict[str, object] | None = None
) -> str:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=resumable&name={name}{more}"
    answer = emulator.call("POST", path, body or {})
    assert answer.status == 200, answer.body
    return answer.headers["location"].removeprefix(emulator.url)


def _put(emulator: Running, session: str, data: bytes, span: str) -> Answer:
    return emulator.call("PUT", session, data, {"content-range": f"bytes {span}"})


def _multipart(line: bytes, data: bytes, metadata: bytes = b'{"name": "it", "metadata": {"a": "b"}}') -> bytes:
    parts = [
        b"--==b==",
        b"Content-Type: application/json",
        b"",
        metadata,
        b"--==b==",
        b"Content-Type: text/plain",
        b"",
        data,
        b"--==b==--",
    ]
    return line.join(parts)


@pytest.mark.parametrize("line", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"ends in CR\r", b"ends in CRLF\r\n", b"\n--==b=", os.urandom(3_000_000), b"\r\n" * 500_000],
    ids=["empty", "one", "CR", "CRLF", "nearly a boundary", "large", "lines"],
)
def test_a_multipart_upload_keeps_every_byte(emulator: Running, bucket: str, line: bytes, data: bytes) -> None:
    answer = emulator.call(
        "POST",
        f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart",
        _multipart(line, data),
        {"content-type": "multipart/related; boundary='==b=='"},
    )

    assert answer.status == 200, answer.body
    assert emulator.get(bucket, "it", alt="media").body == data
    found = emulator.get(bucket, "it").json()
    assert (found["metadata"], found["contentType"]) == ({"a": "b"}, "text/plain")
    assert found["md5Hash"] == base64.b64encode(hashlib.md5(data).digest()).decode()


@pytest.mark.parametrize("cut", [5, 30, 60, 90, 110, 125])
def test_a_multipart_body_that_ends_early_is_refused(emulator: Running, bucket: str, cut: int) -> None:
    answer = emulator.call(
        "POST",
        f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart",
        _multipart(b"\r\n", b"data")[:cut],
        {"content-type": "multipart/related; boundary==="},
    )

    assert answer.status == 400
    assert emulator.get(bucket, "it").status == 404


@pytest.mark.parametrize("place", ["metadata", "x-goog-hash", "content-md5"])
@pytest.mark.parametrize("right", [True, False])
def test_checksums_that_are_sent_are_checked(emulator: Running, bucket: str, place: str, right: bool) -> None:
    md5 = base64.b64encode(hashlib.md5(b"data" if right else b"atad").digest()).decode()
    headers = {"content-type": "multipart/related; boundary===b=="}
    metadata = b'{"name": "it"}'
    if place == "metadata":
        metadata = b'{"name": "it", "md5Hash": "%b"}' % md5.encode()
    else:
        headers[place] = f"md5={md5}" if place == "x-goog-hash" else md5

    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart"
    answer = emulator.call("POST", path, _multipart(b"\r\n", b"data", metadata), headers)

    assert answer.status == (200 if right else 400)
    assert emulator.get(bucket, "it").status == (200 if right else 404)


def test_a_wrong_crc32c_is_refused_and_the_right_one_is_answered(emulator: Running, bucket: str) -> None:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"

    assert emulator.call("POST", path, b"123456789", {"x-goog-hash": "crc32c=AAAAAA=="}).status == 400
    answer = emulator.call("POST", path, b"123456789", {"x-goog-hash": "crc32c=4waSgw=="})

    assert answer.json()["crc32c"] == "4waSgw=="


def test_a_large_object_is_streamed_in_chunks_of_unknown_number(emulator: Running, bucket: str) -> None:
    piece = os.urandom(100_000)
    connection = http.client.HTTPConnection(emulator.url.split("://")[1])
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
    connection.request("POST", path, iter([piece] * 50), encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()

    assert emulator.get(bucket, "it", alt="media").body == piece * 50


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(emulator: Running, bucket: str) -> None:
    for size in (10, 5_000_000):
        with socket.create_connection(emulator.url.split("://")[1].split(":")) as sock:  # type: ignore[arg-type]
            head = f"POST /upload/storage/v1/b/{bucket}/o?uploadType=media&name=it{size} HTTP/1.1\r\nhost: x\r\n"
            sock.sendall(f"{head}content-length: {size}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            sock.sendall(b"x" * size)
            assert sock.recv(100).startswith(b"HTTP/1.1 200")


def test_a_body_that_is_sent_compressed_is_stored_as_it_was(emulator: Running, bucket: str) -> None:
    data = b"words and words " * 100_000
    headers = {"content-encoding": "gzip", "content-type": "multipart/related; boundary='==b=='"}
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart"

    assert emulator.call("POST", path, gzip.compress(_multipart(b"\r\n", data)), headers).status == 200

    found = emulator.get(bucket, "it").json()
    assert (found["size"], found.get("contentEncoding")) == (str(len(data)), None)
    assert emulator.get(bucket, "it", alt="media").body == data
    for broken in (b"no gzip", gzip.compress(_multipart(b"\r\n", data))[:-100]):
        assert emulator.call("POST", path, broken, headers).status == 400


# ------------------------------------------------------------------------------------------------------------ resumable


@pytest.mark.parametrize("place", ["/upload", "/resumable/upload"])
def test_a_resumable_upload_in_parts_becomes_an_object_at_its_last_byte(
    emulator: Running, bucket: str, place: str
) -> None:
    data = os.urandom(3 * BLOCK + 17)
    total = len(data)
    begun = emulator.call(
        "POST",
        f"{place}/storage/v1/b/{bucket}/o?uploadType=resumable",
        {"name": "it", "metadata": {"k": "v"}},
        {"x-upload-content-type": "application/x-test", "x-upload-content-length": str(total)},
    )
    session = begun.headers["location"].removeprefix(emulator.url)

    first = _put(emulator, session, data[: 2 * BLOCK], f"0-{2 * BLOCK - 1}/{total}")
    assert (first.status, first.headers["range"]) == (308, f"bytes=0-{2 * BLOCK - 1}")
    assert emulator.get(bucket, "it").status == 404
    asked = _put(emulator, session, b"", f"*/{total}")
    assert (asked.status, asked.headers["range"]) == (308, f"bytes=0-{2 * BLOCK - 1}")
    last = _put(emulator, session, data[2 * BLOCK :], f"{2 * BLOCK}-{total - 1}/{total}")

    assert last.status == 200
    assert last.json()["contentType"] == "application/x-test"
    assert last.json()["metadata"] == {"k": "v"}
    assert last.json()["md5Hash"] == base64.b64encode(hashlib.md5(data).digest()).decode()
    assert emulator.get(bucket, "it", alt="media").body == data
    # an answer that was lost is given again
    again = _put(emulator, session, b"", f"*/{total}")
    assert (again.status, again.json()["generation"]) == (200, last.json()["generation"])


def test_a_resumable_upload_of_unknown_length_ends_when_its_length_is_told(emulator: Running, bucket: str) -> None:
    data = os.urandom(BLOCK + 5)
    session = _begin(emulator, bucket)

    assert _put(emulator, session, data[:BLOCK], f"0-{BLOCK - 1}/*").status == 308
    assert _put(emulator, session, data[BLOCK:], f"{BLOCK}-{BLOCK + 4}/{BLOCK + 5}").status == 200

    assert emulator.get(bucket, "it", alt="media").body == data


def test_an_empty_resumable_upload_is_an_empty_object(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)

    assert _put(emulator, session, b"", "*/0").status == 200
    assert emulator.get(bucket, "it").json()["size"] == "0"


def test_only_whole_blocks_of_a_part_that_is_not_the_last_are_kept(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)

    answer = _put(emulator, session, b"x" * (BLOCK + 100), f"0-{BLOCK + 99}/*")

    assert (answer.status, answer.headers["range"]) == (308, f"bytes=0-{BLOCK - 1}")
    none = _put(emulator, _begin(emulator, bucket, "other"), b"x" * 100, "0-99/*")
    assert none.status == 308
    assert "range" not in none.headers


def test_bytes_that_were_sent_before_are_not_stored_twice(emulator: Running, bucket: str) -> None:
    data = os.urandom(2 * BLOCK)
    session = _begin(emulator, bucket)
    assert _put(emulator, session, data[:BLOCK], f"0-{BLOCK - 1}/{2 * BLOCK}").status == 308

    assert _put(emulator, session, data, f"0-{2 * BLOCK - 1}/{2 * BLOCK}").status == 200

    assert emulator.get(bucket, "it", alt="media").body == data


def test_a_gap_is_refused(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)

    answer = _put(emulator, session, b"x" * BLOCK, f"{BLOCK}-{2 * BLOCK - 1}/{2 * BLOCK}")

    assert answer.status == 503
    assert "exceeds already uploaded size of 0" in answer.json()["error"]["message"]


def test_a_connection_cut_in_the_middle_leaves_whole_blocks_to_go_on_from(emulator: Running, bucket: str) -> None:
    data = os.urandom(4 * BLOCK)
    session = _begin(emulator, bucket)
    fault = emulator.fault("storage.objects.insert", "cut", after_bytes=2 * BLOCK + 1000)

    with pytest.raises((ConnectionError, http.client.HTTPException)):
        emulator.call("PUT", session, data)
    assert emulator.used_up(fault)

    asked = _put(emulator, session, b"", f"*/{len(data)}")
    assert (asked.status, asked.headers["range"]) == (308, f"bytes=0-{2 * BLOCK - 1}")
    last = _put(emulator, session, data[2 * BLOCK :], f"{2 * BLOCK}-{4 * BLOCK - 1}/{4 * BLOCK}")
    assert last.status == 200
    assert emulator.get(bucket, "it", alt="media").body == data


def test_a_server_that_kept_less_than_it_was_sent_says_so(emulator: Running, bucket: str) -> None:
    data = os.urandom(3 * BLOCK)
    session = _begin(emulator, bucket)
    emulator.fault("storage.objects.insert", "short", after_bytes=BLOCK)

    lost = _put(emulator, session, data, f"0-{3 * BLOCK - 1}/{3 * BLOCK}")

    assert (lost.status, lost.headers["range"]) == (308, f"bytes=0-{BLOCK - 1}")
    assert _put(emulator, session, data[BLOCK:], f"{BLOCK}-{3 * BLOCK - 1}/{3 * BLOCK}").status == 200
    assert emulator.get(bucket, "it", alt="media").body == data


def test_a_lost_answer_to_the_last_part_is_found_by_a_question(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket, more="&ifGenerationMatch=0")
    emulator.fault("storage.objects.insert", "lost")
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        _put(emulator, session, b"data", "0-3/4")

    assert _put(emulator, session, b"", "*/4").status == 200


def test_a_session_whose_first_connection_hangs_says_so_and_serves_others(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)
    host, port = emulator.url.split("://")[1].split(":")
    with socket.create_connection((host, int(port))) as hanging:
        hanging.sendall(f"PUT {session} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nsome".encode())
        while _put(emulator, session, b"", "*/1000000").status != 503:
            pass
        assert emulator.put(bucket, "other", b"x").status == 200
    while _put(emulator, session, b"", "*/4").status == 503:
        pass
    assert _put(emulator, session, b"data", "0-3/4").status == 200


def test_an_object_and_the_end_of_its_upload_are_written_as_one(
    emulator: Running, bucket: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert emulator.inside is not None
    session = _begin(emulator, bucket, more="&ifGenerationMatch=0")

    def broken(*arguments: object) -> None:
        raise RuntimeError("as if the process ended here")

    with monkeypatch.context() as patched:
        patched.setattr(emulator.inside.storage.uploads, "complete", broken)
        assert _put(emulator, session, b"data", "0-3/4").status == 500
    assert "as if the process ended here" in capfd.readouterr().err

    assert emulator.get(bucket, "it").status == 404
    assert _put(emulator, session, b"", "*/4").status == 200
    assert emulator.get(bucket, "it", alt="media").body == b"data"


def test_a_session_expires(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)
    assert _put(emulator, session, b"", "*/4").status == 308

    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 8 * 24 * 3600})

    assert _put(emulator, session, b"data", "0-3/4").status == 410
    assert emulator.get(bucket, "it").status == 404


def test_a_session_that_was_cancelled_is_gone(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket)

    assert emulator.call("DELETE", session).status == 499
    assert _put(emulator, session, b"data", "0-3/4").status == 404
    assert _put(emulator, session.replace("upload_id=", "upload_id=x"), b"data", "0-3/4").status == 404


def test_a_wrong_md5_ends_the_session_without_an_object(emulator: Running, bucket: str) -> None:
    session = _begin(emulator, bucket, body={"md5Hash": base64.b64encode(bytes(16)).decode()})

    assert _put(emulator, session, b"data", "0-3/4").status == 400
    assert emulator.get(bucket, "it").status == 404


@pytest.mark.parametrize("right", [True, False])
def test_the_last_request_may_bring_the_checksum_of_the_whole(emulator: Running, bucket: str, right: bool) -> None:
    data = os.urandom(BLOCK + 7)
    session = _begin(emulator, bucket)
    assert _put(emulator, session, data[:BLOCK], f"0-{BLOCK - 1}/*").status == 308
    md5 = base64.b64encode(hashlib.md5(data if right else b"other").digest()).decode()
    headers = {"content-range": f"bytes {BLOCK}-{BLOCK + 6}/{BLOCK + 7}", "x-goog-hash": f"md5={md5}"}

    assert emulator.call("PUT", session, data[BLOCK:], headers).status == (200 if right else 400)
    assert emulator.get(bucket, "it").status == (200 if right else 404)


@pytest.mark.parametrize("span", ["x", "0-3", "3-0/4", "0-9/4", "*/x", "-1-3/4"])
def test_nonsense_in_content_range_is_refused(emulator: Running, bucket: str, span: str) -> None:
    assert _put(emulator, _begin(emulator, bucket), b"data", span).status == 400


@pytest.mark.parametrize("answered", [True, False], ids=["308", "cut"])
def test_a_total_that_was_said_once_cannot_become_another(emulator: Running, bucket: str, answered: bool) -> None:
    session, data, total = _begin(emulator, bucket), b"x" * BLOCK, 2 * BLOCK
    if answered:
        assert _put(emulator, session, data, f"0-{BLOCK - 1}/{total}").status == 308
    else:  # the first request has all, and is cut
        emulator.fault("storage.objects.insert", kind="cut", after_bytes=BLOCK + 1)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            _put(emulator, session, data * 2, f"0-{total - 1}/{total}")
    for span in (f"{BLOCK}-{total}/{total + 1}", f"*/{total + 1}"):
        refused = _put(emulator, session, b"x" * (BLOCK + 1) if span[0] != "*" else b"", span)
        assert (refused.status, str(total) in refused.json()["error"]["message"]) == (400, True)
    assert _put(emulator, session, b"", "*/*").headers["range"] == f"bytes=0-{BLOCK - 1}"
    assert _put(emulator, session, data, f"{BLOCK}-{total - 1}/{total}").json()["size"] == str(total)


def test_a_body_of_another_length_than_its_range_is_refused(emulator: Running, bucket: str) -> None:
    assert _put(emulator, _begin(emulator, bucket), b"data!", "0-3/4").status == 400
