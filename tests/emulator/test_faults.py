"""The control surface: faults, latency, a cut network, switches, clock, ledger."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running

BROKEN = (ConnectionError, http.client.HTTPException)
INSERT, GET = "storage.objects.insert", "storage.objects.get"


@pytest.mark.parametrize("status", [401, 403, 408, 412, 429, 500, 502, 503, 504])
def test_an_error_before_changes_nothing_and_is_used_up(emulator: Running, bucket: str, status: int) -> None:
    fault = emulator.fault(INSERT, "error", status=status, times=2)

    answers = [emulator.put(bucket, "it", b"x").status]
    assert emulator.get(bucket, "it").status == 404
    assert not emulator.used_up(fault)
    answers += [emulator.put(bucket, "it", b"x").status for _ in range(2)]

    assert answers == [status, status, 200]
    assert emulator.used_up(fault)


@pytest.mark.parametrize("retry_after", [None, 7])
def test_429_comes_with_retry_after_where_asked(emulator: Running, bucket: str, retry_after: float | None) -> None:
    emulator.fault(GET, "error", status=429, retry_after=retry_after)

    answer = emulator.get(bucket, "it")

    assert answer.json()["error"]["errors"][0]["reason"] == "rateLimitExceeded"
    assert answer.headers.get("retry-after") == (None if retry_after is None else "7")


def test_a_lost_answer_was_done_all_the_same(emulator: Running, bucket: str) -> None:
    fault = emulator.fault(INSERT, "lost")

    with pytest.raises(BROKEN):
        emulator.put(bucket, "it", b"done", ifGenerationMatch=0)

    assert emulator.used_up(fault)
    assert emulator.get(bucket, "it", alt="media").body == b"done"
    assert emulator.put(bucket, "it", b"again", ifGenerationMatch=0).status == 412


def test_an_error_after_was_done_all_the_same(emulator: Running, bucket: str) -> None:
    emulator.fault(INSERT, "error_after", status=503)

    assert emulator.put(bucket, "it", b"done").status == 503
    assert emulator.get(bucket, "it").status == 200


@pytest.mark.parametrize("size", [1000, 2_000_000])
def test_a_truncated_body_ends_before_its_length(emulator: Running, bucket: str, size: int) -> None:
    emulator.put(bucket, "it", os.urandom(size))
    emulator.fault(GET, "truncated", after_bytes=size // 2)

    with pytest.raises(http.client.IncompleteRead) as caught:
        emulator.get(bucket, "it", alt="media")

    assert len(caught.value.partial) == size // 2


@pytest.mark.parametrize("size", [1000, 2_000_000])
def test_a_broken_body_has_one_wrong_byte(emulator: Running, bucket: str, size: int) -> None:
    data = os.urandom(size)
    emulator.put(bucket, "it", data)
    emulator.fault(GET, "broken", after_bytes=size - 1)

    body = emulator.get(bucket, "it", alt="media").body

    assert body[:-1] == data[:-1]
    assert body[-1] == data[-1] ^ 0xFF
    assert emulator.get(bucket, "it", alt="media").body == data


@pytest.mark.parametrize("after", [-1, 0, 500])
def test_a_stalled_answer_stops_and_serves_others_meanwhile(emulator: Running, bucket: str, after: int) -> None:
    emulator.put(bucket, "it", bytes(1000))
    fault = emulator.fault(GET, "stalled", after_bytes=after)
    host, port = emulator.url.split("://")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        sock.sendall(f"GET /storage/v1/b/{bucket}/o/it?alt=media HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        received = b""
        while after >= 0 and (b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < after):
            received += sock.recv(65536)
        while not emulator.used_up(fault):
            pass
        assert emulator.get(bucket, "it", alt="media").status == 200
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            received += sock.recv(65536)
    assert len(received.partition(b"\r\n\r\n")[2]) == max(after, 0)


def test_a_fault_hits_only_what_it_names(emulator: Running, bucket: str) -> None:
    emulator.switch(write_limit=False)
    fault = emulator.fault(INSERT, "error", match={"bucket": bucket, "query": {"name": "*/head.json"}}, skip=1, times=1)

    assert emulator.put(bucket, "jobs/head.json", b"").status == 200
    assert emulator.put(bucket, "jobs/other", b"").status == 200
    assert emulator.put(bucket, "jobs/head.json", b"").status == 503
    assert emulator.put(bucket, "jobs/head.json", b"").status == 200
    assert emulator.used_up(fault)


def test_patterns_match_methods_and_object_names(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "a/b", b"")
    emulator.fault("storage.objects.*", "error", match={"object": "a/*"})

    assert emulator.get(bucket, "c").status == 404
    assert emulator.get(bucket, "a/b").status == 503
    assert emulator.get(bucket, "a/b").status == 200


@pytest.mark.parametrize("kind", ["media", "multipart", "resumable"])
def test_an_upload_is_matched_by_the_name_of_its_object_wherever_that_stands(
    emulator: Running, bucket: str, kind: str
) -> None:
    def upload(name: str) -> int:
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType={kind}"
        if kind == "media":
            return emulator.call("POST", f"{path}&name={name}", b"data").status
        if kind == "resumable":
            return emulator.call("POST", path, {"name": name}).status
        body = f'--x\r\n\r\n{{"contentType": "a/b", "name": "{name}"}}\r\n--x\r\n\r\ndata\r\n--x--'.encode()
        return emulator.call("POST", path, body, {"content-type": "multipart/related; boundary=x"}).status

    emulator.fault(INSERT, "error", match={"object": "jobs/*/head.json"})

    assert [upload("jobs/a/other"), upload("jobs/a/head.json"), upload("jobs/a/head.json")] == [200, 503, 200]


@pytest.mark.parametrize(
    "body",
    [
        {"method": "storage.*", "kind": "nonsense"},
        {"kind": "error"},
        {"method": "storage.*", "kind": "error", "colour": 1},
        {"method": "storage.*", "kind": "error", "times": "often"},
        {"method": "storage.*", "kind": "error", "times": True},
        {"method": 5, "kind": "error"},
        {"method": "storage.objects.gett", "kind": "error"},
        {"method": "storage.*", "kind": "error", "match": "it"},
        {"method": "storage.*", "kind": "error", "match": {"object": 5}},
        {"method": "storage.*", "kind": "error", "match": {"query": {"alt": 5}}},
        {"method": "storage.*", "kind": "error", "match": {"query": "alt"}},
        {"method": "storage.*", "kind": "error", "match": {"bucket": {"a": "b"}}},
    ],
)
def test_a_fault_that_cannot_be_is_refused_with_what_there_is(emulator: Running, body: dict[str, object]) -> None:
    answer = emulator.call("POST", "/_emulator/faults", body)

    assert answer.status == 400
    assert ("did you mean `storage.objects.get`?" in answer.body.decode()) is (
        body.get("method") == "storage.objects.gett"
    )
    assert emulator.call("GET", "/_emulator/faults").json() == {"faults": []}


@pytest.mark.parametrize("how", ["reset", "silent"])
def test_a_cut_network_cuts_everything_but_control(emulator: Running, bucket: str, how: str) -> None:
    emulator.put(bucket, "it", b"x")
    host, port = emulator.url.split("://")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as kept:
        emulator.cut_network(how)
        kept.sendall(f"GET /storage/v1/b/{bucket}/o/it HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        if how == "silent":
            kept.settimeout(0.3)
            with pytest.raises(TimeoutError):
                kept.recv(100)
        else:
            with pytest.raises(ConnectionError):
                raise ConnectionResetError if kept.recv(100) == b"" else AssertionError
        assert emulator.call("GET", "/_emulator/clock").status == 200
    emulator.cut_network("")
    assert emulator.get(bucket, "it").status == 200


def test_a_cut_network_cuts_a_transfer_that_is_under_way(emulator: Running, bucket: str) -> None:
    host, port = emulator.url.split("://")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=60) as sock:
        target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"
        sock.sendall(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 100000000\r\n\r\n".encode())
        sock.sendall(bytes(1_000_000))
        emulator.cut_network("reset")
        with pytest.raises(ConnectionError):
            while True:
                sock.sendall(bytes(1_000_000))
    emulator.cut_network("")
    assert emulator.get(bucket, "it").status == 404


def test_latency_delays_what_it_names_and_others_overtake_it(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"x")
    emulator.call("POST", "/_emulator/latency", {"method": GET, "seconds": 3600})
    order: list[str] = []

    def slow() -> None:
        emulator.get(bucket, "it")
        order.append("slow")

    thread = threading.Thread(target=slow)
    thread.start()
    emulator.call("GET", f"/storage/v1/b/{bucket}")
    order.append("quick")
    emulator.call("POST", "/_emulator/latency", {})
    thread.join()
    assert order == ["quick", "slow"]


def test_latency_takes_as_long_as_was_asked_for(emulator: Running, bucket: str) -> None:
    emulator.call("POST", "/_emulator/latency", {"method": GET, "seconds": 0.2, "jitter_seconds": 0.1})
    began_at = time.monotonic()

    assert emulator.get(bucket, "it").status == 404

    assert time.monotonic() - began_at >= 0.2


def test_the_clock_may_be_skewed_and_generations_never_go_back(emulator: Running, bucket: str) -> None:
    first = emulator.put(bucket, "it", b"1")
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": -86400})
    second = emulator.put(bucket, "it", b"2")

    went = parsedate_to_datetime(first.headers["date"]) - parsedate_to_datetime(second.headers["date"])
    assert 86000 < went.total_seconds() < 86800
    assert int(second.json()["generation"]) > int(first.json()["generation"])


def test_one_object_name_takes_one_write_a_second(emulator: Running, bucket: str) -> None:
    emulator.switch(write_limit=True)
    assert emulator.put(bucket, "it", b"1").status == 200

    answer = emulator.put(bucket, "it", b"2")

    assert (answer.status, answer.json()["error"]["errors"][0]["reason"]) == (429, "rateLimitExceeded")
    assert emulator.put(bucket, "other", b"1").status == 200
    patched = emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/it", {"contentType": "a/b"})
    assert patched.status == 429
    assert emulator.get(bucket, "it", alt="media").body == b"1"
    emulator.switch(write_limit=False)
    assert emulator.put(bucket, "it", b"2").status == 200


def test_a_switch_that_is_none_is_refused_with_the_list(emulator: Running) -> None:
    answer = emulator.call("POST", "/_emulator/switches", {"nonsense": True})

    assert answer.status == 400
    assert "write_limit" in answer.json()["error"]["message"]
    assert emulator.call("POST", "/_emulator/switches", {"write_limit": "yes"}).status == 400


def test_the_ledger_prices_storage_and_operations(emulator: Running, bucket: str) -> None:
    before = emulator.call("GET", "/_emulator/ledger").json()
    counted = emulator.call("GET", "/_emulator/operations").json()
    emulator.put(bucket, "it", bytes(1_000_000))
    emulator.get(bucket, "it")
    emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/none")

    after = emulator.call("GET", "/_emulator/ledger").json()
    operations = emulator.call("GET", "/_emulator/operations").json()

    assert set(after) == {"alive", "usd_per_hour", "usd_total"}
    entry = next(entry for entry in after["alive"] if entry["name"] == bucket)
    assert set(entry) == {"kind", "name", "zone", "usd_per_hour"}
    assert entry["usd_per_hour"] == pytest.approx(0.001 * 0.020 / 730)
    assert after["usd_total"] - before["usd_total"] >= 0.005 / 1000 + 0.0004 / 1000 - 1e-12
    assert operations["class_a"] - counted["class_a"] == 1
    assert operations["class_b"] - counted["class_b"] == 1
    emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/it")
    left = emulator.call("GET", "/_emulator/ledger").json()["alive"]
    assert bucket not in [entry["name"] for entry in left]


def test_requests_are_remembered_without_their_tokens(emulator: Running, bucket: str) -> None:
    path = f"/storage/v1/b/{bucket}/o/it?fields=name&access_token=secret&alt=json"
    emulator.call("GET", path, headers={"authorization": "Bearer secret", "x-a": "b"})

    last = emulator.call("GET", "/_emulator/requests").json()["requests"][-1]

    assert (last["method"], last["status"], last["headers"]["x-a"]) == (GET, 404, "b")
    assert last["query"] == "fields=name&access_token=...&alt=json"
    assert "secret" not in str(last)


def test_every_request_is_written_down_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_EMULATOR_RECORD", str(tmp_path / "record"))
    for number in range(2):
        with running(tmp_path / str(number)) as emulator:
            emulator.make_bucket("noted")
            emulator.get("noted", "it")

    lines = [json.loads(line) for line in (tmp_path / "record").read_text().splitlines()]

    expected = [("storage.buckets.insert", 200, ""), (GET, 404, "notFound")]
    assert [(line["method"], line["status"], line["reason"]) for line in lines] == expected * 2
