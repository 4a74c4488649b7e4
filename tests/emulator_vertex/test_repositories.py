"""Artifact Registry's repositories: made, found, deleted with what is in them, and needed for a push where that is asked for."""

from __future__ import annotations

from outlast_emulator.testing import Running
from tests.emulator_vertex.images import push, tar

ALL = "/v1/projects/emulated/locations/us-central1/repositories"


def test_a_repository_lives_and_dies_with_its_images(emulator: Running) -> None:
    made = emulator.call("POST", f"{ALL}?repositoryId=outlast", {"format": "DOCKER", "labels": {"a": "b"}})
    operation = made.json()
    assert made.status == 200 and operation["done"]
    assert operation["response"]["registryUri"] == "us-central1-docker.pkg.dev/emulated/outlast"
    assert emulator.call("GET", f"/v1/{operation['name']}").json() == operation
    assert emulator.call("POST", f"{ALL}?repositoryId=outlast", {"format": "DOCKER"}).status == 409
    assert emulator.call("GET", f"{ALL}/outlast").json()["labels"] == {"a": "b"}
    assert [one["format"] for one in emulator.call("GET", ALL).json()["repositories"]] == ["DOCKER"]
    push(emulator, "emulated/outlast/train", "one", layers=(tar({"a": b"b"}),))
    push(emulator, "emulated/outlast-2/train", "one", layers=(tar({"a": b"b"}),))
    assert emulator.call("DELETE", f"{ALL}/outlast").json()["done"]
    assert emulator.call("GET", f"{ALL}/outlast").status == 404
    assert emulator.call("GET", "/v2/_catalog").json() == {"repositories": ["emulated/outlast-2/train"]}
    assert emulator.call("GET", "/v2/emulated/outlast-2/manifests/one").status == 404
    assert emulator.call("GET", "/v2/emulated/outlast-2/train/manifests/one").status == 200


def test_what_is_no_repository_is_refused(emulator: Running) -> None:
    assert emulator.call("POST", f"{ALL}?repositoryId=Upper", {"format": "DOCKER"}).status == 400
    assert emulator.call("POST", f"{ALL}?repositoryId=a", {"format": "MAVEN"}).status == 400
    moon = ALL.replace("us-central1", "moon")
    assert emulator.call("POST", f"{moon}?repositoryId=a", {"format": "DOCKER"}).status == 400


def test_a_push_needs_a_repository_where_that_is_asked_for(emulator: Running) -> None:
    emulator.switch(registry_needs_repository=True)
    refused = emulator.call("POST", "/v2/emulated/outlast/train/blobs/uploads/", b"")
    assert (refused.status, refused.json()["errors"][0]["code"]) == (404, "NAME_UNKNOWN")
    emulator.call("POST", f"{ALL}?repositoryId=outlast", {"format": "DOCKER"})
    assert emulator.call("POST", "/v2/emulated/outlast/train/blobs/uploads/", b"").status == 202
    assert emulator.call("POST", "/v2/other/outlast/train/blobs/uploads/", b"").status == 404
