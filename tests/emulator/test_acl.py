"""Access control lists: kept, shown to those who ask for them and may see them, and refused where access is uniform."""

from __future__ import annotations

from typing import Any

import pytest

from outlast_emulator.testing import Answer, Running


def _insert(emulator: Running, bucket: str, more: str = "") -> Answer:
    return emulator.call("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it{more}", b"x")


def _roles(found: dict[str, Any], field: str = "acl") -> dict[str, str]:
    return {entry["entity"].rpartition("-424242424242")[0] or entry["entity"]: entry["role"] for entry in found[field]}


PROJECT = {"project-owners": "OWNER", "project-editors": "OWNER", "project-viewers": "READER"}


def test_lists_are_answered_to_those_who_ask_for_them(emulator: Running, bucket: str) -> None:
    assert "acl" not in _insert(emulator, bucket).json()
    assert "acl" not in emulator.get(bucket, "it").json()
    found = emulator.get(bucket, "it", projection="full").json()
    assert (_roles(found), found["owner"]["entity"]) == (PROJECT, "project-owners-424242424242")
    assert found["acl"][0]["projectTeam"] == {"team": "owners", "projectNumber": "424242424242"}
    listed = emulator.call("GET", f"/storage/v1/b/{bucket}/o?projection=full&fields=items/acl").json()
    assert _roles(listed["items"][0]) == PROJECT
    place = emulator.call("GET", f"/storage/v1/b/{bucket}?projection=full").json()
    assert _roles(place) == _roles(place, "defaultObjectAcl") == PROJECT
    assert "acl" not in emulator.call("GET", f"/storage/v1/b/{bucket}").json()


def test_a_list_is_asked_for_by_its_name_or_sent_and_goes_with_a_rewrite_only_if_it_is_sent(
    emulator: Running, bucket: str
) -> None:
    assert _roles(_insert(emulator, bucket, "&predefinedAcl=publicRead&projection=full").json())["allUsers"] == "READER"
    shown = emulator.get(bucket, "it", projection="full").json()
    path = f"/storage/v1/b/{bucket}/o/it/rewriteTo/b/{bucket}/o"
    sent = emulator.call("POST", f"{path}/sent?projection=full", {"acl": shown["acl"]}).json()["resource"]
    plain = emulator.call("POST", f"{path}/plain?projection=full", {}).json()["resource"]
    assert (_roles(sent), _roles(plain)) == (_roles(shown), PROJECT)
    changed = emulator.call(
        "PATCH", f"/storage/v1/b/{bucket}/o/it", {"acl": [{"entity": "user-a@b.c", "role": "OWNER"}]}
    )
    assert [entry["email"] for entry in changed.json()["acl"]] == ["a@b.c"]
    emulator.call("PATCH", f"/storage/v1/b/{bucket}?predefinedDefaultObjectAcl=authenticatedRead", {})
    assert "allAuthenticatedUsers" in _roles(emulator.get(bucket, "plain", projection="full").json())


@pytest.mark.parametrize("entry", [{"role": "OWNER"}, {"entity": "allUsers"}, {"entity": "allUsers", "role": "KING"}])
def test_an_entry_without_sense_is_refused(emulator: Running, bucket: str, entry: dict[str, str]) -> None:
    _insert(emulator, bucket)
    assert emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/it", {"acl": [entry]}).status == 400


def test_where_access_is_uniform_there_are_no_lists(emulator: Running, bucket: str) -> None:
    _insert(emulator, bucket, "&predefinedAcl=publicRead")
    uniform = {"iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}}}
    assert emulator.call("PATCH", f"/storage/v1/b/{bucket}", uniform).status == 200
    for found in (
        emulator.get(bucket, "it", projection="full"),
        emulator.call("GET", f"/storage/v1/b/{bucket}?projection=full"),
    ):
        assert not {"acl", "defaultObjectAcl", "owner"} & set(found.json())
    assert _insert(emulator, bucket, "&predefinedAcl=publicRead").status == 400
    entry = {"acl": [{"entity": "allUsers", "role": "READER"}]}
    assert emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/it", entry).status == 400
    assert emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/it", {"metadata": {"a": "b"}}).status == 200
