"""Who may do what: permissions by role, refusals in Google's words, logins that end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast_emulator.iam.methods import DEMANDS
from outlast_emulator.iam.roles import ROLES
from outlast_emulator.testing import Answer, Running, running, start_process
from tools import emulator_table


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    """Fresh for each test: switches, accounts and bindings are its own."""
    with running(tmp_path / "emulator") as found:
        yield found


def iam(emulator: Running, what: str, **body: Any) -> dict[str, Any]:
    answer = emulator.call("POST", f"/_emulator/iam/{what}", body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def bearer(emulator: Running, *roles: str, bucket: str = "") -> dict[str, str]:
    """A user with these roles, on the project or on one bucket."""
    iam(emulator, "users", email="some@example.invalid", roles=[] if bucket else list(roles))
    for role in roles if bucket else ():
        iam(emulator, "bindings", resource=f"buckets/{bucket}", role=role, member="user:some@example.invalid")
    return {"authorization": f"Bearer {iam(emulator, 'tokens', email='some@example.invalid')['access_token']}"}


def put(emulator: Running, name: str, headers: dict[str, str]) -> Answer:
    return emulator.call("POST", f"/upload/storage/v1/b/one/o?uploadType=media&name={name}", b"data", headers)


def test_anybody_is_the_owner_unless_a_login_is_required(emulator: Running) -> None:
    emulator.make_bucket("one")
    assert put(emulator, "a", {}).status == 200
    assert put(emulator, "b", {"authorization": "Bearer of-somebody-else"}).status == 200
    emulator.switch(require_login=True)
    nobody = put(emulator, "c", {})
    assert nobody.status == 401 and nobody.json()["error"]["errors"][0]["reason"] == "required"
    assert nobody.json()["error"]["message"].startswith("Anonymous caller does not have storage.objects.create access")
    stranger = put(emulator, "d", {"authorization": "Bearer of-somebody-else"})
    assert stranger.status == 401 and stranger.json()["error"]["message"] == "Invalid Credentials"
    assert 'error="invalid_token"' in stranger.headers["www-authenticate"]


def test_without_the_switch_nobodys_permissions_are_checked(emulator: Running) -> None:
    emulator.make_bucket("one")
    headers = bearer(emulator, "roles/storage.objectViewer")
    assert put(emulator, "a", headers).status == 403
    emulator.switch(authorize=False)
    assert put(emulator, "a", headers).status == 200
    assert put(emulator, "b", {"authorization": "Bearer ya29.emulated.forged.token"}).status == 401


def test_a_refusal_names_the_caller_and_the_missing_permission(emulator: Running) -> None:
    emulator.make_bucket("one")
    refused = put(emulator, "a", bearer(emulator, "roles/storage.objectViewer"))
    assert refused.status == 403
    assert refused.json()["error"]["errors"][0]["reason"] == "forbidden"
    assert refused.json()["error"]["message"] == (
        "some@example.invalid does not have storage.objects.create access to the Google Cloud Storage object. "
        "Permission 'storage.objects.create' denied on resource (or it may not exist)."
    )


def test_replacing_an_object_takes_the_right_to_delete_it(emulator: Running) -> None:
    emulator.make_bucket("one")
    emulator.switch(write_limit=False)
    creator = bearer(emulator, "roles/storage.objectCreator")
    assert put(emulator, "a", creator).status == 200
    again = put(emulator, "a", creator)
    assert again.status == 403 and "storage.objects.delete" in again.json()["error"]["message"]
    by_xml = emulator.call("PUT", "/one/a", b"other", creator)
    assert by_xml.status == 403 and b"storage.objects.delete" in by_xml.body and b"AccessDenied" in by_xml.body


def test_a_batch_permits_nothing_that_its_calls_are_not_permitted(emulator: Running) -> None:
    emulator.make_bucket("one")
    emulator.put("one", "a", b"data")
    call = b"DELETE /storage/v1/b/one/o/a HTTP/1.1\r\n\r\n"
    body = b"--x\r\ncontent-type: application/http\r\n\r\n" + call + b"\r\n--x--\r\n"
    headers = {"content-type": "multipart/mixed; boundary=x", **bearer(emulator, "roles/storage.objectViewer")}
    answer = emulator.call("POST", "/batch/storage/v1", body, headers)
    assert answer.status == 200 and b"HTTP/1.1 403" in answer.body and b"storage.objects.delete" in answer.body
    assert emulator.get("one", "a").status == 200


def test_a_resumable_uploads_address_is_its_own_key(emulator: Running) -> None:
    emulator.make_bucket("one")
    headers = bearer(emulator, "roles/storage.objectCreator")
    emulator.switch(require_login=True)
    place = "/upload/storage/v1/b/one/o?uploadType=resumable&name=a"
    assert emulator.call("POST", place, b"").status == 401
    begun = emulator.call("POST", place, b"", headers)
    address = begun.headers["location"].removeprefix(emulator.url)
    assert emulator.call("PUT", address, b"data").status == 200
    assert emulator.call("PUT", "/upload/storage/v1/b/one/o?uploadType=resumable&upload_id=guessed", b"").status == 404


def test_a_role_on_one_bucket_reaches_no_other(emulator: Running) -> None:
    emulator.make_bucket("one")
    emulator.make_bucket("two")
    headers = bearer(emulator, "roles/storage.objectUser", bucket="one")
    assert put(emulator, "a", headers).status == 200
    assert emulator.call("GET", "/storage/v1/b/two/o", headers=headers).status == 403
    assert emulator.call("GET", f"/storage/v1/b?project={emulator.project}", headers=headers).status == 403


def test_a_role_that_is_taken_away_is_gone_at_once(emulator: Running) -> None:
    emulator.make_bucket("one")
    headers = bearer(emulator, "roles/storage.objectUser")
    assert put(emulator, "a", headers).status == 200
    binding = {"role": "roles/storage.objectUser", "member": "user:some@example.invalid"}
    assert emulator.call("DELETE", "/_emulator/iam/bindings", binding).status == 200
    assert put(emulator, "b", headers).status == 403


def test_a_token_ends_by_its_time_and_by_its_revocation(emulator: Running) -> None:
    emulator.make_bucket("one")
    iam(emulator, "users", email="some@example.invalid", roles=["roles/owner"])
    short = iam(emulator, "tokens", email="some@example.invalid", lifetime_seconds=100)["access_token"]
    assert put(emulator, "a", {"authorization": f"Bearer {short}"}).status == 200
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 101})
    assert put(emulator, "b", {"authorization": f"Bearer {short}"}).status == 401
    longer = iam(emulator, "tokens", email="some@example.invalid")["access_token"]
    assert put(emulator, "c", {"authorization": f"Bearer {longer}"}).status == 200
    iam(emulator, "revoke", email="some@example.invalid")
    assert put(emulator, "d", {"authorization": f"Bearer {longer}"}).status == 401
    assert put(emulator, "e", {"authorization": f"Bearer {longer[:-3]}abc"}).status == 401


@pytest.mark.parametrize("path", ["/token", "/v1/token"])
@pytest.mark.parametrize(
    "body", [b"", b"grant_type=none", b"\xff\xfe", b"grant_type=refresh_token&client_id=a&refresh_token=b"]
)
def test_a_wrong_grant_is_refused_in_the_shape_of_oauth(emulator: Running, path: str, body: bytes) -> None:
    answer = emulator.call("POST", path, body, {"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 400 and set(answer.json()) == {"error", "error_description"}


def test_the_metadata_server_wants_its_header_and_names_the_project(emulator: Running) -> None:
    place = "/computeMetadata/v1"
    assert emulator.call("GET", f"{place}/project/project-id").status == 403
    flavor = {"Metadata-Flavor": "Google"}
    found = emulator.call("GET", f"{place}/project/project-id", headers=flavor)
    assert found.body == b"emulated" and found.headers["metadata-flavor"] == "Google"
    assert emulator.call("GET", "/", headers=flavor).headers["metadata-flavor"] == "Google"
    account = f"{place}/instance/service-accounts/default"
    assert emulator.call("GET", f"{account}/token", headers=flavor).json()["token_type"] == "Bearer"
    assert emulator.call("GET", f"{account}/email", headers=flavor).body.endswith(b"@developer.gserviceaccount.com")
    assert emulator.call("GET", f"{account}/scopes", headers=flavor).body.strip().endswith(b"cloud-platform")
    assert emulator.call("GET", f"{account}/identity?audience=me", headers=flavor).body.count(b".") == 2
    assert emulator.call("GET", f"{account}/identity", headers=flavor).status == 400
    assert emulator.call("GET", f"{place}/instance/none", headers=flavor).status == 404
    listed = emulator.call("GET", f"{place}/instance/?recursive=true", headers=flavor).json()
    assert listed["serviceAccounts"]["default"]["aliases"] == ["default"]
    etag = emulator.call("GET", f"{place}/instance/preempted", headers=flavor).headers["etag"]
    waited = f"{place}/instance/preempted?wait_for_change=true&last_etag={etag}&timeout_sec=0"
    assert emulator.call("GET", waited, headers=flavor).body == b"FALSE"


def test_a_bucket_that_is_made_again_forgets_who_had_roles_on_it(emulator: Running) -> None:
    emulator.make_bucket("one")
    headers = bearer(emulator, "roles/storage.admin", bucket="one")
    assert emulator.call("GET", "/storage/v1/b/one", headers=headers).status == 200
    assert emulator.call("DELETE", "/storage/v1/b/one").status == 204
    emulator.make_bucket("one")
    assert emulator.call("GET", "/storage/v1/b/one", headers=headers).status == 403


def test_accounts_and_tokens_outlive_a_killed_emulator(tmp_path: Path) -> None:
    child = start_process(tmp_path / "data")
    assert child.stdout is not None
    import json

    first = Running(json.loads(child.stdout.readline())["url"], tmp_path / "data", pid=child.pid)
    first.make_bucket("one")
    headers = bearer(first, "roles/storage.objectViewer")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with running(tmp_path / "data") as second:
        assert second.call("GET", "/storage/v1/b/one/o", headers=headers).status == 200
        assert put(second, "a", headers).status == 403
    assert (tmp_path / "data" / "iam" / "iam.json").stat().st_mode & 0o777 == 0o600


def test_every_method_of_cloud_storage_that_is_served_says_which_permissions_it_takes() -> None:
    assert {name for name in emulator_table.served() if name.startswith(("storage.", "xml."))} <= set(DEMANDS)


def test_every_permission_that_is_asked_for_is_in_some_role() -> None:
    given = frozenset().union(*ROLES.values())
    asked = {demand.permission for demands in DEMANDS.values() for demand in demands}
    assert asked <= given
    assert asked <= ROLES["roles/owner"]
