"""Packages from an index on the network: a real server on this machine, which asks for a login, breaks off, or lies."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from outlast.errors import Damaged, OutlastError, Unreachable, UsageError
from tests.environments.conftest import find_uv
from tests.environments.laptop import Laptop, run
from tests.environments.wheels import make_wheel

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]
LOGIN = "Basic " + base64.b64encode(b"me:s3cret").decode()


def plainly(request: BaseHTTPRequestHandler, data: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)


def refusing(request: BaseHTTPRequestHandler, data: bytes) -> None:
    """To us, not to the resolver."""
    if request.headers.get("User-Agent") == "outlast":
        request.send_error(403)
    else:
        plainly(request, data)


def lying(request: BaseHTTPRequestHandler, data: bytes) -> None:
    plainly(request, data[:-1] + b"x" if request.headers.get("User-Agent") == "outlast" else data)


def with_login(request: BaseHTTPRequestHandler, data: bytes) -> None:
    if request.headers.get("Authorization") == LOGIN:
        plainly(request, data)
    else:
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="index"')
        request.send_header("Content-Length", "0")
        request.end_headers()


class Breaking:
    """Breaks off in the middle of the first answers to us."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, request: BaseHTTPRequestHandler, data: bytes) -> None:
        if request.headers.get("User-Agent") == "outlast" and self.left:
            self.left -= 1
            request.connection.close()
            request.close_connection = True
        else:
            plainly(request, data)


@contextmanager
def index(folder: Path, answer: Answer) -> Iterator[str]:
    """The address of a simple index of the folder's wheels."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/").split("/")[-1]
            if self.path.startswith("/files/"):
                answer(self, (folder / name).read_bytes())
                return
            wheels = sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))
            if not wheels:
                self.send_error(404)
                return
            lines = (
                f'<a href="/files/{one.name}#sha256={hashlib.sha256(one.read_bytes()).hexdigest()}">{one.name}</a>'
                for one in wheels
            )
            body = f"<html><body>{''.join(lines)}</body></html>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.send_error(405)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def laptop(tmp_path: Path, links: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    find_uv()
    monkeypatch.delenv("NETRC", raising=False)
    one = Laptop(tmp_path, links, "uv")
    for name in ("alpha", "beta", "gamma"):
        make_wheel(links, name)
    one.write("train.py", "import alpha\n")
    one.write("requirements.txt", "alpha\nbeta\ngamma\n")
    return one


def told(laptop: Laptop, monkeypatch: pytest.MonkeyPatch, url: str, **more: str) -> None:
    (laptop.root / "programs").mkdir(exist_ok=True)
    (laptop.root / "programs" / "python3").symlink_to(os.path.realpath("/proc/self/exe"))
    settings = {
        "PATH": f"{laptop.root / 'programs'}:/usr/bin:/bin",
        "UV_DEFAULT_INDEX": f"http://{url}/simple",
        "UV_CACHE_DIR": str(laptop.root / "uv-cache"),
        "UV_HTTP_RETRIES": "0",
        **more,
    }
    monkeypatch.setattr("tests.environments.laptop.offline", lambda *_: settings)


@pytest.mark.parametrize("answer", [plainly, Breaking(2)], ids=["plainly", "breaking off twice"])
def test_what_an_index_has_is_downloaded(laptop: Laptop, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    with index(laptop.links, answer) as url:
        told(laptop, monkeypatch, url)
        equipment = laptop.equip(requirements=("requirements.txt",))
    assert run(laptop.place(equipment), "import alpha, beta, gamma; print(gamma.version)") == "1.0"


@pytest.mark.parametrize("kept", ["url", "netrc"])
def test_a_login_is_used_where_it_is_kept(laptop: Laptop, monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
    with index(laptop.links, with_login) as url:
        netrc = laptop.root / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password s3cret\n")
        more = {"NETRC": str(netrc)} if kept == "netrc" else {}
        told(laptop, monkeypatch, url if kept == "netrc" else f"me:s3cret@{url}", **more)
        equipment = laptop.equip(requirements=("requirements.txt",))
    assert len(equipment.packages) == 3
    home = b"".join(path.read_bytes() for path in (laptop.root / "home").rglob("*") if path.is_file())
    assert b"s3cret" not in home


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(refusing, UsageError), (lying, Damaged), (Breaking(1000), Unreachable)],
    ids=["no", "lie", "gone"],
)
def test_an_index_that_does_not_give_what_it_has_is_an_error_that_helps(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, answer: Answer, kind: type[OutlastError]
) -> None:
    with index(laptop.links, answer) as url:
        told(laptop, monkeypatch, url)
        with pytest.raises(kind) as error:
            laptop.equip(requirements=("requirements.txt",))
    assert "nothing is being spent" in error.value.state
    assert not list((laptop.root / "home").rglob("environments/*"))


def test_a_uv_that_is_too_old_gives_way_to_pip(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = laptop.root / "programs"
    told(
        laptop,
        monkeypatch,
        "127.0.0.1:9",
        PIP_FIND_LINKS=str(laptop.links),
        PIP_NO_INDEX="1",
        PIP_CONFIG_FILE=os.devnull,
    )
    (programs / "uv").write_text('#!/bin/sh\n[ "$1" = --version ] && echo "uv 0.5.0" && exit 0\nexit 2\n')
    (programs / "uv").chmod(0o755)
    assert laptop.equip(requirements=("requirements.txt",)).resolver.startswith("pip")
