"""Custom jobs that really run: their image, their environment, their replicas, their end."""

from __future__ import annotations

import json
import re
from pathlib import Path

from outlast_emulator.testing import running
from tests.emulator_vertex.conftest import Vertex
from tests.emulator_vertex.images import push, system, tar
from tests.waiting import until

SLEEPING = "trap 'echo told; exit 0' TERM; echo up; while true; do sleep 0.05; done"


def test_a_job_runs_its_image_and_what_it_says_is_in_the_log(vertex: Vertex) -> None:
    todo = (
        'echo "$FROM $OWN $AIP_MODEL_DIR $CLOUD_ML_PROJECT_ID ${TF_CONFIG-none}"; '
        'echo "$CLUSTER_SPEC"; echo bad >&2; cat /opt/run.sh | wc -l'
    )
    pool = vertex.pool(container={"env": [{"name": "TODO", "value": todo}, {"name": "OWN", "value": "value"}]})
    job = vertex.create(pool, baseOutputDirectory={"outputUriPrefix": "gs://b/jobs/one/"})
    assert vertex.get(job)["state"] in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED")
    found = vertex.over(job)
    assert found["state"] == "JOB_STATE_SUCCEEDED" and "error" not in found
    assert found["createTime"] <= found["startTime"] <= found["endTime"]
    said = vertex.said(job)
    assert "image value gs://b/jobs/one/model/ 424242424242 none" in said and "bad" in said and "2" in said
    number = job.rpartition("/")[2]
    wanted = f'resource.labels.job_id="{number}" AND severity>=ERROR'
    body = {"resourceNames": ["projects/emulated"], "filter": wanted}
    errors = vertex.emulator.call("POST", "/v2/entries:list", body).json()["entries"]
    assert [one["jsonPayload"]["message"] for one in errors] == ["bad"]
    body["filter"] = f'resource.labels.job_id="{number}" AND jsonPayload.environment="cloud"'
    (spec,) = vertex.emulator.call("POST", "/v2/entries:list", body).json()["entries"]
    described = spec["jsonPayload"]
    assert described["task"] == {"type": "workerpool0", "index": 0}
    assert list(described["cluster"]) == ["workerpool0"] and described["job"]["workerPoolSpecs"]


def test_replicas_of_several_pools_reach_one_another_and_end_with_the_first(vertex: Vertex) -> None:
    ask = (
        "import json,os,socket,time; c=json.loads(os.environ['CLUSTER_SPEC']); t=json.loads(os.environ['TF_CONFIG'])\n"
        "print(t['task']['type'], t['task']['index'], sorted(t['cluster']), socket.gethostname() == "
        "c['cluster'][c['task']['type']][c['task']['index']].split(':')[0], flush=True)\n"
        "host, port = c['cluster']['workerpool0'][0].split(':')\n"
        "if c['task']['type'] == 'workerpool0':\n"
        "    s = socket.create_server(('', int(port))); got = sorted(s.accept()[0].recv(99).decode() for _ in range(3))\n"
        "    print(json.dumps(got), flush=True)\n"
        "else:\n"
        "    while True:\n"
        "        try: s = socket.create_connection((host, int(port))); break\n"
        "        except OSError: time.sleep(0.05)\n"
        "    s.sendall(socket.gethostname().encode()); s.close(); time.sleep(1000)\n"
    )
    todo = f"exec python3 -c '{ask.replace(chr(39), chr(34))}'"
    job = vertex.create(vertex.pool(todo), vertex.pool(todo, 2), {}, vertex.pool(todo))
    found = vertex.over(job)
    assert found["state"] == "JOB_STATE_SUCCEEDED", vertex.said(job)
    first, got = vertex.said(job)
    assert first == "chief 0 ['chief', 'worker'] True"
    assert [re.sub("-[0-9a-f]{10}-", "-", one) for one in json.loads(got)] == [
        "cmle-training-workerpool1-0",
        "cmle-training-workerpool1-1",
        "cmle-training-workerpool3-0",
    ]
    assert vertex.said(job, "workerpool1-1") == ["worker 1 ['chief', 'worker'] True"]
    assert vertex.said(job, "workerpool3-0") == ["evaluator 0 ['chief', 'worker'] True"]
    assert vertex.alive() == []


