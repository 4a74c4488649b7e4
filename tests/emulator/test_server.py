"""The HTTP server itself: what it takes, what it refuses, what it survives."""

from __future__ import annotations

import random
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from outlast_emulator.testing import Running


@contextmanager
def _connected(emulator: Running) -> Iterator[socket.socket]:
    host, port = emulator.url.split("://")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        yield sock


def _answer(sock: socket.socket, buffer: bytes = b"") -> tuple[int, dict[str, str], bytes, bytes]:
    """Status, headers, body, and what was received after it."""
    while b"\r\n\r\n" not in buffer:
        piece = sock.recv(65536)
        assert piece, buffer
        buffer += piece
    head, _, rest = buffer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {line.split(": ", 1)[0].lower(): line.split(": ", 1)[1] for line in lines[1:]}
    size = int(headers.get("content-length", "0"))
    while len(rest) < size:
        rest += sock.recv(65536)
    return int(lines[0].split(" ")[1]), headers, rest[:size], rest[size:]


def _all(sock: socket.socket) -> bytes:
    """Until it is closed, in order or not."""
    received = b""
    try:
        while data := sock.recv(1 << 16):
            received += data
    except ConnectionError:
        pass
    return received


def _closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(100) == b""
    except ConnectionError:
        return True


def test_one_connection_serves_many_requests_small_and_large(emulator: Running, bucket: str) -> None:
    with _connected(emulator) as sock:
        for number, size in enumerate([1, 400_000, 0, 300_000, 17]):
            target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=n{number}"
            sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode() + b"x" * size)
            assert _answer(sock)[0] == 200
        for number, size in enumerate([1, 400_000, 0, 300_000, 17]):
            sock.sendall(f"GET /storage/v1/b/{bucket}/o/n{number}?alt=media HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            assert _answer(sock)[2] == b"x" * size


def test_requests_that_are_sent_ahead_are_answered_in_order(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "small", b"small")
    emulator.put(bucket, "large", b"l" * 300_000)
    names = ["small", "large", "small", "large", "small"]
    with _connected(emulator) as sock:
        wanted = (f"GET /storage/v1/b/{bucket}/o/{name}?alt=media HTTP/1.1\r\nhost: x\r\n\r\n" for name in names)
        sock.sendall("".join(wanted).encode())
        rest = b""
        for name in names:
            status, _, body, rest = _answer(sock, rest)
            assert (status, body[:1], len(body)) == (200, name[:1].encode(), 5 if name == "small" else 300_000)


@pytest.mark.parametrize("chunked", [False, True], ids=["by length", "in chunks"])
def test_what_is_sent_right_behind_a_large_body_is_the_next_request(
    emulator: Running, bucket: str, chunked: bool
) -> None:
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
    data = b"x" * 700_000
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data) if chunked else data
    length = "transfer-encoding: chunked" if chunked else f"content-length: {len(data)}"
    after = f"GET /storage/v1/b/{bucket}?fields=name HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    with _connected(emulator) as sock:
        sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\n{length}\r\n\r\n".encode() + body + after)
        status, _, _, rest = _answer(sock)
        assert status == 200
        status, _, found, _ = _answer(sock, rest)
        assert (status, found) == (200, b'{"name":"%b"}' % bucket.encode())


def test_a_request_may_arrive_byte_by_byte(emulator: Running, bucket: str) -> None:
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
    with _connected(emulator) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello".encode():
            sock.sendall(bytes([byte]))
        assert _answer(sock)[0] == 200
    assert emulator.get(bucket, "it", alt="media").body == b"hello"


def test_http_1_0_and_connection_close_end_the_connection(emulator: Running) -> None:
    for version, header in (("1.0", "x: y"), ("1.1", "connection: close")):
        with _connected(emulator) as sock:
            sock.sendall(f"GET /storage/v1/b?project=p HTTP/{version}\r\n{header}\r\n\r\n".encode())
            status, headers, _, _ = _answer(sock)
            assert (status, headers["connection"]) == (200, "close")
            assert _closed(sock)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"GET nowhere HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n: no name\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: five\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_not_http_is_refused_and_hung_up_on(emulator: Running, request_bytes: bytes) -> None:
    with _connected(emulator) as sock:
        try:
            sock.sendall(request_bytes)
            assert 400 <= _answer(sock)[0] < 500
        except ConnectionError:
            pass  # hung up before all of it was sent
        else:
            assert _closed(sock)
    assert emulator.call("GET", "/storage/v1/b?project=p").status == 200


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"5\r\nhello_\r\n", b"5" * 5000, b"-1\r\n", b"\r\n"])
def test_malformed_chunks_are_refused_end_the_connection_and_store_nothing(
    emulator: Running, bucket: str, chunks: bytes
) -> None:
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
    with _connected(emulator) as sock:
        sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode() + chunks)
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # hung up on already
        answer = _all(sock)
    assert answer.startswith(b"HTTP/1.1 400") or len(chunks) == 5000, "what was sent and never read may take it away"
    assert emulator.get(bucket, "it").status == 404


