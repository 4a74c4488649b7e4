"""Large objects of known size: sent while they are read, and read again from where the server has got to."""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from outlast.errors import Damaged, KeyMissing, StoreError
from outlast.google import transport as transport_module
from outlast.google.connections import Connections
from outlast.google.wire import Request, SourceFailed, Stream
from outlast.store import gcs
from outlast.store.registry import open_store
from outlast.store.store import Store, Upload
from outlast_emulator.testing import Running
from tests.gcs.test_connections import HELLO, LIMITS, serving
from tests.gcs.test_faults import INSERT, LARGE, chunks_of, names
from tests.requests_sent import REFUSED_ON_PURPOSE


@pytest.fixture
def store(home: str) -> Store:
    return open_store(home)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(transport_module, "DELAY_SECONDS_MAX", 0.05)
    monkeypatch.setattr(transport_module, "STALL_SECONDS", 1.0)


class Read:
    """Counts how often it was begun, and whether it was read to its end: whoever hashes it on its way needs that."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.begun = self.ended = 0

    def __call__(self) -> Iterator[bytes]:
        self.begun += 1
        yield from chunks_of(self.data)
        self.ended += 1


def check(store: Store, key: str, data: bytes) -> None:
    assert hashlib.sha256(b"".join(store.download(key))).digest() == hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "lost"},
        {"kind": "error", "status": 401},
        {"kind": "error", "status": 503},
        {"kind": "error_after", "status": 503},
        {"kind": "cut", "after_bytes": (5 << 20) + 17},
        {"kind": "short", "after_bytes": 3 << 20},
        {"kind": "stalled", "after_bytes": -1, "seconds": 3},
    ],
    ids=names,
)
@pytest.mark.parametrize("request_number", [0, 1, 2])
def test_it_goes_on_where_the_server_has_got_to(
    fault: dict[str, Any], request_number: int, store: Store, emulator: Running
) -> None:
    """0 begins the session, 1 is nearly all of it, 2 the end."""
    queued = emulator.fault(INSERT, skip=request_number, **fault)
    read = Read(LARGE)
    store.upload_many([Upload("large", read, len(LARGE))])
    check(store, "large", LARGE)
    assert read.ended == 1
    assert emulator.used_up(queued) or fault["kind"] in ("cut", "short")  # only one of them has such a body
    again = request_number == 1 and fault["kind"] in ("error", "cut", "short")
    assert read.begun == 1 + again


@pytest.mark.parametrize("size", [(8 << 20) + 1, 9 << 20, (9 << 20) + (256 << 10), (9 << 20) + (256 << 10) + 1])
def test_any_size_arrives_whole(size: int, store: Store) -> None:
    store.upload_many([Upload("k", lambda: chunks_of(LARGE[:size]), size)])
    check(store, "k", LARGE[:size])


def test_chunks_of_any_size_make_the_same_object(store: Store) -> None:
    def odd() -> Iterator[bytes]:
        yield b""
        yield LARGE[: 3 << 20]
        for offset in range(3 << 20, len(LARGE), 777_777):
            yield LARGE[offset : offset + 777_777]

    store.upload_many([Upload("k", odd, len(LARGE))])
    check(store, "k", LARGE)


@pytest.mark.parametrize("off_by", [-1, 1, -(300 << 10), 300 << 10])
def test_a_source_of_another_size_than_announced_is_no_object(store: Store, off_by: int) -> None:
    with pytest.raises(Damaged, match="announced"):
        store.upload_many([Upload("k", lambda: chunks_of(LARGE), len(LARGE) + off_by)])
    with pytest.raises(KeyMissing):
        store.get("k")


def test_an_error_of_the_source_is_the_callers_and_leaves_nothing(store: Store) -> None:
    def breaking() -> Iterator[bytes]:
        yield from chunks_of(LARGE[: 10 << 20])
        raise OSError("the disk, and not the network")

    with pytest.raises(OSError, match="the disk"):
        store.upload_many([Upload("k", breaking, len(LARGE))])
    with pytest.raises(KeyMissing):
        store.get("k")


def test_what_changed_between_two_readings_is_refused(store: Store, emulator: Running) -> None:
    """The first half is from the first reading: the md5 of the second is not that of what arrived."""
    emulator.fault(INSERT, "cut", skip=1, after_bytes=10 << 20)
    readings = iter([LARGE, LARGE[::-1], LARGE[::-1], LARGE[::-1]])
    with pytest.raises(StoreError, match=r"(?i)md5"):
        store.upload_many([Upload(REFUSED_ON_PURPOSE, lambda: chunks_of(next(readings)), len(LARGE))])
    with pytest.raises(KeyMissing):
        store.get(REFUSED_ON_PURPOSE)


def test_a_gigabyte_is_never_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gcs, "THREADS", 4)
    chunk = LARGE[: 1 << 20]
    store.upload_many([Upload("warm", lambda: chunks_of(LARGE), len(LARGE))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store.upload_many([Upload(f"k/{n}", lambda: (chunk for _ in range(128)), 128 << 20) for n in range(4)])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10, "kibibytes"


def test_a_proxy_gets_it_with_its_length() -> None:
    with serving(HELLO) as (port, asked):
        wire = Connections({"http_proxy": f"http://127.0.0.1:{port}"})
        body = Stream(6, iter([b"abc", b"def"]))
        assert wire.send(Request("PUT", "http://storage.example.com/x", body=body), **LIMITS).body == b"hello"
        sent = b"".join(asked)
        assert b"content-length: 6\r\n" in sent.lower() and b"chunked" not in sent.lower()


def test_what_the_source_raises_is_not_taken_for_the_networks() -> None:
    def broken() -> Iterator[bytes]:
        yield b"abc"
        raise ConnectionResetError

    with serving(HELLO) as (port, _), pytest.raises(SourceFailed):
        Connections({}).send(Request("PUT", f"http://127.0.0.1:{port}/x", body=Stream(6, broken())), **LIMITS)
