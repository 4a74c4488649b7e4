"""HTTP/1.1 on a socket: every legal form of an answer, and no illegal one."""

from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlast.google.exchange import Broken, exchange
from outlast.google.wire import Answer, Request

ASKED = Request("GET", "http://x/y", {"A": "b"})


def answered(raw: bytes, request: Request = ASKED, *, pieces: int = 1 << 20) -> tuple[Answer, bool, bytes]:
    """(answer, whether the connection is kept, what was sent) where the server sends this and hangs up."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        for offset in range(0, len(raw), pieces):
            theirs.sendall(raw[offset : offset + pieces])
        theirs.shutdown(socket.SHUT_WR)
        answer, keeps = exchange(ours, request, "x", "/y")
        theirs.settimeout(0.2)
        return answer, keeps, theirs.recv(1 << 20)


@pytest.mark.parametrize(
    ("raw", "status", "body", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", True),
        (b"HTTP/1.1 200\r\ncontent-length:5\r\n\r\nhello", 200, b"hello", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", False),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", 200, b"hello", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 308 Resume\r\nRange: bytes=0-9\r\nContent-Length: 0\r\n\r\n", 308, b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 412 No\r\nContent-Length: 2\r\n\r\nno", 412, b"no", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: v\r\n\r\n",
            200,
            b"hello world",
            True,
        ),
    ],
)
@pytest.mark.parametrize("pieces", [1, 7, 1 << 20])
def test_every_form_of_an_answer_is_read(raw: bytes, status: int, body: bytes, keeps: bool, pieces: int) -> None:
    answer, kept, sent = answered(raw, pieces=pieces)
    assert (answer.status, answer.body, kept) == (status, body, keeps)
    assert sent == b"GET /y HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ],
)
def test_what_is_no_answer_is_broken(raw: bytes) -> None:
    with pytest.raises(Broken):
        answered(raw)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
def test_noise_is_broken_or_an_answer_and_never_anything_else(noise: bytes) -> None:
    for raw in (
        noise,
        b"HTTP/1.1 200 OK\r\n" + noise,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + noise,
    ):
        try:
            answered(raw)
        except Broken:
            continue


def test_bytes_behind_an_answer_end_the_connection() -> None:
    _, keeps, _ = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK")
    assert not keeps


@pytest.mark.parametrize("body", [b"", b"x" * 10, b"x" * 300_000, [b"a" * 100_000, b"b" * 200_000], []])
def test_a_body_is_sent_whole_with_its_length(body: bytes | list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    got = bytearray()

    def read() -> None:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        while data := theirs.recv(1 << 16):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    with ours:
        exchange(ours, Request("PUT", "", {}, body), "x", "/")
        ours.shutdown(socket.SHUT_WR)
        reader.join()
    theirs.close()
    whole = body if isinstance(body, bytes) else b"".join(body)
    assert bytes(got) == b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(whole) + whole


def test_a_server_that_refuses_a_body_before_it_has_read_it_is_heard() -> None:
    server = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        connection, _ = server.accept()
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass
        connection.close()

    thread = threading.Thread(target=refuse)
    thread.start()
    with socket.create_connection(server.getsockname(), timeout=60) as ours:
        answer, keeps = exchange(ours, Request("PUT", "", {}, [bytes(1 << 20)] * 8), "x", "/")
    thread.join()
    server.close()
    assert (answer.status, keeps) == (413, False)


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/\x00", "/é"])
def test_an_address_that_is_none_is_not_sent(target: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Broken):
        exchange(ours, ASKED, "x", target)


def test_a_header_with_a_line_end_is_not_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Broken):
        exchange(ours, Request("GET", "", {"x-goog-user-project": "p\r\nX: y"}), "x", "/")


LARGE = b"x" * 300_000
LARGE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"


def test_a_large_answer_is_received_in_the_memory_that_was_given_for_it() -> None:
    ours, theirs = socket.socketpair()
    memory = bytearray(len(LARGE))
    with ours, theirs:
        ours.settimeout(60)
        sending = threading.Thread(target=theirs.sendall, args=(LARGE_HEAD + LARGE,))
        sending.start()
        answer, keeps = exchange(ours, Request("GET", "http://x/y", place=lambda size: memory), "x", "/y")
        sending.join()
        assert answer.body is memory
        assert (bytes(memory), keeps, ours.gettimeout()) == (LARGE, True, 60)


def test_a_large_answer_that_stands_still_is_given_up_and_one_that_ends_too_early_is_broken() -> None:
    for ends, raised in ((False, TimeoutError), (True, Broken)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(0.2)
            theirs.sendall(LARGE_HEAD + LARGE[:1000])
            if ends:
                theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(raised):
                exchange(ours, ASKED, "x", "/y")
            assert ours.gettimeout() == 0.2