def test_an_upload_whose_client_goes_away_stores_nothing(emulator: Running, bucket: str) -> None:
    for size in (1000, 5_000_000):
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
        with _connected(emulator) as sock:
            sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode())
            sock.sendall(b"x" * (size // 2))
        assert emulator.get(bucket, "it").status == 404


def test_clients_that_leave_in_the_middle_of_an_answer_harm_nobody(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", bytes(20_000_000))
    for _ in range(20):
        with _connected(emulator) as sock:
            sock.sendall(f"GET /storage/v1/b/{bucket}/o/it?alt=media HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            sock.recv(1000)
    assert len(emulator.get(bucket, "it", alt="media").body) == 20_000_000


def test_many_connections_at_once_are_all_served(emulator: Running, bucket: str) -> None:
    wrong: list[Any] = []

    def work(worker: int) -> None:
        chance = random.Random(worker)
        for number in range(20):
            size = chance.choice([0, 10, 20_000, 300_000])
            name = f"{worker}-{number}"
            data = bytes([worker]) * size
            put = emulator.put(bucket, name, data).status
            got = emulator.get(bucket, name, alt="media").body
            if put != 200 or got != data:
                wrong.append((name, put, len(got)))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_writers_of_one_name_with_a_condition_win_one_at_a_time(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"0")
    done: list[int] = []

    def work() -> None:
        for _ in range(20):
            while True:
                found = emulator.get(bucket, "it").json()
                number = int(emulator.get(bucket, "it", alt="media").body)
                if emulator.get(bucket, "it").json()["generation"] != found["generation"]:
                    continue
                answer = emulator.put(bucket, "it", str(number + 1).encode(), ifGenerationMatch=found["generation"])
                if answer.status == 200:
                    done.append(number)
                    break
                assert answer.status == 412

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert emulator.get(bucket, "it", alt="media").body == b"100"
    assert sorted(done) == list(range(100))


def test_the_same_port_speaks_tls(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"x" * 400_000)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with _connected(emulator) as plain, context.wrap_socket(plain) as sock:
        for _ in range(2):
            sock.sendall(f"GET /storage/v1/b/{bucket}/o/it?alt=media HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            assert len(_answer(sock)[2]) == 400_000


def test_a_client_that_trusts_the_certificate_verifies_it(emulator: Running) -> None:
    from outlast_emulator.wire.certificate import Tls

    tls = Tls(emulator.data / "tls")
    tls.ensure()
    context = ssl.create_default_context(cafile=tls.certificate_path)
    with _connected(emulator) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
        sock.sendall(b"GET /storage/v1/b?project=p HTTP/1.1\r\nhost: x\r\n\r\n")
        assert _answer(sock)[0] == 200
    assert tls.certificate_path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("path", ["/", "/nowhere/at/all", "/storage/v1/x", "/storage/v2/b", "/b%ff"])
def test_paths_that_lead_nowhere_are_4xx(emulator: Running, path: str) -> None:
    assert 400 <= emulator.call("PATCH", path, {}).status < 500


def test_a_body_that_is_no_json_is_refused_as_google_refuses_it(emulator: Running, bucket: str) -> None:
    for body in (b"{", b"[]", b'{"name": "\\ud800"}', b'"x"', b"\xff", b"[" * 100_000, b'{"name": ' * 5000):
        answer = emulator.call("POST", f"/storage/v1/b?project={emulator.project}", body)
        assert (answer.status, answer.json()["error"]["errors"][0]["reason"]) == (400, "parseError")


def test_a_type_with_line_ends_does_not_add_headers_to_the_answer(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"x")
    emulator.call(
        "PATCH", f"/storage/v1/b/{bucket}/o/it", {"contentType": "a/b\r\nx-injected: yes", "cacheControl": "ä\n"}
    )

    answer = emulator.get(bucket, "it", alt="media")

    assert (answer.status, answer.body) == (200, b"x")
    assert "x-injected" not in answer.headers
