"""Both documents of tools that died with the API which they called, command by command, with underscores, as printed there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast.folder.records import LaunchRecord
from outlast.folder.zone_memory import tell_stockout
from outlast.spec.spec import Machine, Rented
from outlast.store.registry import open_store
from outlast_emulator.testing import Running, running
from tests.cli.user import Said, User
from tests.vertex.place import TIME_SCALE
from tests.vertex.trainer import REGION, RUNNER, Trainer

TRAINER = """
import argparse, json, os
import outlast

given = argparse.ArgumentParser()
given.add_argument("--epochs", type=int, default=1)
given.add_argument("--mode", default="train")
given.add_argument("--split", default="")
given = given.parse_args()
config = json.load(open(os.environ["OUTLAST_CONFIG"])) if os.environ.get("OUTLAST_CONFIG") else {}
print("epochs", given.epochs, "mode", given.mode, "split", given.split, "config", config.get("train"), flush=True)
print("dataset", sorted(os.listdir(os.environ["OUTLAST_DATASET"])) if os.environ.get("OUTLAST_DATASET") else None, flush=True)
if given.mode == "evaluate":
    outlast.log(accuracy=0.5)
else:
    state = outlast.State(count=0)
    for step in outlast.steps(4, state, save_steps=2):
        state.count += 1
    print("count", state.count, flush=True)
"""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all: most of these commands change nothing."""
    with running(tmp_path_factory.mktemp("google"), time_scale=TIME_SCALE, process=True) as found:
        yield found


@pytest.fixture
def somebody(trainer: Trainer, emulator: Running, user: User) -> User:
    """Whose project was set up, with the module of the first document and the configuration of the second."""
    trainer.bucket = f"vertex-{os.urandom(4).hex()}"
    trainer.ready("roles/owner")
    user.env["PROJECT_ID"] = "emulated"
    user.write("trainer/__init__.py", "")
    user.write("trainer/train.py", TRAINER)
    user.write("config.yml", "train:\n  learning_rate: 0.1\ndataset:\n  dir: nowhere\n")
    user.write("data/words.txt", "a\nb\n")
    key = emulator.call("POST", "/_emulator/iam/users", {"email": "ann@example.com", "roles": ["roles/owner"]}).body
    user.write("key.json", key.decode())
    return user


def typed(user: User, line: str, code: int = 0) -> Said:
    words = line.split()
    assert words.pop(0) == "outlast"
    said = user.outlast(*words)
    assert said.code == code, f"{line}\n{said.out}\n{said.err}"
    return said


def made(trainer: Trainer) -> tuple[int, list[str]]:
    """How many custom jobs there are, and which images."""
    images = trainer.emulator.call("GET", "/v2/_catalog").json()["repositories"]
    return len(trainer.custom_jobs()), sorted(images)


def planned(user: User, line: str) -> dict[str, Any]:
    """The custom job that a dry run describes."""
    document = typed(user, line).json
    (launch,) = document["launches"]
    assert launch["engine"] == "vertex"
    return {**launch, "args": document["spec"]["args"], "labels": document["spec"]["labels"]}


# The first document: a module, bundled and run.