def test_a_running_job_is_in_the_ledger_and_an_ended_one_is_not(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool(SLEEPING), vertex.pool(SLEEPING, 2))
    vertex.says(job, "up")
    number = job.rpartition("/")[2]
    assert vertex.alive() == [f"{number}/{name}" for name in ("workerpool0-0", "workerpool1-0", "workerpool1-1")]
    (shown,) = vertex.control("vertex/jobs")["jobs"]
    assert shown["job"] == number and [one["replica"] for one in shown["replicas"]] == [
        "workerpool0-0",
        "workerpool1-0",
        "workerpool1-1",
    ]
    vertex.emulator.call("POST", f"/v1/{job}:cancel", {})
    assert vertex.is_in(job, "CANCELLED")
    assert vertex.alive() == [] and vertex.control("ledger")["usd_total"] > 0
    lines = vertex.control("vertex/usage")["lines"]
    assert len(lines) == 3 and all(one["ended_at"] and one["usd_per_hour"] > 0.19 for one in lines)


def test_a_cancelled_job_is_told_and_then_killed(vertex: Vertex) -> None:
    deaf = vertex.create(vertex.pool("trap '' TERM; echo up; while true; do sleep 0.05; done"), name="deaf")
    kind = vertex.create(vertex.pool(SLEEPING), name="kind")
    vertex.emulator.switch(vertex_error_seconds=0)
    for job in (deaf, kind):
        vertex.says(job, "up")
        if job == kind:  # it has all of Google's time to say that it was told, however busy this computer is
            assert vertex.emulator.inside is not None
            vertex.emulator.inside.clock.scale = 1.0
        answer = vertex.emulator.call("POST", f"/v1/{job}:cancel", {})
        assert (answer.status, answer.json()) == (200, {})
        found = vertex.over(job)
        assert found["state"] == "JOB_STATE_CANCELLED" and found["error"]["code"] == 1
    assert "told" in vertex.said(kind)
    status, word, message = vertex.refused({}, path=f"/v1/{kind}:cancel")
    assert (status, word) == (400, "FAILED_PRECONDITION") and "JOB_STATE_CANCELLED" in message


def test_only_what_is_over_is_deleted_and_then_it_is_gone(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool(SLEEPING))
    vertex.says(job, "up")
    assert vertex.refused({}, "DELETE", f"/v1/{job}")[1] == "FAILED_PRECONDITION"
    vertex.emulator.call("POST", f"/v1/{job}:cancel", {})
    vertex.over(job)
    operation = until(lambda: _deleted(vertex, job))
    assert operation["done"] and operation["response"]
    assert vertex.emulator.call("GET", f"/v1/{operation['name']}").json() == operation
    assert vertex.refused({}, "GET", f"/v1/{job}")[:2] == (404, "NOT_FOUND")


def _deleted(vertex: Vertex, job: str) -> dict[str, object]:
    answer = vertex.emulator.call("DELETE", f"/v1/{job}")
    return dict(answer.json()) if answer.status == 200 else {}


def test_a_job_ends_at_its_timeout(vertex: Vertex) -> None:
    job = vertex.create(vertex.pool(SLEEPING), scheduling={"timeout": "100s"})
    found = vertex.over(job)
    assert found["state"] == "JOB_STATE_CANCELLED" and "timeout of 100s" in found["error"]["message"]


def test_an_image_that_cannot_be_had_fails_the_job_with_the_reason(vertex: Vertex) -> None:
    host = vertex.emulator.url.partition("://")[2]
    vertex.image = f"{host}/emulated/outlast/nothing:latest"
    missing = vertex.over(vertex.create(vertex.pool()))
    vertex.image = "quay.example.com/somebody/image"
    foreign = vertex.over(vertex.create(vertex.pool()))
    assert missing["state"] == foreign["state"] == "JOB_STATE_FAILED"
    assert "emulated/outlast/nothing: manifests/latest was answered 404" in missing["error"]["message"]
    assert "registry quay.example.com cannot be reached" in foreign["error"]["message"]


