"""google-auth gets its tokens from the emulator, by every kind of credentials, and google-cloud-storage uses them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import google.auth
import pytest
from google.api_core.exceptions import Forbidden
from google.auth import identity_pool, impersonated_credentials
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request
from google.cloud import storage
from google.oauth2 import credentials as user_credentials
from google.oauth2 import service_account

from outlast_emulator.iam.jwt import pad_less
from outlast_emulator.testing import Running
from tests.emulator_clients.programs import run
from tests.emulator_clients.threads import ended_threads

CLIENT = "google-auth"
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def iam(emulator: Running, what: str, **body: Any) -> dict[str, Any]:
    answer = emulator.call("POST", f"/_emulator/iam/{what}", body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def write_and_read(credentials: Any, bucket: str, name: str) -> bytes:
    with ended_threads():
        client = storage.Client(project="emulated", credentials=credentials)
        client.bucket(bucket).blob(name).upload_from_string(b"mine")
        found: bytes = client.bucket(bucket).blob(name).download_as_bytes()
    return found


def test_a_service_accounts_key_gets_a_token_and_its_roles(emulator: Running, bucket: str, tmp_path: Path) -> None:
    email = "runner@emulated.iam.gserviceaccount.com"
    iam(emulator, "service-accounts", email=email, roles=["roles/storage.objectUser"])
    key = tmp_path / "key.json"
    key.write_text(json.dumps(iam(emulator, "keys", email=email)))
    credentials = service_account.Credentials.from_service_account_file(str(key), scopes=SCOPES)
    assert write_and_read(credentials, bucket, "by-key") == b"mine"
    with pytest.raises(
        Forbidden, match=f"{email} does not have storage.buckets.create access to the Google Cloud project"
    ):
        storage.Client(project="emulated", credentials=credentials).create_bucket("not-mine")


def test_a_key_that_signs_with_another_accounts_name_is_refused(emulator: Running, tmp_path: Path) -> None:
    for name in ("one", "two"):
        iam(emulator, "service-accounts", email=f"{name}@emulated.iam.gserviceaccount.com", roles=[])
    key = iam(emulator, "keys", email="one@emulated.iam.gserviceaccount.com")
    key["client_email"] = "two@emulated.iam.gserviceaccount.com"
    credentials = service_account.Credentials.from_service_account_info(key, scopes=SCOPES)
    with pytest.raises(RefreshError, match="Invalid JWT Signature"):
        credentials.refresh(Request())


def test_a_users_login_gets_a_token_until_it_is_revoked(emulator: Running, bucket: str) -> None:
    email = "trainer@example.invalid"
    saved = iam(emulator, "users", email=email, roles=["roles/storage.admin"])
    # google-auth takes where to renew a login from an argument only, not from the file that gcloud writes.
    names = ("refresh_token", "client_id", "client_secret", "token_uri")
    credentials = user_credentials.Credentials(None, **{name: saved[name] for name in names})
    assert write_and_read(credentials, bucket, "by-login") == b"mine"
    iam(emulator, "revoke", email=email, how="reauth")
    headers = {"authorization": f"Bearer {credentials.token}"}
    assert emulator.call("GET", f"/storage/v1/b/{bucket}", headers=headers).status == 401
    with pytest.raises(RefreshError, match="Reauthentication is needed"):
        credentials.refresh(Request())


ON_A_MACHINE = """
import google.auth
from google.api_core.exceptions import Forbidden
from google.cloud import storage
found, project = google.auth.default()
client = storage.Client(credentials=found, project=project)
client.bucket("BUCKET").blob("by-machine").upload_from_string(b"mine")
print(project, client.bucket("BUCKET").blob("by-machine").download_as_text())
try:
    client.create_bucket("not-the-machines")
except Forbidden as error:
    print(error.errors[0]["message"])
