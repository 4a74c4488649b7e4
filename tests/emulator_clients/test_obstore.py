"""obstore (Rust's object_store) drives the emulator's XML API."""

from __future__ import annotations

import random

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError
from obstore.store import GCSStore, S3Store

from outlast_emulator.testing import Running

CLIENT = "obstore"

LARGE = random.Random(2).randbytes(20 << 20)


@pytest.fixture
def store(emulator: Running, bucket: str) -> GCSStore:
    return GCSStore(bucket, base_url=emulator.url, bearer_token="fake", client_options={"allow_http": True})


def test_objects_are_created_once_and_read_whole_and_in_parts(store: GCSStore) -> None:
    obstore.put(store, "a/b c+%ä.txt", b"0123456789", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a/b c+%ä.txt", b"other", mode="create")
    assert obstore.head(store, "a/b c+%ä.txt")["size"] == 10
    assert bytes(obstore.get(store, "a/b c+%ä.txt").bytes()) == b"0123456789"
    assert bytes(obstore.get_range(store, "a/b c+%ä.txt", start=2, end=5)) == b"234"
    assert bytes(obstore.get(store, "a/b c+%ä.txt", options={"range": {"suffix": 3}}).bytes()) == b"789"
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "none")


def test_a_large_object_is_uploaded_in_parts(store: GCSStore) -> None:
    obstore.put(store, "large", LARGE, use_multipart=True, chunk_size=6 << 20, max_concurrency=4)
    assert bytes(obstore.get(store, "large").bytes()) == LARGE


def test_lists_have_prefixes_and_offsets(store: GCSStore) -> None:
    for number in range(7):
        obstore.put(store, f"n/{number}/x y", b"")
    names = [entry["path"] for page in obstore.list(store, "n", chunk_size=3) for entry in page]
    assert names == [f"n/{number}/x y" for number in range(7)]
    later = [entry["path"] for page in obstore.list(store, "n", offset="n/4") for entry in page]
    assert later == [f"n/{number}/x y" for number in (4, 5, 6)]
    assert list(obstore.list_with_delimiter(store, "n")["common_prefixes"]) == [f"n/{number}" for number in range(7)]


def test_objects_are_copied_renamed_and_deleted(store: GCSStore) -> None:
    obstore.put(store, "one", b"1")
    obstore.copy(store, "one", "two", overwrite=False)
    with pytest.raises(AlreadyExistsError):
        obstore.copy(store, "one", "two", overwrite=False)
    obstore.rename(store, "two", "three")
    assert [entry["path"] for page in obstore.list(store) for entry in page] == ["one", "three"]
    obstore.delete(store, ["one", "three"])
    assert [entry for page in obstore.list(store) for entry in page] == []


def test_a_client_of_the_other_cloud_deletes_many_at_once(emulator: Running, bucket: str) -> None:
    other = S3Store(bucket, endpoint=emulator.url, skip_signature=True, client_options={"allow_http": True})
    names = [f"n/{number} &+ä" for number in range(30)]
    for name in names:
        obstore.put(other, name, b"x")
    obstore.delete(other, names)
    assert [entry for page in obstore.list(other) for entry in page] == []