def test_a_module_is_run_its_arguments_are_labels_and_it_says_where_to_look(somebody: User, trainer: Trainer) -> None:
    said = typed(somebody, "outlast run --on vertex --name my-job trainer.train -- --epochs 2")
    assert "epochs 2" in said.out
    (job,) = [one for one in trainer.custom_jobs() if one["labels"].get("job_name") == "my-job"]
    assert job["labels"]["epochs"] == "2" and job["labels"]["job_name"] == "my-job"
    assert job["state"] == "JOB_STATE_SUCCEEDED" and job["jobSpec"]["serviceAccount"] == RUNNER
    (pool,) = job["jobSpec"]["workerPoolSpecs"]
    assert "/outlast/work@sha256:" in pool["containerSpec"]["imageUri"], "called as the directory, and not as the job"
    number = job["name"].rpartition("/")[2]
    assert f"console.cloud.google.com/vertex-ai/locations/{REGION}/training/{number}" in said.err
    assert f"gcloud ai custom-jobs stream-logs {number} --region={REGION}" in said.err
    assert f"custom job {number}, done: https://console" in typed(somebody, "outlast show").out
    assert trainer.paid_for() == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--nogpu", {"machine_type": "c2-standard-8", "accelerator": ""}),
        ("--region europe-west4", {"regions": ["europe-west4"]}),
        ("--machine_type n1-highcpu-32 --nogpu", {"machine_type": "n1-highcpu-32"}),
        ("--gpu_spec 2xT4", {"accelerator": "nvidia-tesla-t4"}),
        ("--gpu_spec 1xV100 --machine_type n1-standard-8", {"machine_type": "n1-standard-8"}),
        ("--gpu_spec 3xT4 --machine_type n1-standard-8 --force", {"machine_type": "n1-standard-8"}),
        ("--tpu_spec 8xV2", {"machine_type": "cloud-tpu", "accelerator": "tpu-v2"}),
        ("--machine_type cloud_tpu", {"machine_type": "cloud-tpu"}),
        ("--cloud_key key.json --project_id emulated", {"project": "emulated"}),
        ("-d data -l group=one --label other=two", {}),
    ],
)
def test_each_option_is_taken(words: str, expected: dict[str, Any], somebody: User, trainer: Trainer) -> None:
    before = made(trainer)
    found = planned(somebody, f"outlast run --on vertex {words} --dry_run --json trainer.train -- --epochs 2")
    assert expected.items() <= found["rented"].items()
    assert found["args"] == ["--epochs", "2"]
    if "-l " in words:
        assert {"group": "one", "other": "two"}.items() <= found["labels"].items()
    assert made(trainer) == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("--gpu_spec 3xT4", "no machine has 3 T4"),
        ("--gpu_spec 1xK80", "cannot be rented any more"),
        ("--gpu_spec 1xV100 --machine_type n1-standard-96", "has no place for that"),
        ("--nogpu --gpu_spec 1xT4", "contradict"),
        ("--tpu_spec 7xV2", "there are slices of"),
        ("--tpu_spec 8xV2 --region us-west1", "is not offered"),
        ("--machine_type c3-standard-8", "Vertex AI does not run"),
        ("--machine_type n1-standard-1", "Spot, per hour: `"),
        ("--gpu_spec V100x4", "`--gpus 4xV100`"),
        ("--gpu_spec 4xV100 --region us-east4", "with 4 V100 is not offered as Spot in `us-east4`"),
        ("--gpu_spec L4 --flex_start --spot", "contradict"),
        ("--network nothere", "there is no network `nothere`"),
        ("--tensorboard 7 --region us-central1,us-east1", "its jobs cannot be in `us-east1`"),
        ("--gpu_spec T4 --region me-west1x", "no region"),
        ("--linger 10m", "has no meaning with `--on vertex`"),
        ("--external-ip", "has no meaning with `--on vertex`"),
        ("--container_args --init", "has no meaning with `--on vertex`"),
        ("--on local --base_image x", "is about container images, and `--on local` runs none"),
        ("--on local --image_tag x -d data", "is about container images, and `--on local` runs none"),
        ("--on compute --no_cache", "is about container images, and `--on compute` runs none"),
    ],
)
def test_a_wrong_combination_is_refused_with_what_there_is(words: str, answer: str, somebody: User) -> None:
    said = typed(somebody, f"outlast run --on vertex {words} --dry_run trainer.train", code=2)
    assert answer in said.err and "hint:" in said.err


def test_nobody_can_work_in_a_container_of_theirs(somebody: User) -> None:
    assert "`--on compute --shell`" in typed(somebody, "outlast run --on vertex --shell --dry_run", code=2).err


def test_an_image_that_is_there_is_used_and_nothing_is_built(somebody: User, trainer: Trainer) -> None:
    image = f"{trainer.emulator.url.partition('://')[2]}/library/python:3.11-slim"
    said = typed(
        somebody, f"outlast run --on vertex --job_id there --image_tag {image} -d data trainer.train -- --epochs 3"
    )
    assert "epochs 3" in said.out
    assert "`--dir`" in said.err and "ignored" in said.err
    (job,) = [one for one in trainer.custom_jobs() if one["displayName"] == "there"]
    assert job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["imageUri"] == image


# The second document: a configuration and a dataset, jobs, logs, resume, evaluation.


def test_train_jobs_logs_resume_and_evaluate(somebody: User, trainer: Trainer) -> None:
    trainer.emulator.make_bucket("train-datasets")
    trainer.emulator.put("train-datasets", "coco/tfrecords/train.tfrecords", b"records")
    assert "gs://" in typed(somebody, "outlast run --on vertex --dataset bucket/path trainer.train", code=3).err
    base = f"--bucket {trainer.bucket} --dataset gs://train-datasets/coco/tfrecords -c config.yml"
    said = typed(somebody, f"outlast run --on vertex {base} --job_id train-one --scale_tier BASIC_GPU trainer.train")
    assert "`--scale-tier BASIC_GPU` is `n1-standard-8` with 1 T4 now" in said.err
    assert "'learning_rate': 0.1" in said.out and "train.tfrecords" in said.out
    again = typed(somebody, f"outlast run --on vertex --resume train-one {base} --job_id train-two trainer.train")
    assert "count" in again.out
    jobs = typed(somebody, "outlast jobs")
    assert "train-one" in jobs.out and "train-two" in jobs.out
    assert "train-one" not in typed(somebody, "outlast jobs --running").out
    logs = typed(somebody, "outlast logs --job_id train-one --polling_interval 1")
    assert "'learning_rate': 0.1" in logs.out
    folder = f"gs://{trainer.bucket}/jobs/train-one"
    words = f"--train_folder {folder} --bucket {trainer.bucket} --split test --machine_type standard_gpu"
    found = typed(somebody, f"outlast evaluate --on vertex {words} --json")
    assert found.json["metrics"] == {"accuracy": 0.5} and found.json["split"] == "test"
    assert "n1-standard-8" in found.err


