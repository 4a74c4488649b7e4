"""Custom jobs by plain requests: what is refused, what a list finds, who may what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from outlast_emulator.testing import running
from tests.emulator_vertex.conftest import JOBS, Vertex


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vertex]:
    """One emulator for all that is refused."""
    with running(tmp_path_factory.mktemp("emulator")) as found:
        yield Vertex(found)


TOO_LONG = "x" * 129


def spec(**more: Any) -> dict[str, Any]:
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": {"imageUri": "i"}}
    return {**pool, **more}


def body(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"displayName": "j", "jobSpec": {"workerPoolSpecs": list(pools or (spec(),)), **more}}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({**body(), "displayName": TOO_LONG}, "display_name is required"),
        ({**body(), "labels": {"Upper": "a"}}, "`Upper=a` is not valid"),
        ({**body(), "labels": {"a": "b.c"}}, "`a=b.c` is not valid"),
        ({"displayName": "j", "jobSpec": {}}, "worker_pool_specs[0] is required"),
        (body(spec(replicaCount="2")), "of the first pool it must be 1"),
        (body(*[spec()] * 5), "more than 4 pools"),
        (body(spec(machineSpec={"machineType": "c3-standard-4"})), 'Machine type "c3-standard-4" is not supported'),
        (body(spec(machineSpec={"machineType": "g2-standard-8"})), 'has 1 of accelerator "NVIDIA_L4"'),
        (
            body(
                spec(
                    machineSpec={
                        "machineType": "n1-standard-4",
                        "acceleratorType": "NVIDIA_TESLA_T4",
                        "acceleratorCount": 3,
                    }
                )
            ),
            "does not support 3",
        ),
        (body(spec(containerSpec={})), "image_uri is required"),
        (body({**spec(), "containerSpec": {"imageUri": "i", "env": [{"name": "1"}]}}), "no name of a variable"),
        (body(scheduling={"strategy": "CHEAP"}), "CHEAP"),
        (body(scheduling={"timeout": "0s"}), "must be positive"),
        (body(scheduling={"strategy": "FLEX_START"}), "FLEX_START is not supported"),
        (body(network="default"), "projects/NUMBER/global/networks/NAME"),
        (body(baseOutputDirectory={"outputUriPrefix": "/tmp"}), "gs://BUCKET/PREFIX"),
        (body(serviceAccount="nobody@emulated.iam.gserviceaccount.com"), "does not exist"),
        (body(spec(machineSpec={"machine": "n1"})), 'Unknown name "machine"'),
        (body(priority=1), 'Unknown name "priority"'),
    ],
)
def test_what_google_refuses_is_refused_with_what_is_wrong(
    shared: Vertex, document: dict[str, Any], words: str
) -> None:
    status, _, message = shared.refused(document)
    assert status == 400 and words in message


def test_what_is_not_there_is_said(shared: Vertex) -> None:
    vertex = shared
    package = {"executorImageUri": "i", "packageUris": ["gs://b/p"], "pythonModule": "m"}
    one = {**spec(), "pythonPackageSpec": package}
    del one["containerSpec"]
    machine = spec()["machineSpec"]
    for document, name in (
        (body(one), "pythonPackageSpec"),
        (body(spec(nfsMounts=[{"server": "s", "path": "/", "mountPoint": "m"}])), "nfsMounts"),
        (body(spec(machineSpec={**machine, "gpuPartitionSize": "1g.10gb"})), "gpuPartitionSize"),
        (body(persistentResourceId="mine"), "persistentResourceId"),
        (body(spec(containerSpec={"imageUri": "i", "args": ["--data=/gcs/bucket/data"]})), "/gcs/BUCKET"),
        (body(spec(containerSpec={"imageUri": "i", "env": [{"name": "A", "value": "/gcs/b"}]})), "/gcs/BUCKET"),
    ):
        status, _, message = vertex.refused(document)
        assert status == 501 and name in message
    assert vertex.refused(body(), path=JOBS.replace("us-central1", "moon-1"))[:2] == (404, "NOT_FOUND")
    assert vertex.refused(body(), path=JOBS.replace("emulated", "other"))[:2] == (403, "PERMISSION_DENIED")
    for number in ("1", "9" * 19, "x"):
        assert vertex.refused({}, "GET", f"{JOBS}/{number}")[:2] == (404, "NOT_FOUND")


def test_lists_are_filtered_paged_and_masked(vertex: Vertex) -> None:
    names = ["a-1", "a-2", "b-1"]
    for name in names:
        job = vertex.create(
            vertex.pool("true" if name != "a-2" else "exit 1"), name=name, labels={"of": name[0], "n": name}
        )
        vertex.over(job)

    def found(wanted: str, **more: str) -> list[str]:
        query = "&".join(f"{key}={quote(value)}" for key, value in {"filter": wanted, **more}.items())
        answer = vertex.emulator.call("GET", f"{JOBS}?{query}")
        assert answer.status == 200, answer.body
        return [one["displayName"] for one in answer.json().get("customJobs", [])]

    assert found("") == names[::-1]
    assert found('display_name="a-1"') == ["a-1"] and found('display_name:"a-*"') == ["a-2", "a-1"]
    assert found('state="JOB_STATE_FAILED"') == ["a-2"] and found("labels.of=a AND NOT state=JOB_STATE_FAILED") == [
        "a-1"
    ]
    assert found("labels.of:*") == names[::-1] and found("labels.other:*") == []
    assert found('labels.n=a-1 OR display_name="b-1"') == ["b-1", "a-1"]
    since = vertex.emulator.call("GET", f"{JOBS}?filter=labels.n=a-2").json()["customJobs"][0]["createTime"]
    assert found(f'create_time>="{since}"') == ["b-1", "a-2"] and found(f'create_time<"{since}"') == ["a-1"]
    first = vertex.emulator.call("GET", f"{JOBS}?pageSize=2&readMask=displayName,state").json()
    assert [sorted(one) for one in first["customJobs"]] == [["displayName", "state"]] * 2
    rest = vertex.emulator.call("GET", f"{JOBS}?pageSize=2&pageToken={first['nextPageToken']}").json()
    assert [one["displayName"] for one in rest["customJobs"]] == ["a-1"] and "nextPageToken" not in rest
    for wrong in ("project=x", "state>1", '"a"', "state=", "(state=a"):
        assert vertex.refused({}, "GET", f"{JOBS}?filter={quote(wrong)}")[1] == "INVALID_ARGUMENT"


def test_every_call_takes_its_permission(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool())
    vertex.over(job)
    one = f"/v1/{job}"
    calls = (
        ("GET", JOBS, "aiplatform.customJobs.list"),
        ("GET", one, "aiplatform.customJobs.get"),
        ("POST", JOBS, "aiplatform.customJobs.create"),
        ("POST", f"{one}:cancel", "aiplatform.customJobs.cancel"),
        ("DELETE", one, "aiplatform.customJobs.delete"),
    )
    vertex.headers = {"authorization": f"Bearer {vertex.token('viewer@example.com', 'roles/logging.viewer')}"}
    for verb, path, permission in calls:
        status, word, message = vertex.refused({}, verb, path)
        assert (status, word) == (403, "PERMISSION_DENIED") and permission in message
    vertex.headers = {"authorization": f"Bearer {vertex.token('user@example.com', 'roles/aiplatform.user')}"}
    assert vertex.get(job)["state"] == "JOB_STATE_SUCCEEDED"
    email = "trainer@emulated.iam.gserviceaccount.com"
    vertex.token(email, kind="service-accounts")
    acting = vertex.body(vertex.pool(), serviceAccount=email)
    status, _, message = vertex.refused(acting)
    assert status == 403 and email in message
    binding = {
        "resource": f"serviceAccounts/{email}",
        "role": "roles/iam.serviceAccountUser",
        "member": "user:user@example.com",
    }
    vertex.control("iam/bindings", binding)
    assert vertex.emulator.call("POST", JOBS, acting, vertex.headers).status == 200


def test_more_jobs_than_google_takes_in_a_minute_are_refused(vertex: Vertex) -> None:
    vertex.emulator.switch(vertex_submissions_per_minute=2, vertex_start_seconds=1000.0)
    assert vertex.emulator.inside is not None
    vertex.emulator.inside.clock.scale = 1.0
    created = [vertex.emulator.call("POST", JOBS, vertex.body(vertex.pool())).status for _ in range(3)]
    assert created == [200, 200, 429]
