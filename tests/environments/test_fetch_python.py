"""A rented machine whose image lacks the job's Python gets one: by uv, of the machine or of the package index."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from outlast.errors import NotFound
from outlast.machine.fetch_python import fetch_python

UV = """#!/bin/sh
[ "$UV_PYTHON_PREFERENCE" = only-managed ] || exit 9
mkdir -p "$UV_PYTHON_INSTALL_DIR"
case "$2 $3 $4" in
  "install 3.77 ") echo "no download for 3.77" >&2; exit 2 ;;
  "install "*) ln -sf %s "$UV_PYTHON_INSTALL_DIR/python$3" ;;
  "find --no-project "*) echo "$UV_PYTHON_INSTALL_DIR/python$4" ;;
esac
"""


class Still:
    """A clock by which nobody waits."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def monotonic(self) -> float:
        return sum(self.slept)

    def now(self) -> float:
        return sum(self.slept)


@dataclass
class Index:
    url: str = ""
    wheels: dict[str, bytes] = field(default_factory=dict)
    lies: bool = False
    asked: list[str] = field(default_factory=list)

    def add(self, version: str, program: str, machine: str = os.uname().machine) -> None:
        name = f"uv-{version}-py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.whl"
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr(f"uv-{version}.data/scripts/uvx", "#!/bin/sh\nexit 8\n")
            archive.writestr(f"uv-{version}.data/scripts/uv", program)
        self.wheels[name] = content.getvalue()

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if not path.endswith("/simple/uv/"):
            return self.wheels[path.rpartition("/")[2]]
        files = [
            {
                "filename": name,
                "url": f"../../files/{name}",
                "hashes": {"sha256": hashlib.sha256(b"" if self.lies else content).hexdigest()},
            }
            for name, content in self.wheels.items()
        ]
        return json.dumps({"files": [*files, {"filename": "uv-0.1.0.tar.gz", "url": "x", "hashes": {}}]}).encode()


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = served.answer(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def uv() -> str:
    return UV % os.path.realpath(sys.executable)


def test_the_newest_uv_of_the_index_fetches_it(tmp_path: Path, index: Index) -> None:
    index.add("0.9.30", "#!/bin/sh\nexit 7\n")
    index.add("0.10.2", uv())
    index.add("0.11.0", "#!/bin/sh\nexit 7\n", machine="other")
    environ = {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": index.url}
    assert fetch_python("3.98", tmp_path / "cache", environ, Still()) == os.path.realpath(sys.executable)
    assert len(index.asked) == 2
    fetch_python("3.98", tmp_path / "cache", environ, Still())
    assert len(index.asked) == 2  # uv itself is kept
    assert (tmp_path / "cache" / "tools" / "uv").stat().st_mode & 0o777 == 0o700


def test_a_uv_that_the_image_has_is_used(tmp_path: Path, index: Index) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text(uv())
    (tmp_path / "bin" / "uv").chmod(0o755)
    environ = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "PIP_INDEX_URL": index.url}
    assert fetch_python("3.98", tmp_path / "cache", environ, Still()) == os.path.realpath(sys.executable)
    assert not index.asked


def test_a_wheel_that_is_not_what_the_index_names_is_not_run(tmp_path: Path, index: Index) -> None:
    index.add("0.10.2", uv())
    index.lies = True
    clock = Still()
    with pytest.raises(NotFound, match=r"no `python3\.98`.*is not what `127\.0\.0\.1` says it is.*outlast image build"):
        fetch_python("3.98", tmp_path / "cache", {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": index.url}, clock)
    assert len(clock.slept) == 2
    assert not (tmp_path / "cache" / "tools").exists()


def test_what_uv_says_is_said(tmp_path: Path, index: Index) -> None:
    index.add("0.10.2", uv())
    with pytest.raises(NotFound, match=r"uv: no download for 3\.77"):
        fetch_python("3.77", tmp_path / "cache", {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": index.url}, Still())


def test_a_machine_that_reaches_no_index_says_so(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    with pytest.raises(NotFound, match="refused"):
        fetch_python("3.98", tmp_path / "cache", environ, Still())