@pytest.mark.parametrize(
    ("words", "pools"),
    [
        ("--scale_tier BASIC", [("n1-standard-4", 1)]),
        ("--scale_tier STANDARD_1", [("n1-standard-8", 1), ("n1-standard-8", 4), ("n1-standard-4", 3)]),
        ("--scale_tier PREMIUM_1", [("n1-highcpu-16", 1), ("n1-highcpu-16", 19), ("n1-highmem-8", 11)]),
        ("--scale_tier BASIC_TPU", [("cloud-tpu", 1)]),
        (
            "--scale_tier CUSTOM --master_type standard_gpu --worker_type standard_gpu --worker_count 2 "
            "--parameter_server_type large_model --parameter_server_count 1",
            [("n1-standard-8", 1), ("n1-standard-8", 2), ("n1-highmem-8", 1)],
        ),
    ],
)
def test_each_tier_is_pools_of_today(words: str, pools: list[tuple[str, int]], somebody: User) -> None:
    found = planned(somebody, f"outlast run --on vertex {words} --dry_run --json trainer.train")
    rented = found["rented"]
    there = [(rented["machine_type"], 1), *((one["machine_type"], one["replicas"]) for one in rented["pools"])]
    assert there == pools
    assert found["workers"] == sum(count for _, count in pools)


def test_a_dry_run_prints_every_custom_job_and_pushes_nothing(somebody: User, trainer: Trainer) -> None:
    before = made(trainer)
    said = typed(somebody, "outlast run --on vertex --gpu_spec L4 --dry_run trainer.train -- --epochs 2")
    for words in (
        "make custom job",
        "pool 0: 1 x g2-standard",
        "NVIDIA_L4",
        "command trainer.train --epochs 2",
        "epochs=2",
    ):
        assert words in said.out
    assert "nothing was made, nothing was started" in said.err
    assert made(trainer) == before
    listed = json.loads(trainer.emulator.call("GET", f"/storage/v1/b/{trainer.bucket}/o").body)
    assert listed.get("items", []) == []


def test_a_price_of_pools_is_the_sum_of_its_parts(somebody: User) -> None:
    said = typed(somebody, "outlast run --on vertex --scale_tier STANDARD_1 --dry_run trainer.train").out
    parts = [float(one) for one in re.findall(r"^  \w+: ([0-9.]+) USD an hour", said, flags=re.MULTILINE)]
    (whole,) = re.findall(r"; \$([0-9.]+) per hour", said)
    assert sum(parts) == pytest.approx(float(whole), abs=0.006)


def test_as_many_custom_jobs_as_vertex_has_quota_for_and_doctor_tells(somebody: User, trainer: Trainer) -> None:
    somebody.write("sweep.json", '{"epochs": [1, 2, 3, 4]}')
    quota = {"metric": "custom_model_training_preemptible_c2_cpus", "region": "us-central1"}
    trainer.post("vertex/quotas", **quota, limit=20)
    line = "outlast run --on vertex --experiment_config sweep.json --dry_run --json trainer.train"
    assert typed(somebody, line).json["launches"][0]["workers"] == 2
    told = typed(somebody, "outlast doctor --on vertex --region us-central1", code=1)
    trainer.post("vertex/quotas", **quota, limit=None)
    assert "`preemptible_c2_cpus` 20" in told.out and "`tpu_v5e` 2200" in told.out
    assert "network" not in told.out and "`CPUS`" not in told.out


def test_a_region_that_had_no_machine_is_tried_after_the_others(
    somebody: User, trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in trainer.emulator.variables.items():
        monkeypatch.setenv(name, value)
    store = open_store(f"gs://{trainer.bucket}")
    machine = Machine(8, 0, Rented(project="emulated", regions=(REGION,), machine_type="c2-standard-8"))
    tell_stockout(store, LaunchRecord(1, "aa", "vertex", 1, machine, 0.0, 100.0, "bundle"), store.now())
    words = f"--machine_type c2-standard-8 --region {REGION},europe-west4 --dry_run trainer.train"
    said = typed(somebody, f"outlast run --on vertex {words}")
    assert f"`{REGION}` had no `c2-standard-8` lately: `europe-west4` is tried first" in said.err
    assert "in europe-west4" in said.out


def test_the_account_is_the_runner(somebody: User, trainer: Trainer) -> None:
    found = planned(somebody, "outlast run --on vertex --dry_run --json trainer.train")
    assert found["rented"]["service_account"] == RUNNER
    assert Path(somebody.work / "trainer" / "train.py").exists()


def test_a_home_on_this_computer_is_refused_before_anything_is_built(somebody: User, trainer: Trainer) -> None:
    before = made(trainer)
    somebody.env["OUTLAST_HOME"] = str(somebody.home)
    said = typed(somebody, "outlast run --on vertex trainer.train", code=2)
    assert "a rented machine cannot reach it" in said.err and "--bucket" in said.err
    assert made(trainer) == before
    assert typed(somebody, "outlast jobs --json").json == []
