"""How many machines at once, by Vertex AI's own quotas."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from outlast.engines.compute.room import ROOM_UNKNOWN
from outlast.engines.engine import Room
from outlast.google.wire import Answer, Request
from outlast.spec.spec import Machine
from tests.gcs.wires import ok, refused
from tests.vertex.test_ended import engine_over
from tests.vertex.test_specs import RENTED


def metric(name: str, *buckets: tuple[str, int]) -> dict[str, Any]:
    listed = [
        {"effectiveLimit": str(limit), **({"dimensions": {"region": region}} if region else {})}
        for region, limit in buckets
    ]
    return {
        "metric": f"aiplatform.googleapis.com/custom_model_training_{name}",
        "consumerQuotaLimits": [{"quotaBuckets": listed}],
    }


def room(machine: Machine, *metrics: dict[str, Any]) -> Room:
    def reply(request: Request) -> Answer:
        assert "serviceusage.googleapis.com/v1beta1/projects/p/services/aiplatform.googleapis.com" in request.url
        return ok(json.dumps({"metrics": list(metrics)}).encode())

    return engine_over(reply, 0.0).room(machine)


CPUS = metric("cpus", ("", 2200))
ON_DEMAND = replace(RENTED, spot=False)


def test_the_scarcest_quota_counts_and_the_regions_own_before_that_of_all() -> None:
    t4 = metric("nvidia_t4_gpus", ("", 1), ("us-central1", 6), ("europe-west4", 0))
    found = room(Machine(8, 2, ON_DEMAND), CPUS, t4)
    assert found.workers == 3 and "`custom_model_training_nvidia_t4_gpus` in `us-central1`: 6" in found.why
    assert room(Machine(8, 2, replace(ON_DEMAND, regions=("us-east1",))), CPUS, t4).workers == 0


def test_spot_and_what_is_queued_for_have_quotas_of_their_own() -> None:
    both = (CPUS, metric("nvidia_t4_gpus", ("", 9)), metric("preemptible_nvidia_t4_gpus", ("", 4)))
    for rented in (RENTED, replace(ON_DEMAND, flex_start=True)):
        assert room(Machine(8, 1, rented), *both).workers == 4
    assert room(Machine(8, 1, ON_DEMAND), *both).workers == 9
    assert room(Machine(8, 1, RENTED), *both[:2]).workers == 9, "where there is none, the other counts"


@pytest.mark.parametrize(
    ("machine_type", "accelerator", "topology", "name", "needed"),
    [
        ("c2-standard-8", "", "", "c2_cpus", 8),
        ("n1-standard-8", "", "", "cpus", 8),
        ("a3-highgpu-1g", "nvidia-h100-80gb", "", "nvidia_h100_gpus", 1),
        ("cloud-tpu", "tpu-v2", "", "tpu_v2", 8),
        ("ct5lp-hightpu-4t", "", "4x4", "tpu_v5e", 16),
    ],
)
def test_each_kind_takes_from_its_own(
    machine_type: str, accelerator: str, topology: str, name: str, needed: int
) -> None:
    rented = replace(ON_DEMAND, machine_type=machine_type, accelerator=accelerator, topology=topology)
    machine = Machine(8, 8 if accelerator.startswith("tpu") else int(bool(accelerator)), rented)
    assert room(machine, metric(name, ("", 3 * needed + needed // 2))).workers == 3


def test_no_limit_and_no_word_of_one_limit_nothing_and_who_may_not_look_is_told_so() -> None:
    assert room(Machine(8, 1, ON_DEMAND), metric("cpus", ("", -1))).workers == room(Machine(8, 1, ON_DEMAND)).workers
    denied = engine_over(lambda request: refused(403), 0.0).room(Machine(8, 1, ON_DEMAND))
    assert denied.workers == ROOM_UNKNOWN and "may look" in denied.why
