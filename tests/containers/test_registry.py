"""The registry's client: logins of every kind, blobs that break off, registries of others and the emulator's."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.clock import SYSTEM
from outlast.container.ahead import Ahead
from outlast.container.logins import login_for, may_be_told
from outlast.container.reference import parse_reference, registry_url
from outlast.container.registry import PIECE_BYTES, Registry, digest_of
from outlast.errors import Damaged, Denied, UsageError
from outlast.google.wire import Answer, NoAnswer, Request, Stream
from outlast_emulator.testing import running
from tests.cli.user import User
from tests.containers.base_image import VERSION
from tests.containers.registry_server import Server, serving

PASSWORD = "$2y$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O"
"""`sesame`, as htpasswd keeps it."""


class Patient:
    """A clock that does not wait."""

    now = staticmethod(SYSTEM.now)
    monotonic = staticmethod(SYSTEM.monotonic)

    def sleep(self, seconds: float) -> None:
        return


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "htpasswd").write_text(f"me:{PASSWORD}\n")
    with serving(tmp_path / "guarded", auth=f"auth: {{htpasswd: {{realm: x, path: {tmp_path}/htpasswd}}}}") as server:
        yield server


def logged_in(home: Path, host: str, password: str = "sesame") -> dict[str, str]:
    (home / ".docker").mkdir(parents=True)
    login = base64.b64encode(f"me:{password}".encode()).decode()
    (home / ".docker" / "config.json").write_text(json.dumps({"auths": {host: {"auth": login}}}))
    return {"HOME": str(home)}


def test_a_login_that_docker_has_kept_is_used(guarded: Server, tmp_path: Path) -> None:
    registry = Registry(guarded.host, environ=logged_in(tmp_path / "home", guarded.host))
    data = os.urandom(100_000)

    registry.put_blob("a/b", digest_of(data), len(data), lambda: (data[:70_000], data[70_000:]))

    assert registry.has_blob("a/b", digest_of(data))
    assert registry.get_blob("a/b", digest_of(data)) == data


@pytest.mark.parametrize("password", ["", "wrong"])
def test_without_the_right_login_the_answer_says_how_to_log_in(guarded: Server, tmp_path: Path, password: str) -> None:
    environ = logged_in(tmp_path / "home", guarded.host, password) if password else {"HOME": str(tmp_path)}

    with pytest.raises(Denied) as caught:
        Registry(guarded.host, environ=environ).has_blob("a/b", digest_of(b""))

    assert f"podman login {guarded.host}" in caught.value.hint


def test_a_credential_helper_is_asked(tmp_path: Path) -> None:
    helper = tmp_path / "docker-credential-box"
    helper.write_text('#!/bin/sh\nread host; echo "{\\"Username\\": \\"of\\", \\"Secret\\": \\"$host\\"}"\n')
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "config.json").write_text(json.dumps({"credHelpers": {"host.example": "box"}}))
    environ = {"DOCKER_CONFIG": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}

    assert login_for("host.example", environ) == ("of", "host.example")
    assert login_for("other.example", environ) is None


def test_a_token_of_google_goes_to_registries_of_google_alone(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}

    assert login_for("us-central1-docker.pkg.dev", environ, lambda: "t") == ("oauth2accesstoken", "t")
    assert login_for("eu.gcr.io", environ, lambda: "t") == ("oauth2accesstoken", "t")
    for host in ("docker.pkg.dev.example.com", "us-docker.pkg.dev.evil", "docker.io", "evil-gcr.io.example"):
        assert login_for(host, environ, lambda: "t") is None


def test_logins_are_not_told_to_places_without_tls() -> None:
    assert may_be_told("https://host.example", "https://login.example/token")
    assert may_be_told("http://127.0.0.1:5000", "http://127.0.0.1:5001/token")
    assert not may_be_told("https://host.example", "http://host.example/token")
    assert not may_be_told("https://host.example", "http://127.0.0.1/token")


class Breaking:
    """Breaks off every second exchange, before or after it was sent."""

    def __init__(self, host: str) -> None:
        from outlast.container.loopback import Loopback

        self._wire = Loopback()
        self._count = 0

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        self._count += 1
        if self._count % 4 == 1:
            raise NoAnswer("cut", sent=False)
        answer = self._wire.send(request, connect_seconds=connect_seconds, stall_seconds=stall_seconds)
        if self._count % 4 == 3 and not isinstance(request.body, Stream):
            raise NoAnswer("cut", sent=True)
        return answer


def test_what_breaks_off_is_tried_again(registry: Server, tmp_path: Path) -> None:
    client = Registry(registry.host, wire=Breaking(registry.host), clock=Patient())
    data = os.urandom(PIECE_BYTES + 1000)
    digest = digest_of(data)

    client.put_blob("breaking/a", digest, len(data), lambda: (data,))

    assert b"".join(client.blob_chunks("breaking/a", digest, len(data))) == data


def test_what_is_refused_ahead_is_told_to_whoever_pushes_and_to_nobody_else(
    registry: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Registry, path: str) -> str:
        raise Denied("no right to push")

    plain = Registry(registry.host)
    with monkeypatch.context() as patched:
        patched.setattr(Registry, "begin_upload", refused)
        ahead = Ahead(registry.host, "a/ahead", ("library/python", VERSION), {})
        assert ahead.manifest_digest("library/python", VERSION) == plain.manifest_digest("library/python", VERSION)
        with pytest.raises(Denied, match="no right to push"):
            ahead.put_blob("a/ahead", digest_of(b"1"), 1, lambda: (b"1",))
    ahead.put_blob("a/ahead", digest_of(b"1"), 1, lambda: (b"1",))  # a repository that was made meanwhile, a login
    ahead.close()
    assert plain.has_blob("a/ahead", digest_of(b"1"))


def test_an_upload_that_a_registry_has_forgotten_is_begun_again(registry: Server) -> None:
    plain = Registry(registry.host, clock=Patient())
    begun = plain.begin_upload("a/forgotten")
    plain.cancel_upload("a/forgotten", begun)

    plain.put_blob("a/forgotten", digest_of(b"1"), 1, lambda: (b"1",), begun)

    assert plain.has_blob("a/forgotten", digest_of(b"1"))


def test_a_blob_that_is_not_what_its_name_says_is_refused(registry: Server) -> None:
    client = Registry(registry.host)
    data = b"content"
    client.put_blob("odd/a", digest_of(data), len(data), lambda: (data,))

    class Lying:
        def send(self, request: Request, **_: float) -> Answer:
            return Answer(200, {}, b"another")

    with pytest.raises(Damaged, match="not what its digest says"):
        list(Registry(registry.host, wire=Lying()).blob_chunks("odd/a", digest_of(data), len(data)))


def test_the_emulator_has_a_registry_too(user: User, tmp_path: Path) -> None:
    """Its own base image, its own tokens; who may not push is told so."""
    for name in ("OUTLAST_BASE_IMAGE", "OUTLAST_REGISTRY"):
        del user.env[name]
    user.write("train.py", "import tool\n")
    user.write("requirements.txt", "tool\n")
    with running(tmp_path / "google", process=True) as emulator:
        user.env.update(emulator.variables)
        said = user.outlast("container", "build", "train.py", "--json")

        assert said.code == 0, said.err
        assert f"/emulated/outlast/work@{said.json['digest']}" in said.json["image"]
        assert said.json["base"].partition("/")[2].startswith("library/python@sha256:")
        again = user.outlast("container", "build", "train.py", "--json")
        assert again.json["pushed_layers"] == 0
        assert again.json["digest"] == said.json["digest"]


@pytest.mark.parametrize(
    ("text", "host", "path", "wanted"),
    [
        ("python", "docker.io", "library/python", "latest"),
        ("python:3.12-slim", "docker.io", "library/python", "3.12-slim"),
        ("me/tool", "docker.io", "me/tool", "latest"),
        ("localhost/x:1", "localhost", "x", "1"),
        ("127.0.0.1:5000/a/b:t", "127.0.0.1:5000", "a/b", "t"),
        (f"us-docker.pkg.dev/p/r/i@sha256:{'a' * 64}", "us-docker.pkg.dev", "p/r/i", f"sha256:{'a' * 64}"),
    ],
)
def test_names_of_images_mean_what_they_mean_elsewhere(text: str, host: str, path: str, wanted: str) -> None:
    found = parse_reference(text)

    assert (found.host, found.path, found.wanted) == (host, path, wanted)


@given(st.text(max_size=60))
def test_whatever_is_typed_as_a_name_is_read_or_refused(text: str) -> None:
    try:
        found = parse_reference(text)
    except UsageError:
        return
    assert parse_reference(str(found)) == found
    assert all(one.isprintable() and one.isascii() and one != " " for one in str(found))


def test_only_this_computer_is_spoken_to_without_tls() -> None:
    assert registry_url("127.0.0.1:5000") == "http://127.0.0.1:5000"
    assert registry_url("localhost") == "http://localhost"
    assert registry_url("docker.io") == "https://registry-1.docker.io"
    for host in ("127.0.0.1.example.com", "10.0.0.1:5000", "example.com"):
        assert registry_url(host) == f"https://{host}"


class Hourly:
    """A registry in one object: whoever comes with a token that is not the newest one is asked to log in."""

    def __init__(self) -> None:
        self.newest = ""
        self.accepted: list[str] = []

    def token(self) -> str:
        self.newest = f"token-{len(self.newest)}-{len(self.accepted)}"
        return self.newest

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        if isinstance(request.body, Stream):
            assert b"".join(request.body) == b"layer"
        expected = base64.b64encode(f"oauth2accesstoken:{self.newest}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {expected}":
            return Answer(401, {"www-authenticate": 'Basic realm="x"'}, b"")
        self.accepted.append(request.method)
        if request.method == "POST":
            return Answer(202, {"location": "/v2/p/blobs/uploads/1"}, b"")
        if len(self.accepted) == 2:  # an hour has passed while it was sent
            self.newest = "of another hour"
            return Answer(401, {"www-authenticate": 'Basic realm="x"'}, b"")
        return Answer(201 if request.method == "PUT" else 200, {"docker-content-digest": "sha256:1"}, b"")


def test_a_login_that_grows_old_in_the_middle_of_a_push_is_made_again(tmp_path: Path) -> None:
    hourly = Hourly()
    registry = Registry(
        "us-docker.pkg.dev", hourly.token, environ={"HOME": str(tmp_path)}, wire=hourly, clock=Patient()
    )

    registry.put_blob("p", "sha256:1", 5, lambda: (b"layer",))
    assert hourly.accepted == ["POST", "PUT", "POST", "PUT"]
    assert registry.manifest_digest("p", "latest") == "sha256:1"
    hourly.newest = "of yet another hour"
    assert registry.manifest_digest("p", "latest") == "sha256:1"
