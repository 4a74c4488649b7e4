"""Every kind of login, against the emulator's token endpoints; and what is said where there is none."""

from __future__ import annotations

import base64
import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast.clock import SYSTEM
from outlast.errors import Denied
from outlast.google.auth.credentials import Anonymous
from outlast.google.auth.find import find_credentials
from outlast.google.connect import connect
from outlast.google.connections import Connections
from outlast.google.endpoints import GOOGLE, Endpoints, endpoints
from outlast.google.storage import StorageClient
from outlast.google.wire import Answer, Request
from outlast.store.registry import open_store
from outlast_emulator.testing import Running

ADMIN = ["roles/storage.admin"]


@pytest.fixture
def strict(emulator: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """Nobody is let in without a token that the emulator has issued."""
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"):
        monkeypatch.delenv(name, raising=False)
    yield emulator


def iam(emulator: Running, what: str, **body: Any) -> dict[str, Any]:
    answer = emulator.call("POST", f"/_emulator/iam/{what}", body)
    assert answer.status == 200, answer.body
    return dict(answer.json())


def written(path: Path, document: dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return str(path)


def check_works(home: str) -> None:
    store = open_store(home)
    store.put("k", b"1", if_generation=0)
    assert store.get("k").data == b"1"


def test_the_login_for_applications_is_used(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = iam(strict, "users", email="ada@example.com", roles=ADMIN)
    written(tmp_path / "gcloud" / "application_default_credentials.json", login)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    strict.switch(require_login=True)
    check_works(home)


@pytest.mark.parametrize("kept", ["database", "legacy"])
def test_gclouds_own_login_is_used(
    kept: str, strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = iam(strict, "users", email="ada@example.com", roles=ADMIN)
    gcloud = tmp_path / "gcloud"
    written(gcloud / "configurations" / "unused", {})
    (gcloud / "configurations" / "config_work").write_text("[core]\naccount = ada@example.com\nproject = of-gcloud\n")
    (gcloud / "active_config").write_text("work")
    if kept == "database":
        with sqlite3.connect(gcloud / "credentials.db") as database:
            database.execute("CREATE TABLE credentials (account_id TEXT PRIMARY KEY, value BLOB)")
            database.execute("INSERT INTO credentials VALUES (?, ?)", ("ada@example.com", json.dumps(login)))
    else:
        written(gcloud / "legacy_credentials" / "ada@example.com" / "adc.json", login)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(gcloud))
    strict.switch(require_login=True)
    check_works(home)


def test_a_machines_own_account_is_used(strict: Running, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    iam(strict, "service-accounts", email="runner@emulated.iam.gserviceaccount.com", roles=ADMIN)
    iam(strict, "machine", email="runner@emulated.iam.gserviceaccount.com")
    monkeypatch.setenv("GCE_METADATA_HOST", strict.url.removeprefix("http://"))
    strict.switch(require_login=True)
    check_works(home)


def test_a_key_is_used(strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    iam(strict, "service-accounts", email="robot@emulated.iam.gserviceaccount.com", roles=ADMIN)
    key = iam(strict, "keys", email="robot@emulated.iam.gserviceaccount.com")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", written(tmp_path / "key.json", key))
    strict.switch(require_login=True)
    check_works(home)


def test_one_account_acts_as_another(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    acted = "acted@emulated.iam.gserviceaccount.com"
    iam(strict, "service-accounts", email=acted, roles=ADMIN)
    iam(strict, "service-accounts", email="actor@emulated.iam.gserviceaccount.com",
        roles=["roles/iam.serviceAccountTokenCreator"])  # fmt: skip
    key = iam(strict, "keys", email="actor@emulated.iam.gserviceaccount.com")
    document = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": f"{strict.url}/v1/projects/-/serviceAccounts/{acted}:generateAccessToken",
        "delegates": [],
        "source_credentials": key,
    }
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", written(tmp_path / "acting.json", document))
    strict.switch(require_login=True)
    check_works(home)


def test_a_workload_elsewhere_exchanges_its_own_token(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    acted = "federated@emulated.iam.gserviceaccount.com"
    iam(strict, "service-accounts", email=acted, roles=ADMIN)
    subject = jwt({"iss": "https://ci.example.com", "sub": "repo:me", "aud": "x", "exp": int(SYSTEM.now()) + 600})
    (tmp_path / "subject").write_text(subject)
    document = iam(strict, "federation", issuer="https://ci.example.com", file=str(tmp_path / "subject"), account=acted)
    audience = document["audience"].removeprefix("//iam.googleapis.com/")
    iam(strict, "bindings", role="roles/iam.serviceAccountTokenCreator",
        member=f"principal://iam.googleapis.com/{audience.rpartition('/providers/')[0]}/subject/repo:me")  # fmt: skip
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", written(tmp_path / "federated.json", document))
    strict.switch(require_login=True)
    check_works(home)


def test_a_laptop_that_is_a_day_ahead_does_not_buy_a_token_for_every_request(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    test_a_workload_elsewhere_exchanges_its_own_token(strict, home, monkeypatch, tmp_path)
    found = find_credentials(dict(os.environ), endpoints(os.environ), Connections(os.environ), SYSTEM)
    strict.call("POST", "/_emulator/clock", {"skew_seconds": -86400})
    try:
        assert 0 < found.renew().lives_seconds <= 3600
    finally:
        strict.call("POST", "/_emulator/clock", {"skew_seconds": 0})


def jwt(claims: dict[str, Any]) -> str:
    """Signed by nobody: the emulator believes whoever issues it."""
    pieces = [json.dumps(one).encode() for one in ({"alg": "none"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(piece).rstrip(b"=").decode() for piece in pieces), "eHg"])


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch, emulator: Running) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    with pytest.raises(Denied, match=r"/nowhere/key\.json"):
        open_store("gs://some-bucket").get("k")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"type": "unheard_of", "token_uri": "http://127.0.0.1/x"}'])
def test_a_file_that_is_no_key_is_named(
    content: bytes, monkeypatch: pytest.MonkeyPatch, emulator: Running, tmp_path: Path
) -> None:
    (tmp_path / "key.json").write_bytes(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    with pytest.raises(Denied, match=r"key\.json") as caught:
        open_store("gs://some-bucket").get("k")
    assert caught.value.hint


@pytest.mark.parametrize("how", ["revoked", "reauth"])
def test_a_login_that_has_ended_names_the_command_that_makes_a_new_one(
    how: str, strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = iam(strict, "users", email=f"{how}@example.com", roles=ADMIN)
    written(tmp_path / "gcloud" / "application_default_credentials.json", login)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    iam(strict, "revoke", email=f"{how}@example.com", how=how)
    strict.switch(require_login=True)
    with pytest.raises(Denied) as caught:
        open_store(home).get("k")
    assert caught.value.hint == "`gcloud auth application-default login`"
    assert caught.value.exit_code == 4


def test_an_account_without_the_right_is_told_which_one_it_lacks(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_store(home).put("k", b"1", if_generation=0)
    login = iam(strict, "users", email="eve@example.com", roles=[])
    written(tmp_path / "gcloud" / "application_default_credentials.json", login)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    strict.switch(require_login=True)
    with pytest.raises(Denied, match=r"storage\.objects\.get") as caught:
        open_store(home).get("k")
    assert f"add-iam-policy-binding {home} " in caught.value.hint


class Nothing:
    """A wire on which nobody answers: no metadata server, and no network."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def send(self, request: Request, *, connect_seconds: float, stall_seconds: float) -> Answer:
        from outlast.google.wire import NoAnswer

        self.requests.append(request)
        assert connect_seconds <= 1.0, "a machine that has no metadata server must not hang"
        raise NoAnswer("no route to host", sent=False)


def test_nobody_logged_in_is_told_what_to_type(tmp_path: Path) -> None:
    wire = Nothing()
    with pytest.raises(Denied) as caught:
        find_credentials({"HOME": str(tmp_path)}, GOOGLE, wire, SYSTEM)
    assert "gcloud auth application-default login" in caught.value.hint
    assert [request.url for request in wire.requests] == [
        "http://169.254.169.254/computeMetadata/v1/project/project-id"
    ] * 2


def test_the_metadata_server_can_be_left_alone(tmp_path: Path) -> None:
    wire = Nothing()
    with pytest.raises(Denied):
        find_credentials({"HOME": str(tmp_path), "NO_GCE_CHECK": "true"}, GOOGLE, wire, SYSTEM)
    assert wire.requests == []


def test_what_is_googles_is_never_shown_to_an_emulator(tmp_path: Path) -> None:
    """Somebody works with the emulator in a shell that has a real key, and a real login."""
    real = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "1//real"}
    key = written(tmp_path / "key.json", real)
    written(tmp_path / ".config" / "gcloud" / "application_default_credentials.json", real)
    emulated = Endpoints(
        storage="http://127.0.0.1:1", compute="http://127.0.0.1:1", tokens="http://127.0.0.1:1/token", emulated=True
    )
    for environ in ({"HOME": str(tmp_path)}, {"HOME": str(tmp_path), "GOOGLE_APPLICATION_CREDENTIALS": key}):
        assert isinstance(find_credentials(environ, emulated, Nothing(), SYSTEM), Anonymous)


def test_without_the_extra_a_key_says_what_to_install(tmp_path: Path) -> None:
    key = written(tmp_path / "key.json", {"type": "service_account", "client_email": "x@y"})
    program = f"""
import sys
sys.modules["google.auth"] = None
from outlast.clock import SYSTEM
from outlast.errors import Denied
from outlast.google.auth.find import find_credentials
from outlast.google.endpoints import GOOGLE
try:
    find_credentials({{"GOOGLE_APPLICATION_CREDENTIALS": {key!r}}}, GOOGLE, None, SYSTEM)
except Denied as error:
    print(error.hint)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'outlast[google]'" in said


def test_a_metadata_server_that_accepts_and_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environ = {"HOME": str(tmp_path), "GCE_METADATA_HOST": f"127.0.0.1:{silent.getsockname()[1]}"}
        from outlast.google.auth.metadata import MetadataCredentials, host_of

        assert MetadataCredentials(host_of(environ), Connections(environ)).look() is False


def test_a_token_reaches_its_end_and_the_next_one_is_fetched(
    strict: Running, home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The emulator's answer to an old token is Google's: 401."""
    login = iam(strict, "users", email="old@example.com", roles=ADMIN)
    written(tmp_path / "gcloud" / "application_default_credentials.json", login)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    strict.switch(require_login=True)
    store = open_store(home)
    store.put("k", b"1", if_generation=0)
    strict.fault("storage.objects.get", "error", status=401)
    assert store.get("k").data == b"1"


def test_gclouds_project_is_the_default(tmp_path: Path) -> None:
    from outlast.google.auth.gcloud import Gcloud

    gcloud = tmp_path / ".config" / "gcloud"
    (gcloud / "configurations").mkdir(parents=True)
    (gcloud / "configurations" / "config_default").write_text("[core]\nproject = of-gcloud\n")
    assert Gcloud({"HOME": str(tmp_path)}).project == "of-gcloud"
    assert Gcloud({"HOME": str(tmp_path), "CLOUDSDK_CORE_PROJECT": "named"}).project == "named"
    assert Gcloud({"HOME": str(tmp_path / "nobody")}).project == ""


def test_the_default_bucket_is_looked_for_in_ones_own_project_only(emulator: Running) -> None:
    from random import Random

    from outlast.google.buckets import ensure_default

    client = StorageClient(connect(), "")
    first = ensure_default(client, "emulated", "europe-west4", Random(os.getpid()))
    assert first.made and first.location == "europe-west4"
    again = ensure_default(client, "emulated", "europe-west4", Random(1))
    assert (again.name, again.made) == (first.name, False)
    elsewhere = ensure_default(client, "emulated", "us-east1", Random(os.getpid() + 1))
    assert elsewhere.made and elsewhere.name != first.name
