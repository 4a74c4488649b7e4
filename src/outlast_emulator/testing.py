"""The emulator for tests: `with running() as emulator:` in this process, or `process=True` in one of its own.

As a pytest plugin (`pytest_plugins = ["outlast_emulator.testing"]`) it offers the fixture `emulator`: fresh for each test.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from outlast_emulator.variables import PROJECT, variables

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

CALL_SECONDS_MAX = 60.0
READY_SECONDS_MAX = 60.0


class Answer:
    """Status, headers (lower case) and body of one call."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """A running emulator, and the shortest way to ask something of it."""

    project = PROJECT

    def __init__(
        self, url: str, data: Path, *, pid: int | None = None, inside: Emulator | None = None, time_scale: float = 1.0
    ) -> None:
        self.url = url
        self.data = data
        self.pid = pid
        """Of its process; None: it runs in this one."""
        self.inside = inside
        """The emulator itself, where it runs in this process."""
        self.variables = variables(url, time_scale)

    def call(
        self, verb: str, path: str, body: bytes | dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.url.split("://")[1], timeout=CALL_SECONDS_MAX)
        try:
            sent = dict(headers or {})
            if isinstance(body, dict):
                body = json.dumps(body).encode()
                sent.setdefault("content-type", "application/json")
            connection.request(verb, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def fault(self, method: str, kind: str, **more: Any) -> str:
        """Queues a fault; its id."""
        answer = self.call("POST", "/_emulator/faults", {"method": method, "kind": kind, **more})
        assert answer.status == 200, answer.body
        return str(answer.json()["id"])

    def used_up(self, fault_id: str) -> bool:
        return bool(self.call("GET", f"/_emulator/faults/{fault_id}").json()["used_up"])

    def clear_faults(self) -> None:
        self.call("DELETE", "/_emulator/faults")

    def switch(self, **wanted: Any) -> None:
        answer = self.call("POST", "/_emulator/switches", wanted)
        assert answer.status == 200, answer.body

    def cut_network(self, how: str = "reset") -> None:
        """`how=""` heals it."""
        self.call("POST", "/_emulator/network", {"cut": bool(how), "how": how or "reset"})

    def make_bucket(self, name: str, **fields: Any) -> None:
        fields.setdefault("softDeletePolicy", {"retentionDurationSeconds": "0"})
        answer = self.call("POST", f"/storage/v1/b?project={PROJECT}", {"name": name, **fields})
        assert answer.status == 200, answer.body

    def put(self, bucket: str, name: str, data: bytes, **query: Any) -> Answer:
        query = {"uploadType": "media", "name": name, **query}
        return self.call("POST", f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}", data)

    def get(self, bucket: str, name: str, **query: Any) -> Answer:
        return self.call("GET", f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}?{urlencode(query)}")


@contextmanager
def running(
    data: Path | None = None, *, port: int = 0, time_scale: float = 1.0, process: bool = False
) -> Iterator[Running]:
    """An emulator that ends with the block; without `data` nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix="outlast-emulator-") as scratch:
        start = _beside if process else _inside
        with start(data or Path(scratch), port, time_scale) as found:
            yield found


@contextmanager
def _inside(data: Path, port: int, time_scale: float) -> Iterator[Running]:
    from outlast_emulator.emulator import Emulator
    from outlast_emulator.wire.certificate import Tls
    from outlast_emulator.wire.server import Server

    emulator = Emulator(data, time_scale=time_scale)
    server = Server(emulator, port=port, tls=Tls(data / "tls"))
    server.start()
    try:
        yield Running(server.url, data, inside=emulator, time_scale=time_scale)
    finally:
        server.stop()
        emulator.close()


@contextmanager
def _beside(data: Path, port: int, time_scale: float) -> Iterator[Running]:
    child = start_process(data, port, time_scale)
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"the emulator ended with exit code {child.wait()}")
        yield Running(json.loads(line)["url"], data, pid=child.pid, time_scale=time_scale)
    finally:
        child.terminate()
        child.wait(READY_SECONDS_MAX)
        child.stdout.close()
        if child.stdin is not None:
            child.stdin.close()


def start_process(data: Path, port: int = 0, time_scale: float = 1.0) -> subprocess.Popen[bytes]:
    """Its first line on stdout is JSON and says that it is ready. It ends, at the latest, with this process."""
    command = [sys.executable, "-m", "outlast_emulator", "--json", "--data", str(data), "--port", str(port)]
    return subprocess.Popen(
        [*command, "--time-scale", str(time_scale), "--end-with-stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


try:
    import pytest
except ImportError:  # the emulator itself needs no pytest
    pass
else:

    @pytest.fixture
    def emulator(tmp_path: Path) -> Iterator[Running]:
        with running(tmp_path / "emulator") as found:
            yield found
