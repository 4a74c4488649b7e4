"""google-cloud-storage, Google's own library, drives the emulator."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.api_core.exceptions import Conflict, NotFound, PreconditionFailed
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager

from outlast_emulator.testing import Running
from tests.emulator_clients.threads import ended_threads

CLIENT = "google-cloud-storage"

LARGE = random.Random(1).randbytes(20 << 20)


@pytest.fixture
def client(emulator: Running) -> Iterator[storage.Client]:
    with ended_threads():
        yield storage.Client(project="emulated", credentials=AnonymousCredentials())


def test_a_bucket_is_made_found_changed_and_deleted(client: storage.Client) -> None:
    made = client.create_bucket("gcs-life", location="us-central1")
    assert made.location == "US-CENTRAL1"
    with pytest.raises(Conflict):
        client.create_bucket("gcs-life")
    assert "gcs-life" in [bucket.name for bucket in client.list_buckets()]
    made.labels = {"kind": "test"}
    made.add_lifecycle_delete_rule(age=3)
    made.patch()
    found = client.get_bucket("gcs-life")
    assert found.labels == {"kind": "test"} and found.metageneration > 1
    assert list(found.lifecycle_rules) == [{"action": {"type": "Delete"}, "condition": {"age": 3}}]
    found.delete()
    with pytest.raises(NotFound):
        client.get_bucket("gcs-life")


def test_objects_are_written_on_condition_and_read_whole_and_in_parts(client: storage.Client, bucket: str) -> None:
    blob = client.bucket(bucket).blob("a/b c+ä.txt")
    blob.metadata = {"step": "7"}
    blob.upload_from_string(b"0123456789", if_generation_match=0, checksum="crc32c")
    with pytest.raises(PreconditionFailed):
        blob.upload_from_string(b"other", if_generation_match=0)
    found = client.bucket(bucket).get_blob("a/b c+ä.txt")
    assert found.metadata == {"step": "7"} and found.size == 10 and found.md5_hash == "eB5eJF1ptWaXm4bijSPyxw=="
    assert found.download_as_bytes(checksum="md5") == b"0123456789"
    assert found.download_as_bytes(start=2, end=4) == b"234"
    assert found.download_as_bytes(start=7) == b"789"
    with pytest.raises(PreconditionFailed):
        found.delete(if_generation_match=found.generation + 1)
    found.delete(if_generation_match=found.generation)
    assert not found.exists()


def test_a_large_object_is_uploaded_in_chunks_and_resumed(
    client: storage.Client, emulator: Running, bucket: str
) -> None:
    fault = emulator.fault("storage.objects.insert", "error", status=503, match={"query": {"upload_id": "?*"}})
    blob = client.bucket(bucket).blob("large", chunk_size=5 << 20)
    blob.upload_from_file(io.BytesIO(LARGE), size=len(LARGE), checksum="crc32c")
    assert emulator.used_up(fault)
    assert client.bucket(bucket).blob("large").download_as_bytes(checksum="crc32c") == LARGE


def test_the_transfer_manager_uploads_and_downloads_in_parallel(
    client: storage.Client, bucket: str, tmp_path: Path
) -> None:
    place = client.bucket(bucket)
    (tmp_path / "large").write_bytes(LARGE)
    threads = {"worker_type": transfer_manager.THREAD, "max_workers": 4}
    chunked = {**threads, "chunk_size": 6 << 20}
    transfer_manager.upload_chunks_concurrently(str(tmp_path / "large"), place.blob("chunked"), **chunked)
    transfer_manager.download_chunks_concurrently(place.blob("chunked"), str(tmp_path / "back"), **chunked)
    assert (tmp_path / "back").read_bytes() == LARGE
    pairs = [(io.BytesIO(b"%d" % number), place.blob(f"many/{number}")) for number in range(40)]
    assert [outcome for outcome in transfer_manager.upload_many(pairs, **threads) if outcome] == []
    sinks = [(place.blob(f"many/{number}"), io.BytesIO()) for number in range(40)]
    assert [outcome for outcome in transfer_manager.download_many(sinks, **threads) if outcome] == []
    assert [sink.getvalue() for _, sink in sinks] == [b"%d" % number for number in range(40)]


def test_lists_have_prefixes_pages_and_offsets(client: storage.Client, bucket: str) -> None:
    place = client.bucket(bucket)
    for number in range(7):
        place.blob(f"n/{number}/x").upload_from_string(b"")
    listed = client.list_blobs(bucket, prefix="n/", delimiter="/", page_size=2)
    assert [blob.name for blob in listed] == [] and listed.prefixes == {f"n/{number}/" for number in range(7)}
    names = [blob.name for blob in client.list_blobs(bucket, page_size=3)]
    assert names == [f"n/{number}/x" for number in range(7)]
    some = client.list_blobs(bucket, start_offset="n/2", end_offset="n/5", fields="items(name),nextPageToken")
    assert [blob.name for blob in some] == ["n/2/x", "n/3/x", "n/4/x"]
    assert [blob.name for blob in client.list_blobs(bucket, match_glob="n/*/x", max_results=2)] == ["n/0/x", "n/1/x"]


def test_objects_are_copied_composed_rewritten_moved_and_patched(client: storage.Client, bucket: str) -> None:
    place = client.bucket(bucket)
    for name in ("one", "two"):
        place.blob(name).upload_from_string(name.encode())
    both = place.blob("both")
    both.compose([place.blob("one"), place.blob("two")], if_generation_match=0)
    assert both.download_as_bytes() == b"onetwo"
    assert place.copy_blob(place.blob("both"), place, "copied").download_as_bytes() == b"onetwo"
    assert place.blob("rewritten").rewrite(place.blob("both"))[1:] == (6, 6)
    assert place.move_blob(place.blob("rewritten"), "moved").download_as_bytes() == b"onetwo"
    assert not place.blob("rewritten").exists()
    patched = place.get_blob("moved")
    patched.metadata = {"a": "b"}
    wait_for_the_write_limit()
    patched.patch(if_metageneration_match=patched.metageneration)
    assert place.get_blob("moved").metadata == {"a": "b"}


def test_a_batch_deletes_many_at_once(client: storage.Client, bucket: str) -> None:
    place = client.bucket(bucket)
    for number in range(15):
        place.blob(f"n/{number}").upload_from_string(b"x")
    with client.batch():
        for number in range(15):
            place.blob(f"n/{number}").delete()
    assert list(client.list_blobs(bucket)) == []


def test_a_bucket_has_a_policy_that_can_be_changed(client: storage.Client, bucket: str) -> None:
    place = client.bucket(bucket)
    policy = place.get_iam_policy(requested_policy_version=3)
    policy.bindings.append({"role": "roles/storage.objectViewer", "members": {"user:reader@example.invalid"}})
    place.set_iam_policy(policy)
    roles = {binding["role"] for binding in place.get_iam_policy().bindings}
    assert "roles/storage.objectViewer" in roles
    assert place.test_iam_permissions(["storage.objects.get"]) == ["storage.objects.get"]
    assert client.get_service_account_email().endswith("@gs-project-accounts.iam.gserviceaccount.com")


def wait_for_the_write_limit() -> None:
    """Google takes one change a second of one object; what is waited for is its clock and nothing else."""
    time.sleep(1.1)
