"""What was answered is still there after SIGKILL; what was not leaves no trace."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running, start_process


@contextmanager
def _process(data: Path) -> Iterator[tuple[Running, subprocess.Popen[bytes]]]:
    child = start_process(data)
    assert child.stdout is not None
    found = Running(json.loads(child.stdout.readline())["url"], data, pid=child.pid)
    try:
        yield found, child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _files(data: Path) -> list[Path]:
    return [path for path in (data / "storage" / "contents").rglob("*") if path.is_file()]


def test_everything_that_was_answered_survives_sigkill(tmp_path: Path) -> None:
    answered: dict[str, tuple[str, bytes]] = {}
    with _process(tmp_path) as (emulator, child):
        emulator.switch(write_limit=False)
        emulator.make_bucket("kept")
        stop = threading.Event()

        def work(worker: int) -> None:
            chance = random.Random(worker)
            number = 0
            while not stop.is_set():
                number += 1
                name = f"{worker}-{number % 7}"
                data = chance.randbytes(chance.choice([1, 5000, 50_000]))
                try:
                    answer = emulator.put("kept", name, data)
                except OSError:
                    return
                except Exception as error:  # http.client says in many ways that a server is gone
                    assert "http.client" in type(error).__module__, error
                    return
                assert answer.status == 200
                answered[name] = (answer.json()["generation"], data)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        while len(answered) < 28:
            assert child.poll() is None
        child.kill()
        stop.set()
        for thread in threads:
            thread.join()
    with running(tmp_path) as emulator:
        for name, (generation, data) in answered.items():
            found = emulator.get("kept", name).json()
            assert int(found["generation"]) >= int(generation)
            if found["generation"] == generation:
                assert emulator.get("kept", name, alt="media").body == data
        later = emulator.put("kept", "new", b"").json()["generation"]
        assert int(later) > max(int(generation) for generation, _ in answered.values())


def test_a_resumable_upload_goes_on_after_sigkill(tmp_path: Path) -> None:
    data = os.urandom(1_000_000)
    half = 512 * 1024
    with _process(tmp_path) as (emulator, _):
        emulator.make_bucket("kept")
        begun = emulator.call("POST", "/upload/storage/v1/b/kept/o?uploadType=resumable&name=it", {})
        session = begun.headers["location"].removeprefix(emulator.url)
        span = {"content-range": f"bytes 0-{half - 1}/{len(data)}"}
        assert emulator.call("PUT", session, data[:half], span).status == 308
    with _process(tmp_path) as (emulator, _):
        asked = emulator.call("PUT", session, b"", {"content-range": f"bytes */{len(data)}"})
        assert (asked.status, asked.headers["range"]) == (308, f"bytes=0-{half - 1}")
        assert emulator.call("PUT", session, b"", {"content-range": f"bytes */{len(data) + 1}"}).status == 400
        span = {"content-range": f"bytes {half}-{len(data) - 1}/{len(data)}"}
        ended = emulator.call("PUT", session, data[half:], span)
        assert ended.status == 200
    with running(tmp_path) as emulator:
        again = emulator.call("PUT", session, b"", {"content-range": f"bytes */{len(data)}"})
        assert (again.status, again.json()["generation"]) == (200, ended.json()["generation"])
        assert emulator.get("kept", "it", alt="media").body == data


def test_contents_that_lost_their_object_leave_no_file(tmp_path: Path) -> None:
    with running(tmp_path) as emulator:
        emulator.make_bucket("kept")
        emulator.switch(write_limit=False)
        for number in range(5):
            emulator.put("kept", "it", bytes(100_000 + number))
        emulator.put("kept", "other", bytes(100_000))
        assert emulator.put("kept", "other", bytes(100_000), ifGenerationMatch=1).status == 412
        emulator.call("DELETE", "/storage/v1/b/kept/o/other")
        assert len(_files(tmp_path)) == 1
    orphan = tmp_path / "storage" / "contents" / "01" / "1"
    orphan.write_bytes(b"left by a killed process")
    with running(tmp_path) as emulator:
        while orphan.exists():
            assert emulator.get("kept", "it").status == 200
        assert len(_files(tmp_path)) == 1


def test_data_is_private_and_belongs_to_one_emulator_at_a_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as emulator:
        emulator.make_bucket("kept")
        emulator.put("kept", "it", bytes(100_000))
        assert (data / "storage").stat().st_mode & 0o077 == 0
        assert all(path.stat().st_mode & 0o077 == 0 for path in _files(data))
        second = start_process(data)
        assert second.wait(60) == 2
        assert second.stdout is not None
        second.stdout.close()


def test_generations_never_go_back_even_if_the_clock_does_between_two_starts(tmp_path: Path) -> None:
    with running(tmp_path) as emulator:
        emulator.make_bucket("kept")
        emulator.call("POST", "/_emulator/clock", {"skew_seconds": 86400})
        before = int(emulator.put("kept", "it", b"x").json()["generation"])
    with running(tmp_path) as emulator:
        assert int(emulator.put("kept", "other", b"x").json()["generation"]) > before


def test_the_ledger_is_kept(tmp_path: Path) -> None:
    with running(tmp_path) as emulator:
        emulator.make_bucket("kept")
        spent = emulator.call("GET", "/_emulator/ledger").json()["usd_total"]
    with running(tmp_path) as emulator:
        assert emulator.call("GET", "/_emulator/ledger").json()["usd_total"] >= spent > 0


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_objects_buckets_and_metadata_are_as_before_after_a_restart(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    with running(tmp_path) as emulator:
        emulator.make_bucket("kept", location="europe-west4", labels={"a": "b"})
        emulator.put("kept", "it", data)
        before = [emulator.get("kept", "it").json(), emulator.call("GET", "/storage/v1/b/kept").json()]
        port = int(emulator.url.rsplit(":", 1)[1])
    with running(tmp_path, port=port) as emulator:
        assert [emulator.get("kept", "it").json(), emulator.call("GET", "/storage/v1/b/kept").json()] == before
        assert emulator.get("kept", "it", alt="media").body == data


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("kind", ["media", "multipart", "resumable"])
def test_a_large_object_is_never_held_in_memory(tmp_path: Path, kind: str) -> None:
    size = 300_000_000
    before, after = b"", b""
    headers = {}
    path = f"/upload/storage/v1/b/large/o?uploadType={kind}&name=it"
    if kind == "multipart":
        before = b"--x\r\n\r\n{}\r\n--x\r\n\r\n"
        after = b"\r\n--x--"
        headers = {"content-type": "multipart/related; boundary=x"}
    with _process(tmp_path) as (emulator, child):
        emulator.make_bucket("large")
        verb = "POST"
        if kind == "resumable":
            verb, path = "PUT", emulator.call("POST", path, {}).headers["location"].removeprefix(emulator.url)
        connection = http.client.HTTPConnection(emulator.url.split("://")[1])
        connection.putrequest(verb, path)
        for name, value in {**headers, "content-length": str(size + len(before) + len(after))}.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(before)
        for _ in range(size // 1_000_000):
            connection.send(bytes(1_000_000))
        connection.send(after)
        assert connection.getresponse().status == 200
        connection.close()
        connection = http.client.HTTPConnection(emulator.url.split("://")[1])
        connection.request("GET", "/storage/v1/b/large/o/it?alt=media")
        answer = connection.getresponse()
        received = 0
        while piece := answer.read(1_000_000):
            received += len(piece)
        connection.close()
        assert received == size
        status = Path(f"/proc/{child.pid}/status").read_text()
        peak_kib = int(status.split("VmHWM:")[1].split()[0])
        assert peak_kib < 150_000