def test_an_image_with_a_system_of_its_own_runs_as_its_user_in_its_directory(vertex: Vertex) -> None:
    vertex.image = push(
        vertex.emulator,
        layers=(system("sh", "id", "ls", "cat"),),
        based=False,
        Entrypoint=["sh", "-c"],
        Cmd=["id -u; id -g; echo $HOME; pwd; ls /; cat /etc/hostname; echo x >/tmp.txt || echo refused"],
        User="ada",
        WorkingDir="/work/here",
        Env=["PATH=/bin"],
    )
    job = vertex.create(vertex.pool())
    assert vertex.over(job)["state"] == "JOB_STATE_SUCCEEDED", vertex.said(job)
    said = [line for line in vertex.said(job) if "denied" not in line.lower()]
    assert said[:4] == ["1000", "1000", "/home/ada", "/work/here"] and said[-1] == "refused"
    roots = {"bin", "dev", "etc", "lib", "lib64", "proc", "run", "sys", "usr", "work"}
    assert {"bin", "dev", "etc", "proc", "work"} <= set(said[4:-2]) <= roots
    assert said[-2].startswith("cmle-training-workerpool0-")


def test_an_image_of_another_registry_on_this_computer_is_run(vertex: Vertex, tmp_path: Path) -> None:
    with running(tmp_path / "other") as other:
        vertex.image = push(
            other, "some/where", layers=(tar({"srv/run.sh": b"#!/bin/sh\necho foreign\n"}),), Cmd=["/srv/run.sh"]
        )
        job = vertex.create(vertex.pool())
        assert vertex.over(job)["state"] == "JOB_STATE_SUCCEEDED", vertex.said(job, "service")
    assert vertex.said(job) == ["foreign"]


def test_googles_host_names_lead_to_the_emulators_registry_and_later_layers_hide_earlier_ones(vertex: Vertex) -> None:
    first = tar({"srv/data/a": b"1", "srv/data/b": b"1", "srv/all/c": b"1"}, links={"srv/link": "data/a"})
    second = tar({"srv/data/.wh.a": b"", "srv/data/b": b"2", "srv/all/.wh..wh..opq": b"", "srv/all/d": b"2"})
    push(
        vertex.emulator,
        "emulated/outlast/layers",
        "v1",
        layers=(first, second),
        Cmd=["sh", "-c", "ls -m /srv/data /srv/all; cat /srv/data/b"],
    )
    vertex.image = "us-central1-docker.pkg.dev/emulated/outlast/layers:v1"
    job = vertex.create(vertex.pool())
    assert vertex.over(job)["state"] == "JOB_STATE_SUCCEEDED", vertex.said(job, "service")
    assert [line for line in vertex.said(job) if line] == ["/srv/all:", "d", "/srv/data:", "b", "2"]
    shell = vertex.create(vertex.pool(container={"command": ["sh", "-c"], "args": ["cat /srv/link"]}))
    assert vertex.over(shell)["error"]["code"] == 3
    assert "No such file" in " ".join(vertex.said(shell))


def test_a_container_has_the_rights_of_its_jobs_service_account(vertex: Vertex) -> None:
    email = "trainer@emulated.iam.gserviceaccount.com"
    vertex.token(email, "roles/storage.objectViewer", kind="service-accounts")
    vertex.emulator.make_bucket("bucket")
    metadata = "http://metadata.google.internal/computeMetadata/v1"
    todo = (
        f'M="curl -s -H Metadata-Flavor:Google {metadata}"; $M/instance/service-accounts/default/email; echo; '
        "T=$($M/instance/service-accounts/default/token | cut -d'\"' -f4); "
        'curl -s -o /dev/null -w "%{http_code}\\n" -H "Authorization: Bearer $T" $OUTLAST_EMULATOR/storage/v1/b/bucket/o; '
        'curl -s -o /dev/null -w "%{http_code}\\n" -H "Authorization: Bearer $T" -X DELETE $OUTLAST_EMULATOR/storage/v1/b/bucket; '
        "$M/project/project-id; echo"
    )
    own = vertex.create(vertex.pool(todo), serviceAccount=email)
    default = vertex.create(vertex.pool(todo))
    assert vertex.over(own)["state"] == vertex.over(default)["state"] == "JOB_STATE_SUCCEEDED"
    assert vertex.said(own) == [email, "200", "403", "x1emulated-tp"]
    assert vertex.said(default)[0].endswith("gcp-sa-aiplatform-cc.iam.gserviceaccount.com")
    assert vertex.said(default)[1:3] == ["200", "403"]
