"""Whole jobs on Vertex AI: trained, taken away, given up by it, moved to other engines, evaluated; what they say when they cannot start."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.emulator_vertex import images
from tests.environments.conftest import offline
from tests.environments.wheels import make_wheel
from tests.vertex.trainer import REGION, Trainer
from tests.waiting import until

OWNER = "roles/owner"
CLUSTER = """
import json, os
import outlast

said = {"cluster": json.loads(os.environ["CLUSTER_SPEC"]), "tf": json.loads(os.environ["TF_CONFIG"])}
said |= {name: os.environ[name] for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
print("SAID", json.dumps({**said, "cluster": {k: said["cluster"][k] for k in ("cluster", "task")}}), flush=True)
state = outlast.State(count=0)
for step in outlast.steps(4, state, save_steps=2):
    state.count += 1
"""
PATIENT = """
import time
import outlast

state = outlast.State(count=0)
for step in outlast.steps(400, state, save_steps=2):
    state.count += 1
    time.sleep(0.1)
"""


def trains(trainer: Trainer, job: str, attempt: int = 1) -> None:
    """Something of that attempt has been committed."""
    until(
        lambda: trainer.head(job)["attempt"] >= attempt and trainer.head(job)["checkpoints"],
        f"attempt {attempt} of {trainer.head(job)}",
    )


def test_a_container_that_is_taken_away_goes_on_from_its_checkpoint(trainer: Trainer) -> None:
    trainer.ready()
    trainer.train(steps=60, pause=0.1)
    trainer.run("one")
    trains(trainer, "one")
    trainer.post("vertex/preempt", job="one", notice_seconds=0)
    head = trainer.wait_for_state("one", "succeeded")
    assert len(head["attempts"]) >= 2
    until(lambda: trainer.output("one", "count") == b"60", "its outputs are published")
    assert len(trainer.custom_jobs()) == 1, "Vertex AI's own restarts are attempts like others"


def test_when_the_restarts_are_used_up_whoever_looks_goes_on(trainer: Trainer) -> None:
    trainer.ready()
    trainer.train(steps=80, pause=0.1)
    trainer.run("one")
    trains(trainer, "one")
    trainer.post("vertex/capacity", region=REGION, replicas=0)
    trainer.post("vertex/preempt", job="one", notice_seconds=0)
    until(lambda: trainer.custom_jobs()[0]["state"] == "JOB_STATE_FAILED", "Vertex AI has given up")
    before = trainer.head("one")
    assert before["state"] == "running", "nobody has looked"
    trainer.post("vertex/capacity", region=REGION, replicas=None)
    shown = trainer.shown("one")
    assert shown["state"] in ("waiting", "starting", "running"), shown
    assert len(trainer.custom_jobs()) == 2
    said = trainer.user.outlast("show", "one")
    assert "Vertex AI had given up once before" in said.out or trainer.head("one")["attempt"] > before["attempt"]
    trainer.wait_for_state("one", "succeeded")
    until(lambda: trainer.output("one", "count") == b"80", "its outputs are published")


def test_pools_reach_the_trainer_as_vertex_describes_them(trainer: Trainer) -> None:
    trainer.ready()
    trainer.user.write("train.py", CLUSTER)
    words = ["--scale_tier", "CUSTOM", "--master_type", "standard", "--worker_type", "standard", "--worker_count", "2"]
    said = trainer.user.outlast(
        "run", "--on", "vertex", "--job-id", "one", *words, "--parameter_server_count", "1", "train.py"
    )
    assert said.code == 0, said.err
    assert "`--worker-type standard` is `n1-standard-4` now" in said.err
    logs = trainer.user.outlast("logs", "one")
    found = [json.loads(line) for line in re.findall(r"SAID (\{.*\})", logs.out)]
    assert sorted(one["RANK"] for one in found) == ["0", "1", "2", "3"]
    assert {one["WORLD_SIZE"] for one in found} == {"4"}
    cluster = found[0]["cluster"]["cluster"]
    assert {name: len(hosts) for name, hosts in cluster.items()} == {
        "workerpool0": 1,
        "workerpool1": 2,
        "workerpool2": 1,
    }
    tasks = sorted((one["cluster"]["task"]["type"], one["tf"]["task"]["type"]) for one in found)
    assert tasks == [
        ("workerpool0", "chief"),
        ("workerpool1", "worker"),
        ("workerpool1", "worker"),
        ("workerpool2", "ps"),
    ]
    first = cluster["workerpool0"][0].partition(":")[0]
    assert {one["MASTER_ADDR"] for one in found} == {first}
    (job,) = trainer.custom_jobs()
    assert [pool["machineSpec"]["machineType"] for pool in job["jobSpec"]["workerPoolSpecs"]] == ["n1-standard-4"] * 3


def test_a_job_moves_to_compute_and_back(trainer: Trainer) -> None:
    trainer.ready(OWNER)
    trainer.user.write("train.py", PATIENT)
    trainer.run("one")
    for engine in ("compute", "vertex"):
        attempt = trainer.head("one")["attempt"] or 1
        trains(trainer, "one", attempt)
        assert trainer.user.outlast("resume", "one", "--on", engine).code == 2, "it runs"
        assert trainer.user.outlast("stop", "one").code == 0
        steps = trainer.head("one")["checkpoints"][-1]["step"]
        said = trainer.user.outlast("resume", "one", "--on", engine, "--detach")
        assert said.code == 0, said.err
        assert f"on `{engine}`" in said.err and f"goes on from step {steps:,}" in said.err
        until(lambda: trainer.head("one")["attempt"] > attempt, "it goes on there")  # noqa: B023
    trains(trainer, "one", trainer.head("one")["attempt"])
    assert trainer.user.outlast("stop", "one").code == 0
    assert trainer.user.outlast("jobs", "--json").json[0]["engine"] == "vertex"
    check_resumed_otherwise(trainer, "one")


def check_resumed_otherwise(trainer: Trainer, job: str) -> None:
    """What a resume may change of what only Vertex AI has; nothing is made."""
    for words, field, expected in (
        ("--tpu-spec 8xV3", "accelerator", "tpu-v3"),
        ("--tpu-spec 4xV5E", "topology", "2x2"),
        ("--gpus L4 --flex-start", "flex_start", True),
        ("--image-tag somewhere/else", "image", "somewhere/else"),
        ("--scale-tier CUSTOM --worker-count 2", "machine_type", "n1-standard-4"),
    ):
        said = trainer.user.outlast("resume", job, "--dry-run", "--json", *words.split())
        assert said.code == 0, said.err
        (launch,) = said.json["launches"]
        assert launch["rented"][field] == expected
        assert launch["workers"] == (3 if "--worker-count" in words else 1)
    for words, answer in (
        ("--on compute --tpu-spec 8xV2", "`--on compute` has no such"),
        ("--on compute --base-image x", "are about containers"),
        ("--gpus L4 --flex-start --spot", "contradict"),
    ):
        said = trainer.user.outlast("resume", job, "--dry-run", *words.split())
        assert said.code == 2 and answer in said.err


def test_what_cannot_start_is_told_by_cloud_logging(trainer: Trainer) -> None:
    trainer.ready()
    trainer.train()
    broken = images.tar(
        {"opt/broken.sh": b"#!/bin/sh\necho this image is broken\nexit 3\n"}, links={"opt/python3": "broken.sh"}
    )
    image = images.push(trainer.emulator, layers=(broken,), Env=["PATH=/opt:/usr/bin:/bin"])
    said = trainer.user.outlast("run", "--on", "vertex", "--job-id", "one", "--image-tag", image, "train.py")
    assert said.code == 1, said.err
    assert "this image is broken" in said.err
    logs = trainer.user.outlast("logs", "one")
    assert "this image is broken" in logs.out
    assert "no agent of job `one` has come up" in logs.err


def test_an_image_that_is_nowhere_is_given_up_in_the_end(trainer: Trainer) -> None:
    """What Vertex AI calls an internal error may pass: three custom jobs are tried at most. A registry that says so is believed at once."""
    trainer.ready()
    trainer.train()
    for host in (trainer.emulator.url.partition("://")[2], "us-central1-docker.pkg.dev"):
        words = ["--on", "vertex", "--job-id", "none", "--image-tag", f"{host}/emulated/outlast/none:latest"]
        said = trainer.user.outlast("run", *words, "train.py")
        assert said.code == 3 and "there is no image" in said.err, said.err
    assert trainer.custom_jobs() == []
    trainer.run("one", "--image-tag", "127.0.0.1:1/emulated/outlast/none:latest")
    until(lambda: trainer.shown("one")["state"] == "failed", f"it is given up: {trainer.shown('one')}")
    assert 1 <= len(trainer.custom_jobs()) <= 3
    assert "the machine could not boot" in trainer.user.outlast("show", "one").out


def test_a_container_without_rights_says_what_it_lacks(trainer: Trainer) -> None:
    trainer.ready("roles/logging.logWriter")
    trainer.train()
    trainer.run("one")
    until(lambda: "storage.objects" in str(trainer.shown("one").get("why", "")), f"it says so: {trainer.shown('one')}")
    assert trainer.user.outlast("stop", "one").code == 0


def test_the_cells_of_a_sweep_are_claimed_by_custom_jobs(trainer: Trainer, tmp_path: Path) -> None:
    """Each with the packages that were declared."""
    trainer.ready()
    make_wheel(tmp_path / "links", "tool", files={"tool.py": "version = 1.0\n" * 1000})
    trainer.user.env.update(offline(tmp_path, tmp_path / "links"))
    trainer.user.write("requirements.txt", "tool\n")
    trainer.user.write("train.py", "import sys, tool\nprint('cell', sys.argv[1:], tool.version)\n")
    trainer.user.write("sweep.json", '{"lr": [1, 2, 3], "n": [4]}')
    words = ["--parallel", "2", "--cells-per-machine", "2", "--job-id", "s"]
    said = trainer.user.outlast("run", "--on", "vertex", "--experiment_config", "sweep.json", *words, "train.py")
    assert said.code == 0, said.err
    assert said.err.count("console.cloud.google.com/vertex-ai") == 2
    assert sorted(one["displayName"] for one in trainer.custom_jobs()) == ["s-0", "s-1"]
    price = json.loads(trainer.emulator.get(trainer.bucket, "jobs/s/launches/000001.json", alt="media").body)
    for cell in (1, 2, 3):
        (attempt,) = trainer.head(f"s/cells/{cell:06d}")["attempts"].values()
        assert attempt["machine"].split("-")[1] in ("0", "1", "2", "3"), "two workers in each container"
        assert attempt["usd_per_hour"] == pytest.approx(price["usd_per_hour"] / 2)
    results = trainer.user.outlast("results", "s", "--json")
    assert results.code == 0, results.err
