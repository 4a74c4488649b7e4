"""The emulated project's own APIs: what Google promises of policies, roles, accounts, secrets and APIs that are off."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from outlast_emulator.testing import Answer, Running, running

ACCOUNT = "runner@emulated.iam.gserviceaccount.com"
POLICY = "/v1/projects/emulated:getIamPolicy"
ALL = ["compute", "iam", "cloudresourcemanager", "secretmanager", "storage", "cloudbilling"]


@pytest.fixture(autouse=True)
def everything_is_on(emulator: Running) -> None:
    emulator.call("POST", "/_emulator/apis", {"enabled": [f"{name}.googleapis.com" for name in ALL]})


def reason(answer: Answer) -> str:
    error = answer.json()["error"]
    return str(error["details"][0]["reason"] if error.get("details") else error["status"])


def make_account(emulator: Running, name: str = "runner") -> Answer:
    made = emulator.call("POST", "/v1/projects/emulated/serviceAccounts", {"accountId": name})
    assert made.status in (200, 400, 409), made.body
    return made


def bind(emulator: Running, role: str, member: str) -> Answer:
    policy = emulator.call("POST", POLICY, {}).json()
    policy["bindings"].append({"role": role, "members": [member]})
    return emulator.call("POST", "/v1/projects/emulated:setIamPolicy", {"policy": policy})


def token(emulator: Running, email: str) -> dict[str, str]:
    made = emulator.call("POST", "/_emulator/iam/tokens", {"email": email}).json()
    return {"authorization": f"Bearer {made['access_token']}"}


def test_an_api_that_is_off_refuses_every_call_and_says_which_it_is(emulator: Running) -> None:
    emulator.call("POST", "/_emulator/apis", {"enabled": ["storage.googleapis.com"]})
    refused = emulator.call("GET", "/v1/projects/emulated/secrets")
    assert refused.status == 403 and reason(refused) == "SERVICE_DISABLED"
    assert refused.json()["error"]["details"][0]["metadata"]["service"] == "secretmanager.googleapis.com"
    older = emulator.call("GET", "/compute/v1/projects/emulated/zones").json()["error"]
    assert older["errors"][0]["reason"] == "accessNotConfigured"


def test_an_api_is_on_when_its_operation_is_done(emulator: Running) -> None:
    emulator.switch(enable_seconds=5.0)
    emulator.call("POST", "/_emulator/apis", {"enabled": []})
    begun = emulator.call("POST", "/v1/projects/emulated/services/iam.googleapis.com:enable", {}).json()
    assert "done" not in begun
    assert emulator.call("GET", "/v1/projects/emulated/serviceAccounts").status == 403
    while not emulator.call("GET", f"/v1/{begun['name']}").json().get("done"):
        pass
    assert emulator.call("GET", "/v1/projects/emulated/serviceAccounts").status == 200
    again = emulator.call("POST", "/v1/projects/emulated/services/iam.googleapis.com:enable", {}).json()
    assert again["done"] and again["response"]["service"]["state"] == "ENABLED"


def test_a_policy_that_has_changed_since_it_was_read_is_not_replaced(emulator: Running) -> None:
    policy = emulator.call("POST", POLICY, {}).json()
    bind(emulator, "roles/viewer", "user:ann@example.com")
    late = emulator.call("POST", "/v1/projects/emulated:setIamPolicy", {"policy": policy})
    assert late.status == 409 and late.json()["error"]["status"] == "ABORTED"


@pytest.mark.parametrize("member", [f"serviceAccount:{ACCOUNT}", "ann@example.com", "user:", "nobody:x"])
def test_a_policy_names_only_members_that_there_are(emulator: Running, member: str) -> None:
    assert bind(emulator, "roles/viewer", member).status == 400


def test_a_new_account_is_not_known_to_policies_at_once(emulator: Running) -> None:
    emulator.switch(account_lag_seconds=10.0)
    make_account(emulator)
    assert bind(emulator, "roles/viewer", f"serviceAccount:{ACCOUNT}").status == 400
    while bind(emulator, "roles/viewer", f"serviceAccount:{ACCOUNT}").status != 200:
        pass


def test_a_binding_is_known_to_those_who_check_it_after_a_while(emulator: Running) -> None:
    make_account(emulator)
    emulator.switch(iam_delay_seconds=30.0)
    bind(emulator, "roles/viewer", f"serviceAccount:{ACCOUNT}")
    headers = token(emulator, ACCOUNT)
    assert emulator.call("GET", "/v1/projects/emulated", None, headers).status == 403
    while emulator.call("GET", "/v1/projects/emulated", None, headers).status != 200:
        pass


def test_an_account_that_is_made_again_has_not_what_the_deleted_one_had(emulator: Running) -> None:
    make_account(emulator)
    bind(emulator, "roles/viewer", f"serviceAccount:{ACCOUNT}")
    assert emulator.call("DELETE", f"/v1/projects/emulated/serviceAccounts/{ACCOUNT}").status == 200
    members = [one for binding in emulator.call("POST", POLICY, {}).json()["bindings"] for one in binding["members"]]
    assert any(one.startswith(f"deleted:serviceAccount:{ACCOUNT}?uid=") for one in members)
    make_account(emulator)
    assert emulator.call("GET", "/v1/projects/emulated", None, token(emulator, ACCOUNT)).status == 403
    assert make_account(emulator).status == 409


def make_role(emulator: Running, **fields: Any) -> Answer:
    role = {"title": "t", "stage": "GA", "includedPermissions": ["resourcemanager.projects.get"], **fields}
    return emulator.call("POST", "/v1/projects/emulated/roles", {"roleId": "small", "role": role})


def test_a_role_of_the_project_permits_what_it_says_until_it_is_deleted(emulator: Running) -> None:
    make_account(emulator)
    assert make_role(emulator).status == 200
    bind(emulator, "projects/emulated/roles/small", f"serviceAccount:{ACCOUNT}")
    headers = token(emulator, ACCOUNT)
    assert emulator.call("GET", "/v1/projects/emulated", None, headers).status == 200
    refused = emulator.call("POST", POLICY, {}, headers)
    assert refused.status == 403 and reason(refused) == "IAM_PERMISSION_DENIED"
    assert refused.json()["error"]["details"][0]["metadata"]["permission"] == "resourcemanager.projects.getIamPolicy"
    emulator.call("DELETE", "/v1/projects/emulated/roles/small")
    assert emulator.call("GET", "/v1/projects/emulated", None, headers).status == 403
    assert make_role(emulator).status == 400, "its name is taken for a week"
    assert emulator.call("POST", "/v1/projects/emulated/roles/small:undelete", {}).status == 200
    assert emulator.call("GET", "/v1/projects/emulated", None, headers).status == 200


@pytest.mark.parametrize("fields", [{"includedPermissions": ["everything"]}, {"stage": "GREAT"}, {"titel": "x"}])
def test_a_role_that_says_nothing_is_refused(emulator: Running, fields: dict[str, Any]) -> None:
    assert make_role(emulator, **fields).status == 400


def secret(emulator: Running, value: bytes = b"hello") -> Answer:
    emulator.call("POST", "/v1/projects/emulated/secrets?secretId=S", {"replication": {"automatic": {}}})
    payload = {"payload": {"data": base64.b64encode(value).decode()}}
    return emulator.call("POST", "/v1/projects/emulated/secrets/S:addVersion", payload)


def value(emulator: Running, version: str, headers: dict[str, str] | None = None) -> Answer:
    return emulator.call("GET", f"/v1/projects/emulated/secrets/S/versions/{version}:access", None, headers)


def test_versions_of_a_secret_are_numbered_and_the_latest_is_the_newest_that_is_enabled(emulator: Running) -> None:
    assert secret(emulator, b"one").json()["name"].endswith("/versions/1")
    assert secret(emulator, b"two").json()["name"].endswith("/versions/2")
    assert base64.b64decode(value(emulator, "latest").json()["payload"]["data"]) == b"two"
    emulator.call("POST", "/v1/projects/emulated/secrets/S/versions/2:disable", {})
    assert base64.b64decode(value(emulator, "latest").json()["payload"]["data"]) == b"one"
    assert value(emulator, "2").status == 400 and value(emulator, "3").status == 404
    emulator.call("POST", "/v1/projects/emulated/secrets/S/versions/1:destroy", {})
    assert value(emulator, "1").status == 400
    assert emulator.call("POST", "/v1/projects/emulated/secrets/S/versions/1:enable", {}).status == 400


def test_a_value_that_was_damaged_on_its_way_is_refused(emulator: Running) -> None:
    secret(emulator)
    body = {"payload": {"data": base64.b64encode(b"hello").decode(), "dataCrc32c": "1"}}
    assert emulator.call("POST", "/v1/projects/emulated/secrets/S:addVersion", body).status == 400
    body["payload"]["dataCrc32c"] = "2591144780"
    assert emulator.call("POST", "/v1/projects/emulated/secrets/S:addVersion", body).status == 200


def test_a_secret_is_read_by_whom_it_is_granted_to(emulator: Running) -> None:
    secret(emulator)
    make_account(emulator)
    headers = token(emulator, ACCOUNT)
    assert value(emulator, "1", headers).status == 403
    binding = {"role": "roles/secretmanager.secretAccessor", "members": [f"serviceAccount:{ACCOUNT}"]}
    emulator.call("POST", "/v1/projects/emulated/secrets/S:setIamPolicy", {"policy": {"bindings": [binding]}})
    assert value(emulator, "1", headers).status == 200
    assert emulator.call("DELETE", "/v1/projects/emulated/secrets/S", None, headers).status == 403


def test_another_project_is_nobodys_to_see(emulator: Running) -> None:
    for path in ("/v1/projects/another", "/v1/projects/another/secrets", "/v1/projects/another/serviceAccounts"):
        assert emulator.call("GET", path).status == 403
    assert emulator.call("GET", "/v1/projects/424242424242").json()["projectId"] == "emulated"


def test_prices_come_in_pages_and_each_is_told_once(emulator: Running) -> None:
    seen: dict[str, Any] = {}
    page = ""
    while True:
        token = f"&pageToken={page}" if page else ""
        answer = emulator.call("GET", f"/v1/services/6F81-5844-456A/skus?pageSize=100{token}").json()
        for one in answer["skus"]:
            assert one["skuId"] not in seen
            seen[one["skuId"]] = one
        page = answer.get("nextPageToken", "")
        if not page:
            break
    spot = [
        one for one in seen.values() if one["description"] == "Spot Preemptible N2 Instance Core running in Americas"
    ]
    assert len(spot) == 3 and spot[0]["category"]["usageType"] == "Preemptible"
    price = spot[0]["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]
    assert 0.01 < int(price["units"]) + price["nanos"] / 1e9 < 0.03


def test_all_of_it_survives_a_kill(tmp_path: Any) -> None:
    with running(tmp_path / "kept") as first:
        secret(first)
        make_account(first)
        make_role(first)
        first.call("POST", "/_emulator/apis", {"enabled": ["secretmanager.googleapis.com", "iam.googleapis.com"]})
    with running(tmp_path / "kept") as second:
        assert value(second, "1").status == 200
        assert second.call("GET", f"/v1/projects/emulated/serviceAccounts/{ACCOUNT}").status == 200
        assert second.call("GET", "/v1/projects/emulated/roles/small").status == 200
        assert second.call("GET", "/v1/projects/emulated").status == 403
