"""The requests that only Google itself answers: where they go, with a token or without, and what is made of the answers."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from outlast.google.artifacts import ArtifactsClient
from outlast.google.auth.credentials import Anonymous
from outlast.google.endpoints import GOOGLE
from outlast.google.errors import ApiError
from outlast.google.logging import LoggingClient, entry_of, of_job
from outlast.google.transport import Transport
from outlast.google.vertex import VertexClient
from outlast.google.wire import NoAnswer
from tests.gcs.wires import LOST, HandClock, ScriptedWire, ok, refused


def transport(wire: ScriptedWire) -> Transport:
    return Transport(GOOGLE, wire, HandClock(), Random(0), {}, credentials=Anonymous())


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p", True),
        ("https://europe-west12-aiplatform.googleapis.com/v1/projects/p", True),
        ("https://logging.googleapis.com/v2/entries:list", True),
        ("https://artifactregistry.googleapis.com/v1/projects/p", True),
        ("https://us-central1-aiplatform.googleapis.com.example.com/v1", False),
        ("https://evil-aiplatform.googleapis.com/v1", False),
        ("http://us-central1-aiplatform.googleapis.com/v1", False),
    ],
)
def test_a_token_goes_to_the_regions_hosts_and_to_nobody_else(url: str, taken: bool) -> None:
    assert GOOGLE.takes_token(url) is taken


def test_a_custom_job_is_asked_for_once() -> None:
    """Whose answer is lost may have made one."""
    wire = ScriptedWire(LOST)
    with pytest.raises(NoAnswer):
        VertexClient(transport(wire), "p", "us-central1").create({"displayName": "x"})
    (request,) = wire.requests
    assert request.url == "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/customJobs"


def test_a_list_is_read_to_its_end() -> None:
    wire = ScriptedWire(
        ok(b'{"customJobs": [{"name": "a"}], "nextPageToken": "t"}'), ok(b'{"customJobs": [{"name": "b"}]}')
    )
    found = list(VertexClient(transport(wire), "p", "us-central1").list("labels.outlast-launch=x"))
    assert [one["name"] for one in found] == ["a", "b"]
    assert "pageToken=t" in wire.requests[1].url and "filter=labels.outlast-launch%3Dx" in wire.requests[0].url


def test_a_repository_is_made_once_and_waited_for() -> None:
    wire = ScriptedWire(
        refused(404), ok(b'{"name": "operations/1"}'), ok(b'{"name": "operations/1", "done": true, "response": {}}')
    )
    client = ArtifactsClient(transport(wire), "p", "us-central1")
    assert not client.has_repository("outlast")
    client.make_repository("outlast", HandClock())
    assert [request.method for request in wire.requests] == ["GET", "POST", "GET"]
    assert wire.requests[1].url.endswith("/v1/projects/p/locations/us-central1/repositories?repositoryId=outlast")
    assert isinstance(wire.requests[1].body, bytes)
    assert json.loads(wire.requests[1].body)["format"] == "DOCKER"
    ArtifactsClient(transport(ScriptedWire(refused(409))), "p", "us-central1").make_repository("outlast", HandClock())


def test_what_a_repository_is_made_of_is_in_googles_document() -> None:
    """The document that Google's own client ships."""
    path = (
        Path(pytest.importorskip("googleapiclient").__file__).parent
        / "discovery_cache/documents/artifactregistry.v1.json"
    )
    document = json.loads(path.read_text())
    methods = document["resources"]["projects"]["resources"]["locations"]["resources"]["repositories"]["methods"]
    assert methods["create"]["flatPath"] == "v1/projects/{projectsId}/locations/{locationsId}/repositories"
    assert "repositoryId" in methods["create"]["parameters"]
    assert "DOCKER" in document["schemas"]["Repository"]["properties"]["format"]["enum"]


def test_the_newest_entries_are_one_question_and_in_order() -> None:
    wire = ScriptedWire(
        ok(b'{"entries": [{"textPayload": "two", "timestamp": "2"}, {"textPayload": "one", "timestamp": "1"}]}')
    )
    found = LoggingClient(transport(wire), "p").newest(of_job("7"), 2)
    assert [one.text for one in found] == ["one", "two"]
    (request,) = wire.requests
    assert isinstance(request.body, bytes)
    asked = json.loads(request.body)
    assert asked["orderBy"] == "timestamp desc" and asked["resourceNames"] == ["projects/p"]
    assert asked["filter"] == 'resource.type="ml_job" AND resource.labels.job_id="7"'


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"jsonPayload": {"message": "m"}}, "m"),
        ({"textPayload": "t\n"}, "t"),
        ({"jsonPayload": {"other": 1}}, ""),
        ({"protoPayload": {}}, ""),
        ({}, ""),
    ],
)
def test_an_entry_may_have_anything_or_nothing(document: dict[str, object], text: str) -> None:
    found = entry_of(document)
    assert (found.text, found.severity) == (text, "DEFAULT")


def test_a_refusal_is_a_refusal() -> None:
    with pytest.raises(ApiError):
        LoggingClient(transport(ScriptedWire(refused(403))), "p").newest("x", 1)
