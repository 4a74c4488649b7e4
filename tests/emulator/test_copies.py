"""Compose, copy, rewrite, move, patch, update, soft delete, holds, and batches."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
from typing import Any

import pytest

from outlast_emulator.testing import Answer, Running


def _post(emulator: Running, path: str, body: dict[str, object] | None = None) -> Answer:
    return emulator.call("POST", f"/storage/v1/b/{path}", body or {})


@pytest.mark.parametrize("sizes", [(3, 4), (0, 5, 0), (300_000, 1, 200_000), tuple(range(32))])
def test_a_composed_object_is_its_sources_one_after_the_other(
    emulator: Running, bucket: str, sizes: tuple[int, ...]
) -> None:
    pieces = [os.urandom(size) for size in sizes]
    for number, piece in enumerate(pieces):
        emulator.put(bucket, f"part-{number}", piece)
    sources = [{"name": f"part-{number}"} for number in range(len(pieces))]

    answer = _post(
        emulator, f"{bucket}/o/all/compose", {"sourceObjects": sources, "destination": {"contentType": "a/b"}}
    )

    assert answer.status == 200, answer.body
    found, whole = answer.json(), b"".join(pieces)
    assert emulator.get(bucket, "all", alt="media").body == whole
    assert (found["componentCount"], found["contentType"], "md5Hash" in found) == (len(pieces), "a/b", False)
    assert found["crc32c"] == emulator.put(bucket, "same", whole).json()["crc32c"]


def test_components_are_counted_through_compositions(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "one", b"1")
    _post(emulator, f"{bucket}/o/two/compose", {"sourceObjects": [{"name": "one"}, {"name": "one"}]})

    found = _post(emulator, f"{bucket}/o/two/compose", {"sourceObjects": [{"name": "two"}, {"name": "one"}]}).json()

    assert (found["componentCount"], found["size"]) == (3, "3")


def test_compose_refuses_no_source_too_many_and_missing_ones(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "one", b"1")

    assert _post(emulator, f"{bucket}/o/it/compose", {"sourceObjects": []}).status == 400
    assert _post(emulator, f"{bucket}/o/it/compose", {"sourceObjects": [{"name": "one"}] * 33}).status == 400
    answer = _post(emulator, f"{bucket}/o/it/compose", {"sourceObjects": [{"name": "one"}, {"name": "none"}]})
    assert answer.status == 404
    assert emulator.get(bucket, "it").status == 404


def test_compose_may_delete_its_sources(emulator: Running, bucket: str) -> None:
    for name in ("one", "two"):
        emulator.put(bucket, name, name.encode())
    body = {"sourceObjects": [{"name": "one"}, {"name": "two"}], "deleteSourceObjects": True}

    assert _post(emulator, f"{bucket}/o/all/compose", body).status == 200

    listed = emulator.call("GET", f"/storage/v1/b/{bucket}/o").json()["items"]
    assert [entry["name"] for entry in listed] == ["all"]


@pytest.mark.parametrize("size", [10, 500_000])
def test_a_copy_has_the_bytes_and_the_metadata_and_outlives_its_source(
    emulator: Running, bucket: str, size: int
) -> None:
    data = os.urandom(size)
    emulator.put(bucket, "a/source", data)
    emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/a%2Fsource", {"metadata": {"k": "v"}, "contentType": "x/y"})

    copied = _post(emulator, f"{bucket}/o/a%2Fsource/copyTo/b/{bucket}/o/b%2Fcopy").json()
    emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/a%2Fsource")

    assert (copied["name"], copied["metadata"], copied["contentType"]) == ("b/copy", {"k": "v"}, "x/y")
    assert emulator.get(bucket, "b/copy", alt="media").body == data


def test_metadata_sent_with_a_copy_replaces_the_source_s(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "source", b"x")
    emulator.call("PATCH", f"/storage/v1/b/{bucket}/o/source", {"metadata": {"k": "v"}})

    copied = _post(emulator, f"{bucket}/o/source/copyTo/b/{bucket}/o/it", {"metadata": {"n": "w"}}).json()

    assert copied["metadata"] == {"n": "w"}


def test_a_rewrite_to_another_class_takes_several_calls_with_a_token(emulator: Running, bucket: str) -> None:
    data = os.urandom(3 * 1024 * 1024 + 5)
    emulator.put(bucket, "source", data)
    path = f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it?maxBytesRewrittenPerCall={1024 * 1024}"
    body: dict[str, object] = {"storageClass": "NEARLINE"}
    token, calls = "", 0
    found: dict[str, Any] = {}
    while not found.get("done"):
        found = _post(emulator, path + (f"&rewriteToken={token}" if token else ""), body).json()
        calls += 1
        assert found["objectSize"] == str(len(data))
        if not found["done"]:
            assert found["totalBytesRewritten"] == str(calls * 1024 * 1024)
            assert emulator.get(bucket, "it").status == 404
            token = found["rewriteToken"]

    assert calls == 4
    assert found["resource"]["storageClass"] == "NEARLINE"
    assert emulator.get(bucket, "it", alt="media").body == data


def test_a_rewrite_within_one_class_and_place_is_done_at_once(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "source", bytes(3 * 1024 * 1024))

    found = _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it?maxBytesRewrittenPerCall=1048576").json()

    assert found["done"] is True
    assert _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it?maxBytesRewrittenPerCall=5").status == 400


def test_a_rewrite_token_of_another_request_is_refused(emulator: Running, bucket: str) -> None:
    emulator.switch(rewrite_bytes_per_call=10)
    try:
        emulator.put(bucket, "source", bytes(100))
        token = _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it").json()["rewriteToken"]
        assert _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/other?rewriteToken={token}").status == 400
        assert _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it?rewriteToken=nonsense").status == 400
        emulator.put(bucket, "source", bytes(100))
        assert _post(emulator, f"{bucket}/o/source/rewriteTo/b/{bucket}/o/it?rewriteToken={token}").status == 400
    finally:
        emulator.switch(rewrite_bytes_per_call=0)


@pytest.mark.parametrize("size", [10, 500_000])
def test_a_move_leaves_the_new_name_only(emulator: Running, bucket: str, size: int) -> None:
    data = os.urandom(size)
    emulator.put(bucket, "from", data)

    answer = _post(emulator, f"{bucket}/o/from/moveTo/o/to")

    assert answer.status == 200
    assert emulator.get(bucket, "from").status == 404
    assert emulator.get(bucket, "to", alt="media").body == data


def test_a_patch_merges_and_an_update_replaces(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"x")
    path = f"/storage/v1/b/{bucket}/o/it"
    emulator.call("PATCH", path, {"metadata": {"a": "1", "b": "2"}, "cacheControl": "no-store"})

    merged = emulator.call("PATCH", path, {"metadata": {"a": None, "c": "3"}, "cacheControl": None}).json()
    replaced = emulator.call("PUT", path, {"metadata": {"d": "4"}}).json()

    assert (merged["metadata"], merged.get("cacheControl")) == ({"b": "2", "c": "3"}, None)
    assert (replaced["metadata"], replaced["metageneration"]) == ({"d": "4"}, "4")
    assert emulator.get(bucket, "it", alt="media").body == b"x"


# ------------------------------------------------------------------------------------------------- deleted, but not gone


def test_a_custom_time_moves_on_and_is_never_taken_away(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "a", b"1")
    path = f"/storage/v1/b/{bucket}/o/a"

    def patched(time: str | None) -> int:
        return emulator.call("PATCH", path, {"customTime": time}).status

    assert [patched("2026-01-02T00:00:00Z"), patched("2026-01-01T00:00:00Z"), patched(None)] == [200, 400, 400]
    assert patched("2026-01-03T00:00:00Z") == 200
    assert emulator.call("PUT", path, {}).json()["customTime"] == "2026-01-03T00:00:00Z"


def test_metadata_has_a_limit_however_it_is_set(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "a", b"1")
    path = f"/storage/v1/b/{bucket}/o/a"
    large: dict[str, Any] = {"metadata": {"k": "v" * 9000}}
    composed: dict[str, Any] = {"sourceObjects": [{"name": "a"}], "destination": large}
    calls = (("PATCH", path, large), ("PUT", path, large), ("POST", f"{path}/compose", composed),
             *(("POST", f"{path}/{verb}/b/{bucket}/o/b", large) for verb in ("copyTo", "rewriteTo")))  # fmt: skip
    for verb, place, body in calls:
        answer = emulator.call(verb, place, body)
        assert answer.status == 400 and "8192 bytes" in answer.json()["error"]["message"], (verb, place, answer.body)


def test_a_soft_deleted_object_is_listed_and_restored_until_its_time_is_over(emulator: Running) -> None:
    policy = {"softDeletePolicy": {"retentionDurationSeconds": str(7 * 86400)}}
    emulator.make_bucket("with-policy", **policy)
    emulator.put("with-policy", "it", b"old")
    generation = emulator.put("with-policy", "it", b"new").json()["generation"]
    emulator.call("DELETE", "/storage/v1/b/with-policy/o/it")
    assert emulator.get("with-policy", "it").status == 404

    listed = emulator.call("GET", "/storage/v1/b/with-policy/o?softDeleted=true").json()["items"]
    restored = _post(emulator, f"with-policy/o/it/restore?generation={generation}")

    assert len(listed) == 2
    assert all(entry["softDeleteTime"] < entry["hardDeleteTime"] for entry in listed)
    assert restored.status == 200
    assert emulator.get("with-policy", "it", alt="media").body == b"new"
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 8 * 86400})
    assert "items" not in emulator.call("GET", "/storage/v1/b/with-policy/o?softDeleted=true").json()


def test_without_a_policy_a_deleted_object_is_gone(emulator: Running, bucket: str) -> None:
    generation = emulator.put(bucket, "it", b"x").json()["generation"]
    emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/it")

    assert _post(emulator, f"{bucket}/o/it/restore?generation={generation}").status == 404


def test_a_bucket_made_without_a_word_about_it_has_google_s_soft_delete_policy(emulator: Running) -> None:
    answer = emulator.call("POST", f"/storage/v1/b?project={emulator.project}", {"name": "plain-one"})

    assert answer.json()["softDeletePolicy"]["retentionDurationSeconds"] == "604800"


@pytest.mark.parametrize("hold", ["temporaryHold", "eventBasedHold"])
def test_a_held_object_can_neither_be_deleted_nor_replaced(emulator: Running, bucket: str, hold: str) -> None:
    emulator.put(bucket, "it", b"held")
    path = f"/storage/v1/b/{bucket}/o/it"
    emulator.call("PATCH", path, {hold: True})

    assert emulator.call("DELETE", path).status == 403
    assert emulator.put(bucket, "it", b"other").status == 403
    emulator.call("PATCH", path, {hold: False})
    assert emulator.call("DELETE", path).status == 204


# ------------------------------------------------------------------------------------------------------------- buckets


def test_a_bucket_s_name_is_taken_once(emulator: Running, bucket: str) -> None:
    answer = emulator.call("POST", f"/storage/v1/b?project={emulator.project}", {"name": bucket})
    other = emulator.call("POST", "/storage/v1/b?project=another", {"name": bucket})

    assert (answer.status, other.status) == (409, 409)
    assert answer.json()["error"]["message"] != other.json()["error"]["message"]


@pytest.mark.parametrize("name", ["ab", "UPPER", "a" * 64, "-a-", "goog-x", "my-google-b", "1.2.3.4", "a..b", "ä-b"])
def test_bucket_names_follow_google_s_rules(emulator: Running, name: str) -> None:
    assert emulator.call("POST", f"/storage/v1/b?project={emulator.project}", {"name": name}).status == 400


def test_only_an_empty_bucket_can_be_deleted(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "it", b"x")

    assert emulator.call("DELETE", f"/storage/v1/b/{bucket}").status == 409
    emulator.call("DELETE", f"/storage/v1/b/{bucket}/o/it")
    assert emulator.call("DELETE", f"/storage/v1/b/{bucket}").status == 204
    assert emulator.call("GET", f"/storage/v1/b/{bucket}").status == 404


def test_a_bucket_keeps_what_it_was_made_with(emulator: Running) -> None:
    body = {
        "name": "made-with-care",
        "location": "europe-west4",
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
        "softDeletePolicy": {"retentionDurationSeconds": "0"},
        "lifecycle": {"rule": [{"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}]},
        "labels": {"a": "b"},
    }
    emulator.call("POST", f"/storage/v1/b?project={emulator.project}", body)

    found = emulator.call("GET", "/storage/v1/b/made-with-care").json()

    assert (found["location"], found["locationType"]) == ("EUROPE-WEST4", "region")
    assert found["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"] is True
    assert found["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    assert (found["softDeletePolicy"]["retentionDurationSeconds"], found["lifecycle"]) == ("0", body["lifecycle"])
    patched = emulator.call("PATCH", "/storage/v1/b/made-with-care", {"labels": {"a": None, "c": "d"}}).json()
    assert (patched["labels"], patched["metageneration"]) == ({"c": "d"}, "2")


@pytest.mark.parametrize(
    "fields",
    [
        {"versioning": {"enabled": True}},
        {"billing": {"requesterPays": True}},
        {"hierarchicalNamespace": {"enabled": True}},
        {"autoclass": {"enabled": True}},
        {"encryption": {"defaultKmsKeyName": "k"}},
    ],
)
def test_what_the_emulator_does_not_know_of_a_bucket_is_501_and_not_ignored(
    emulator: Running, bucket: str, fields: dict[str, object]
) -> None:
    made = emulator.call("POST", f"/storage/v1/b?project={emulator.project}", {"name": "never-made", **fields})

    assert (made.status, emulator.call("PATCH", f"/storage/v1/b/{bucket}", fields).status) == (501, 501)
    assert emulator.call("GET", "/storage/v1/b/never-made").status == 404


def test_keys_of_the_customer_are_501_and_not_ignored(emulator: Running, bucket: str) -> None:
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=it"

    assert emulator.call("POST", path, b"x", {"x-goog-encryption-algorithm": "AES256"}).status == 501
    assert emulator.call("POST", f"{path}&kmsKeyName=k", b"x").status == 501
    assert emulator.get(bucket, "it").status == 404


def test_buckets_are_listed_by_project_prefix_and_page(emulator: Running) -> None:
    for name in ("listed-a", "listed-b", "listed-c"):
        emulator.call("POST", "/storage/v1/b?project=lister", {"name": name})

    first = emulator.call("GET", "/storage/v1/b?project=lister&maxResults=2").json()
    second = emulator.call("GET", f"/storage/v1/b?project=lister&pageToken={first['nextPageToken']}").json()

    assert [entry["name"] for entry in first["items"] + second["items"]] == ["listed-a", "listed-b", "listed-c"]
    only = emulator.call("GET", "/storage/v1/b?project=lister&prefix=listed-b").json()
    assert [entry["name"] for entry in only["items"]] == ["listed-b"]
    assert emulator.call("GET", "/storage/v1/b").status == 400


# ------------------------------------------------------------------------------------------------------------- batches


def _batch(emulator: Running, calls: list[str]) -> list[tuple[str, int, str]]:
    lines = []
    for number, call in enumerate(calls):
        lines += ["--=x=", "Content-Type: application/http", f"Content-ID: <id+{number}>", "", call]
    body = "\r\n".join([*lines, "--=x=--"]).encode()
    answer = emulator.call("POST", "/batch/storage/v1", body, {"content-type": 'multipart/mixed; boundary="=x="'})
    assert answer.status == 200, answer.body
    mark = answer.headers["content-type"].split("boundary=")[1]
    parts = answer.body.decode().split(f"--{mark}")[1:-1]
    found = []
    for part in parts:
        content_id = re.search(r"Content-ID: <(.*)>", part)
        status = re.search(r"HTTP/1.1 (\d+)", part)
        assert content_id and status
        found.append((content_id[1], int(status[1]), part.split("\r\n\r\n", 2)[-1].strip()))
    return found


def test_a_batch_answers_each_call_for_itself(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "one", b"1")
    emulator.put(bucket, "two", b"2")
    patch = json.dumps({"metadata": {"a": "b"}})

    answers = _batch(
        emulator,
        [
            f"DELETE http://any.host/storage/v1/b/{bucket}/o/one HTTP/1.1\r\naccept: application/json\r\n\r\n",
            f"DELETE /storage/v1/b/{bucket}/o/none HTTP/1.1\r\n\r\n",
            f"PATCH /storage/v1/b/{bucket}/o/two?fields=metadata HTTP/1.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(patch)}\r\n\r\n{patch}",
            f"GET /storage/v1/b/{bucket}/o/two?alt=media HTTP/1.1\r\n\r\n",
        ],
    )

    assert [entry[:2] for entry in answers] == [
        ("response-id+0", 204),
        ("response-id+1", 404),
        ("response-id+2", 200),
        ("response-id+3", 400),
    ]
    assert json.loads(answers[2][2]) == {"metadata": {"a": "b"}}
    assert emulator.get(bucket, "one").status == 404


def test_a_fault_within_a_batch_hits_the_batch(emulator: Running, bucket: str) -> None:
    emulator.put(bucket, "one", b"1")
    fault = emulator.fault("storage.objects.delete", "lost")

    with pytest.raises((ConnectionError, http.client.HTTPException)):
        _batch(emulator, [f"DELETE /storage/v1/b/{bucket}/o/one HTTP/1.1\r\n\r\n"])

    assert emulator.used_up(fault)
    assert emulator.get(bucket, "one").status == 404


def test_a_batch_of_more_than_a_hundred_calls_is_refused(emulator: Running, bucket: str) -> None:
    call = f"--x\r\n\r\nGET /storage/v1/b/{bucket} HTTP/1.1\r\n\r\n\r\n"
    body = (call * 101 + "--x--").encode()

    assert emulator.call("POST", "/batch", body, {"content-type": "multipart/mixed; boundary=x"}).status == 400


def test_the_hash_of_a_small_and_of_a_large_object_is_that_of_its_bytes(emulator: Running, bucket: str) -> None:
    import hashlib

    for size in (0, 1, 16384, 16385, 262_145, 5_000_001):
        data = os.urandom(size)
        found = emulator.put(bucket, f"size-{size}", data).json()
        assert base64.b64decode(found["md5Hash"]) == hashlib.md5(data).digest()
        assert found["size"] == str(size)
