"""The emulator: small objects a second, a large one, and how long it takes to start.

The client is as cheap as Python can make it (sockets, and only the status line is looked at): what is measured is the emulator.
Both are on the same cores.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row
from outlast_emulator.testing import Running, start_process

SMALL_BYTES = 10 * 1024
SMALL_COUNT = 2000
CONNECTIONS = 8
LARGE_BYTES = 1 << 30
ROUNDS = 5

SMALL_PER_SECOND_MIN = 1500
LARGE_MB_PER_SECOND_MIN = 400
START_SECONDS_MAX = 0.5


def rows(scratch: Path) -> Iterator[Row]:
    starts = [_start_seconds(scratch / f"start-{number}") for number in range(ROUNDS)]
    small_up, small_down, large_up, large_down = [], [], [], []
    for number in range(ROUNDS):
        child = start_process(scratch / f"data-{number}")
        try:
            emulator = Running(_url(child), scratch)
            emulator.make_bucket("bench")
            small_up.append(_rate(emulator, _put_small))
            small_down.append(_rate(emulator, _get_small))
            large_up.append(_large_up(emulator))
            large_down.append(_large_down(emulator))
        finally:
            child.terminate()
            child.wait()
    start = statistics.median(starts)
    yield Row("emulator: start", f"{start:.2f} s", "", "", f"{START_SECONDS_MAX:g} s", start <= START_SECONDS_MAX)
    for what, figures, least, unit in (
        ("emulator: objects of 10 KiB, up", small_up, SMALL_PER_SECOND_MIN, "a second"),
        ("emulator: objects of 10 KiB, down", small_down, SMALL_PER_SECOND_MIN, "a second"),
        ("emulator: one object of 1 GiB, up", large_up, LARGE_MB_PER_SECOND_MIN, "MB/s"),
        ("emulator: one object of 1 GiB, down", large_down, LARGE_MB_PER_SECOND_MIN, "MB/s"),
    ):
        figure = statistics.median(figures)
        yield Row(what, f"{figure:,.0f} {unit}", "", "", f"{least:,} {unit} or more", figure >= least)


def _start_seconds(data: Path) -> float:
    began_at = time.perf_counter()
    child = start_process(data)
    try:
        _url(child)
        return time.perf_counter() - began_at
    finally:
        child.terminate()
        child.wait()


def _url(child: subprocess.Popen[bytes]) -> str:
    import json

    assert child.stdout is not None
    return str(json.loads(child.stdout.readline())["url"])


def _connect(emulator: Running) -> socket.socket:
    host, port = emulator.url.split("://")[1].split(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _rate(emulator: Running, work: object) -> float:
    assert callable(work)
    threads = [threading.Thread(target=work, args=(emulator, number)) for number in range(CONNECTIONS)]
    began_at = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return SMALL_COUNT / (time.perf_counter() - began_at)


def _put_small(emulator: Running, worker: int) -> None:
    data = os.urandom(SMALL_BYTES)
    with _connect(emulator) as sock:
        for number in range(SMALL_COUNT // CONNECTIONS):
            target = f"/upload/storage/v1/b/bench/o?uploadType=media&name={worker}-{number}"
            sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {SMALL_BYTES}\r\n\r\n".encode() + data)
            _expect_ok(sock.recv(65536))


def _get_small(emulator: Running, worker: int) -> None:
    with _connect(emulator) as sock:
        for number in range(SMALL_COUNT // CONNECTIONS):
            target = f"/storage/v1/b/bench/o/{worker}-{number}?alt=media"
            sock.sendall(f"GET {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            _receive(sock, SMALL_BYTES)


def _large_up(emulator: Running) -> float:
    piece = os.urandom(1 << 20)
    with _connect(emulator) as sock:
        began_at = time.perf_counter()
        target = "/upload/storage/v1/b/bench/o?uploadType=media&name=large"
        sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {LARGE_BYTES}\r\n\r\n".encode())
        for _ in range(LARGE_BYTES // len(piece)):
            sock.sendall(piece)
        _expect_ok(sock.recv(65536))
        return LARGE_BYTES / 1e6 / (time.perf_counter() - began_at)


def _large_down(emulator: Running) -> float:
    with _connect(emulator) as sock:
        began_at = time.perf_counter()
        sock.sendall(b"GET /storage/v1/b/bench/o/large?alt=media HTTP/1.1\r\nhost: x\r\n\r\n")
        _receive(sock, LARGE_BYTES)
        return LARGE_BYTES / 1e6 / (time.perf_counter() - began_at)


def _receive(sock: socket.socket, size: int) -> None:
    buffer = bytearray(1 << 20)
    received = sock.recv_into(buffer)
    _expect_ok(bytes(buffer[:20]))
    left = size - (received - buffer.index(b"\r\n\r\n") - 4)
    while left > 0:
        received = sock.recv_into(buffer)
        if not received:
            sys.exit("the emulator closed the connection")
        left -= received


def _expect_ok(answer: bytes) -> None:
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"the emulator answered {answer[:200]!r}")