"""
"""google-auth reads where the metadata server is when it is imported, so a fresh process finds it."""


def test_a_machine_finds_its_account_in_the_metadata_server(emulator: Running, bucket: str, home: Path) -> None:
    email = "machine@emulated.iam.gserviceaccount.com"
    iam(emulator, "service-accounts", email=email, roles=["roles/storage.objectAdmin"])
    iam(emulator, "machine", email=email)
    said = run("env", "-u", "GOOGLE_CLOUD_PROJECT", sys.executable, "-c", ON_A_MACHINE.replace("BUCKET", bucket))
    assert said.startswith(f"emulated mine\n{email} does not have storage.buckets.create access")


def test_an_account_is_impersonated_by_who_may(emulator: Running, bucket: str) -> None:
    target = "target@emulated.iam.gserviceaccount.com"
    iam(emulator, "service-accounts", email=target, roles=["roles/storage.objectAdmin"])
    iam(emulator, "service-accounts", email="source@emulated.iam.gserviceaccount.com", roles=[])
    source = service_account.Credentials.from_service_account_info(
        iam(emulator, "keys", email="source@emulated.iam.gserviceaccount.com"), scopes=SCOPES
    )
    place = f"{emulator.url}/v1/projects/-/serviceAccounts/{{}}:generateAccessToken"
    credentials = impersonated_credentials.Credentials(
        source, target, SCOPES, iam_endpoint_override=place.format(target)
    )
    with pytest.raises(RefreshError, match=r"iam\.serviceAccounts\.getAccessToken"):
        credentials.refresh(Request())
    member = "serviceAccount:source@emulated.iam.gserviceaccount.com"
    iam(
        emulator,
        "bindings",
        resource=f"serviceAccounts/{target}",
        role="roles/iam.serviceAccountTokenCreator",
        member=member,
    )
    assert write_and_read(credentials, bucket, "by-impersonation") == b"mine"


def test_a_foreign_identity_is_exchanged_and_impersonates(emulator: Running, bucket: str, tmp_path: Path) -> None:
    target = "federated@emulated.iam.gserviceaccount.com"
    iam(emulator, "service-accounts", email=target, roles=["roles/storage.objectAdmin"])
    claims = {"iss": "https://ci.invalid", "sub": "repo:one", "exp": int(time.time()) + 600}
    header = {"alg": "RS256", "typ": "JWT"}
    parts = [pad_less(json.dumps(part).encode()) for part in (header, claims)]
    (tmp_path / "token").write_text(".".join([*parts, pad_less(b"signed by the other side")]))
    file = iam(
        emulator, "federation", pool="ci", provider="one", issuer="https://ci.invalid", account=target,
        file=str(tmp_path / "token"),
    )  # fmt: skip
    pool = file["audience"].removeprefix("//").split("/providers/")[0]
    iam(
        emulator, "bindings", resource=f"serviceAccounts/{target}", role="roles/iam.workloadIdentityUser",
        member=f"principal://{pool}/subject/repo:one",
    )  # fmt: skip
    credentials = identity_pool.Credentials.from_info(file, scopes=SCOPES)
    assert write_and_read(credentials, bucket, "by-federation") == b"mine"


def test_a_token_with_too_small_a_scope_cannot_write(emulator: Running, bucket: str) -> None:
    read_only = "https://www.googleapis.com/auth/devstorage.read_only"
    email = "424242424242-compute@developer.gserviceaccount.com"
    token = iam(emulator, "tokens", email=email, scopes=[read_only])["access_token"]
    with ended_threads():
        client = storage.Client(project="emulated", credentials=_frozen(token))
        with pytest.raises(Forbidden, match="scope"):
            client.bucket(bucket).blob("x").upload_from_string(b"x")
        assert list(client.list_blobs(bucket)) == []


def _frozen(token: str) -> Any:
    """A token as it is, that nobody renews."""

    class Frozen(google.auth.credentials.Credentials):
        def refresh(self, request: Any) -> None:
            raise RefreshError("not renewed")

    found = Frozen()
    found.token = token
    return found
