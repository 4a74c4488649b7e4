"""What a network and a server can do to a request, and what becomes of it: the truth, or an error that says that it is not known."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import Denied, KeyMissing, NotFound, PreconditionFailed, StoreUnavailable
from outlast.google import transport as transport_module
from outlast.store.gcs_uploads import PIECE_BYTES
from outlast.store.registry import open_store
from outlast.store.store import CHUNK_BYTES, Store, Upload
from outlast_emulator.testing import Running, running
from tests import requests_sent

INSERT, GET, LIST, DELETE = (f"storage.objects.{verb}" for verb in ("insert", "get", "list", "delete"))

LARGE = os.urandom(1 << 20) * 20 + b"the end"


@pytest.fixture
def store(home: str) -> Store:
    return open_store(home)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules with shorter waits."""
    monkeypatch.setattr(transport_module, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(transport_module, "DELAY_SECONDS_MAX", 0.05)
    monkeypatch.setattr(transport_module, "STALL_SECONDS", 1.0)


def chunks_of(data: bytes) -> Iterator[bytes]:
    for offset in range(0, len(data), 1 << 20):
        yield data[offset : offset + (1 << 20)]


PASSING: list[dict[str, Any]] = [
    *({"kind": "error", "status": status} for status in (401, 408, 429, 500, 502, 503, 504)),
    {"kind": "error", "status": 503, "retry_after": 1},
    *({"kind": "error_after", "status": status} for status in (408, 500, 503)),
    {"kind": "lost"},
    {"kind": "truncated", "after_bytes": 3},
    {"kind": "stalled", "after_bytes": 3, "seconds": 3},
    {"kind": "stalled", "after_bytes": -1, "seconds": 3},
]


def names(fault: dict[str, Any]) -> str:
    return "-".join(str(value) for value in fault.values())


@pytest.mark.parametrize("fault", PASSING, ids=names)
def test_a_fault_that_passes_is_not_noticed(fault: dict[str, Any], store: Store, emulator: Running) -> None:
    """Each write is done once, whichever answer was lost: a count of ten is ten."""
    generation = store.put("count", b"0", if_generation=0)
    queued = [emulator.fault(method, **fault) for method in (INSERT, GET, LIST, DELETE)]
    for number in range(1, 4):
        generation = store.put("count", b"%d" % number, if_generation=generation)
        assert store.get("count") == (b"%d" % number, generation)
    assert [entry.key for entry in store.list("")] == ["count"]
    store.delete("count", if_generation=generation)
    with pytest.raises(KeyMissing):
        store.get("count")
    assert all(emulator.used_up(one) for one in queued)


@pytest.mark.parametrize("fault", PASSING, ids=names)
def test_a_create_whose_answer_was_lost_has_succeeded_once(
    fault: dict[str, Any], store: Store, home: str, emulator: Running
) -> None:
    queued = emulator.fault(INSERT, **fault)
    generation = store.put("k", b"mine", if_generation=0)
    assert emulator.used_up(queued)
    assert store.get("k") == (b"mine", generation)
    with pytest.raises(PreconditionFailed):
        open_store(home).put("k", b"mine", if_generation=0)  # the same bytes, and another's


def test_whose_create_came_second_is_told_so_although_its_first_try_was_not_answered(
    store: Store, home: str, emulator: Running
) -> None:
    open_store(home).put("k", b"same", if_generation=0)
    emulator.fault(INSERT, "error", status=503)
    with pytest.raises(PreconditionFailed):
        store.put("k", b"same", if_generation=0)


def test_a_swap_whose_answer_was_lost_and_that_was_overtaken_is_refused(
    store: Store, home: str, emulator: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Done, not answered, and already replaced by another: whoever asked must look for itself."""
    first = store.put("head", b"1", if_generation=0)
    other = open_store(home)

    def overtake(self: Any, tries: int) -> float:
        stored = other.get("head")
        other.put("head", b"theirs", if_generation=stored.generation)
        return 0.0

    monkeypatch.setattr(transport_module.Transport, "_delay", overtake)
    emulator.fault(INSERT, "lost")
    with pytest.raises(PreconditionFailed):
        store.put("head", b"ours", if_generation=first)
    assert store.get("head").data == b"theirs"


def test_a_delete_whose_answer_was_lost_was_done(store: Store, emulator: Running) -> None:
    generation = store.put("k", b"1", if_generation=0)
    emulator.fault(DELETE, "lost")
    store.delete("k", if_generation=generation)
    with pytest.raises(PreconditionFailed):
        store.delete("k", if_generation=generation)
    store.delete("k")


@pytest.mark.parametrize("status", [500, 503])
def test_what_does_not_pass_is_unknown_and_says_so(
    status: int, store: Store, emulator: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store._transport, "_retry_seconds", 0.3)  # type: ignore[attr-defined]
    for method in (INSERT, GET, LIST, DELETE):
        emulator.fault(method, "error", status=status, times=1000)
    calls: list[Callable[[], object]] = [
        lambda: store.put("k", b"1", if_generation=0),
        lambda: store.upload("k", [b"1"]),
        lambda: store.get("k"),
        lambda: list(store.list("")),
        lambda: store.delete("k"),
        lambda: b"".join(store.download("k")),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()


def test_a_cut_network_is_unavailable_and_heals(
    store: Store, emulator: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store._transport, "_retry_seconds", 0.3)  # type: ignore[attr-defined]
    store.put("k", b"1")
    emulator.cut_network("reset")
    with pytest.raises(StoreUnavailable) as caught:
        store.get("k")
    assert caught.value.exit_code == 6 and caught.value.hint
    emulator.cut_network("")
    assert store.get("k").data == b"1"


def test_a_refusal_is_told_at_once_and_is_no_outage(store: Store, emulator: Running) -> None:
    emulator.fault(GET, "error", status=403)
    with pytest.raises(Denied) as caught:
        store.get("k")
    assert caught.value.exit_code == 4


def test_a_content_that_broke_on_its_way_is_fetched_again(store: Store, emulator: Running) -> None:
    store.put("k", b"0123456789")
    queued = emulator.fault(GET, "broken", after_bytes=4, match={"query": {"alt": "media"}})
    assert store.get("k").data == b"0123456789"
    assert emulator.used_up(queued)
    emulator.fault(GET, "broken", after_bytes=4, match={"query": {"alt": "media"}})
    assert b"".join(store.download("k")) == b"0123456789"


# Large ones.


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "lost"},
        {"kind": "error", "status": 503},
        {"kind": "error", "status": 429},
        {"kind": "error_after", "status": 503},
        {"kind": "cut", "after_bytes": 3 << 20},
        {"kind": "short", "after_bytes": 2 << 20},
        {"kind": "stalled", "after_bytes": -1, "seconds": 3},
    ],
    ids=names,
)
@pytest.mark.parametrize("piece", [0, 1, 2, 3])
def test_an_upload_in_pieces_goes_on_where_the_server_has_got_to(
    fault: dict[str, Any], piece: int, store: Store, emulator: Running
) -> None:
    """0 is the request that begins the session, 3 the last piece."""
    queued = emulator.fault(INSERT, skip=piece, **fault)
    assert store.upload("large", chunks_of(LARGE)) == len(LARGE)
    assert hashlib.sha256(b"".join(store.download("large"))).digest() == hashlib.sha256(LARGE).digest()
    assert emulator.used_up(queued) or (piece == 0 and fault["kind"] in ("cut", "short"))  # it has no such body


def test_what_can_be_read_again_begins_anew_when_its_session_is_gone(store: Store, emulator: Running) -> None:
    emulator.switch(upload_expiry_seconds=0.0)
    healed: list[bool] = []

    def chunks() -> Iterator[bytes]:
        if healed:
            emulator.switch(upload_expiry_seconds=3600.0)
        healed.append(True)
        yield from chunks_of(LARGE)

    try:
        store.upload_many([Upload("large", chunks)])
    finally:
        emulator.switch(upload_expiry_seconds=7 * 24 * 3600.0)
    assert len(healed) == 2
    assert b"".join(store.download("large")) == LARGE


def test_a_put_of_many_pieces_has_its_condition_too(store: Store) -> None:
    generation = store.put("k", LARGE, if_generation=0)
    assert store.get("k") == (LARGE, generation)
    with pytest.raises(PreconditionFailed):
        store.put("k", LARGE, if_generation=0)
    assert store.put("k", LARGE[:-1], if_generation=generation) > generation


def test_an_upload_that_breaks_off_in_the_middle_leaves_nothing(store: Store) -> None:
    def breaking() -> Iterator[bytes]:
        yield from chunks_of(LARGE)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.upload("k", breaking())
    with pytest.raises(KeyMissing):
        store.get("k")


def test_several_go_up_and_come_down_at_a_time_each_whole(store: Store) -> None:
    contents = {f"k/{number:02}": LARGE[number : number + (number % 3) * PIECE_BYTES + number] for number in range(24)}
    told: list[int] = []
    store.upload_many((Upload(key, partial(chunks_of, contents[key])) for key in contents), told.append)
    assert told[-1] == sum(map(len, contents.values()))
    assert told == sorted(told)
    came = dict(zip(contents, (b"".join(one) for one in store.download_many(contents)), strict=True))
    assert came == contents


def test_the_first_error_of_several_uploads_is_raised_and_the_others_end(store: Store) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"1"
        raise ZeroDivisionError

    uploads = [Upload(f"k/{number}", lambda: chunks_of(LARGE)) for number in range(10)]
    with pytest.raises(ZeroDivisionError):
        store.upload_many([*uploads[:3], Upload("k/broken", breaking), *uploads[3:]])


def test_whoever_watches_several_uploads_may_end_them(store: Store) -> None:
    def ended(done: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.upload_many([Upload(f"k/{number}", lambda: chunks_of(LARGE)) for number in range(10)], ended)


def test_a_part_that_is_gone_is_missing_when_its_turn_comes(store: Store) -> None:
    store.upload("a", [b"1"])
    store.upload("c", [b"3"])
    came: list[bytes] = []
    with pytest.raises(KeyMissing):
        for one in store.download_many(["a", "b", "c"]):
            came.append(b"".join(one))
    assert came == [b"1"]


def test_what_is_given_up_does_not_spoil_what_comes_after_it_not_even_the_same_once_more(store: Store) -> None:
    store.upload("large", chunks_of(LARGE))
    store.upload("small", [b"1"])
    objects = store.download_many(["large", "small", "large"])
    assert next(next(objects)) == LARGE[:CHUNK_BYTES]
    assert [b"".join(one) for one in objects] == [b"1", LARGE]


def test_an_object_that_was_passed_over_is_never_read_as_if_it_had_ended(store: Store) -> None:
    store.upload("large", chunks_of(LARGE))
    objects = store.download_many(["large", "large"])
    first = next(objects)
    next(first)
    next(objects)
    with pytest.raises(RuntimeError):
        list(first)


# The rest.


def test_a_bucket_that_is_not_there_is_not_found_and_no_key_is_missing(emulator: Running) -> None:
    nowhere = open_store("gs://no-such-bucket-here")
    calls: list[Callable[[], object]] = [
        lambda: nowhere.get("k"),
        lambda: nowhere.put("k", b""),
        lambda: list(nowhere.list("")),
        lambda: nowhere.delete("k"),
    ]
    for call in calls:
        with pytest.raises(NotFound, match="no-such-bucket-here"):
            call()


def test_a_store_that_takes_one_write_a_second_of_a_name_is_waited_for(store: Store, emulator: Running) -> None:
    emulator.switch(write_limit=True)
    for number in range(3):
        store.put("beat", b"%d" % number)
    assert store.get("beat").data == b"2"


def test_its_time_is_the_servers(store: Store, emulator: Running) -> None:
    from outlast.clock import SYSTEM

    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 86400})
    try:
        assert abs(store.now() - SYSTEM.now() - 86400) < 3
    finally:
        emulator.call("POST", "/_emulator/clock", {"skew_seconds": 0})


def test_what_something_else_put_into_the_bucket_is_no_key_and_no_error(
    store: Store, emulator: Running, bucket: str
) -> None:
    store.put("a/b", b"1")
    for name in ("a//c", "folder/", "a/../c", "a\tb"):
        assert emulator.put(bucket, name, b"x").status == 200
    assert [entry.key for entry in store.list("")] == ["a/b"]


def test_an_object_that_was_stored_packed_is_read_as_it_is_stored(store: Store, emulator: Running, bucket: str) -> None:
    import gzip

    packed = gzip.compress(b"content" * 100)
    body = (
        b'--x\r\nContent-Type: application/json\r\n\r\n{"name": "k", "contentEncoding": "gzip"}\r\n'
        b"--x\r\nContent-Type: text/plain\r\n\r\n" + packed + b"\r\n--x--\r\n"
    )
    answer = emulator.call(
        "POST",
        f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart",
        body,
        {"content-type": "multipart/related; boundary=x"},
    )
    assert answer.status == 200, answer.body
    assert store.get("k").data == packed
    assert b"".join(store.download("k")) == packed


def test_every_request_is_one_that_google_documents(store: Store, emulator: Running) -> None:
    """The emulator refuses what the discovery documents do not know; the whole suite is looked at again at its end."""
    store.put("a", b"1", if_generation=0)
    store.upload("large", chunks_of(LARGE))
    b"".join(store.download("large"))
    list(store.list("", after="a", limit=2))
    store.purge(["a", "large", "b", "c"])
    store.now()
    assert any(one["method"] == LIST for one in requests_sent.sent())
    assert requests_sent.unknown_to_google() == []


def test_a_request_that_google_does_not_know_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(requests_sent.RECORD, str(tmp_path / "requests"))
    agent = {"user-agent": transport_module.USER_AGENT}
    with running(tmp_path / "data") as emulator:
        emulator.make_bucket("some-bucket")
        assert emulator.call("GET", "/storage/v1/b/some-bucket/o", headers=agent).status == 200
        assert requests_sent.unknown_to_google() == []
        assert emulator.call("GET", "/storage/v1/b/some-bucket/o?unheardOf=1", headers=agent).status == 400
        assert emulator.call("GET", "/some-bucket/of-the-xml-api", headers=agent).status == 404
    assert [one.partition(":")[0] for one in requests_sent.unknown_to_google()] == [
        "GET /storage/v1/b/some-bucket/o?unheardOf=1",
        "GET /some-bucket/of-the-xml-api?",
    ]
