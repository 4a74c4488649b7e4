"""What is typed about Vertex AI's machines is read by rules, whatever it is; what is made of it Google takes."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlast.catalog.older import CLUSTERS, MACHINES, TIERS, cluster_of, machine_of, read_tier
from outlast.catalog.table import catalog
from outlast.catalog.vertex import not_run, runs, vertex_catalog
from outlast.catalog.vertex_tpus import TPUS, parse_tpu_spec
from outlast.engines.engine import Launch
from outlast.engines.vertex import bodies, names
from outlast.engines.vertex.told import rank_in
from outlast.errors import UsageError
from outlast.jobs.asked import Asked
from outlast.jobs.contain import named_by_code
from outlast.jobs.containers import repository_for
from outlast.jobs.quote_contained import quoted_contained
from outlast.spec.containing import Containing
from outlast.spec.machine import parse_gpus
from outlast.spec.managing import Managing, check_tensorboard
from outlast.spec.spec import Machine, Pool, Rented
from outlast_emulator.discovery import document
from outlast_emulator.discovery.validate import Checker
from outlast_emulator.switches import Switches

if TYPE_CHECKING:
    from outlast.jobs.world import World

KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
VALUE = re.compile(r"[a-z0-9_-]{0,63}")
RENTED = Rented(
    project="p",
    regions=("us-central1",),
    machine_type="n1-standard-8",
    accelerator="nvidia-tesla-t4",
    disk_gb=100,
    disk_type="pd-ssd",
    image="host/repo@sha256:0",
    service_account="a@p.iam.gserviceaccount.com",
    service="vertex",
)
LAUNCH = Launch(
    home="gs://b/home",
    job="job-1",
    launch=1,
    id="0123456789abcdef",
    workers=1,
    machine=Machine(8, 1, RENTED),
    deadline_at=1_000_000.0,
    agent="agents/ab",
    boots="boots/1/",
)


@given(st.text(max_size=20))
def test_a_tpu_is_read_or_refused_with_what_there_is(text: str) -> None:
    try:
        found = parse_tpu_spec(text)
    except UsageError as error:
        assert error.hint
    else:
        assert found in TPUS[found.kind].slices


@given(st.text(max_size=20) | st.from_regex(r"[0-9]{0,3}[xX]?[A-Za-z0-9-]{0,8}", fullmatch=True))
def test_gpus_are_read_or_refused_with_how_to_write_them(text: str) -> None:
    try:
        count, kind = parse_gpus(text)
    except UsageError as error:
        assert error.hint and "--gpus" in error.hint
    else:
        assert parse_gpus(f"{count}x{kind}" if kind else str(count)) == (count, kind)


@pytest.mark.parametrize(
    ("text", "machine", "topology"),
    [
        ("8xV2", "cloud-tpu", ""),
        ("8xv3", "cloud-tpu", ""),
        ("1xV5E", "ct5lp-hightpu-1t", "1x1"),
        ("8xv5litepod", "ct5lp-hightpu-8t", "2x4"),
        ("16xV6E", "ct6e-standard-4t", "4x4"),
        ("4xTPU7X", "tpu7x-standard-4t", "2x2x1"),
    ],
)
def test_tpus_have_the_machine_and_topology_that_google_documents(text: str, machine: str, topology: str) -> None:
    found = parse_tpu_spec(text)
    assert (found.machine_type, found.topology) == (machine, topology)


@pytest.mark.parametrize("text", ["7xV2", "V2", "x8V2", "8x", "8xV99", "8 x V2 x 3", ""])
def test_a_wrong_tpu_is_answered_with_a_right_one(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_tpu_spec(text)
    assert re.search(r"--tpu-spec \d+x[A-Z0-9]+", raised.value.hint)


@given(st.dictionaries(st.text(max_size=80), st.text(max_size=80), max_size=80))
def test_labels_are_as_google_allows_them(labels: dict[str, str]) -> None:
    made = names.labels(replace(LAUNCH, labels=labels), 3, "abc")
    assert len(made) <= 64
    assert all(KEY.fullmatch(name) and VALUE.fullmatch(value) for name, value in made.items())
    assert made["outlast-launch"] == LAUNCH.id and made["outlast-rank"] == "3" and made["outlast-claim"] == "abc"


@given(st.text(min_size=1, max_size=300), st.integers(1, 5), st.integers(0, 4))
def test_a_display_name_is_never_too_long(job: str, workers: int, rank: int) -> None:
    assert 1 <= len(names.display_name(replace(LAUNCH, job=job, workers=workers), rank)) <= 128


@given(st.lists(st.integers(0, 5), max_size=3), st.integers(0, 9))
def test_each_replica_has_a_rank_of_its_own(replicas: list[int], first: int) -> None:
    rented = replace(RENTED, pools=tuple(Pool("n1-standard-4" if one else "", one) for one in replicas))
    launch = replace(LAUNCH, machine=Machine(8, 1, rented), workers=1 + sum(replicas))
    told = bodies.told_of(launch, rented, rank=first, claim="c", storage="https://s", environ={})
    places = [(pool, index) for pool, count in enumerate(told.pools) for index in range(count)]
    assert [rank_in(told, *place) for place in places] == list(range(first, first + len(places)))


# What Google takes.


def custom_job(rented: Rented, *, gpus: int = 1, workers: int = 1) -> dict[str, Any]:
    launch = replace(LAUNCH, machine=Machine(8, gpus, rented), workers=workers)
    told = bodies.told_of(launch, rented, rank=0, claim="c", storage="https://s", environ={})
    return bodies.custom_job(launch, rented, told, rank=0, claim="c", now=launch.deadline_at - 3600)


@pytest.mark.parametrize(
    "rented",
    [
        RENTED,
        replace(RENTED, spot=False),
        replace(RENTED, flex_start=True, spot=False),
        replace(
            RENTED, accelerator="", network="projects/1/global/networks/n", tensorboard="projects/p/locations/r/t/1"
        ),
        replace(RENTED, accelerator="", machine_type="ct5lp-hightpu-4t", topology="2x2"),
        replace(RENTED, machine_type="cloud-tpu", accelerator="tpu-v2"),
        replace(RENTED, pools=(Pool("n1-standard-4", 2), Pool(), Pool("n1-highmem-8", 1, "nvidia-tesla-v100", 2))),
    ],
)
def test_requests_are_valid_by_the_discovery_document(rented: Rented) -> None:
    Checker(Switches()).body("aiplatform.projects.locations.customJobs.create", custom_job(rented))


@pytest.mark.parametrize(
    ("git", "name"),
    [
        ("https://example.org/ann/Census.git@v1.2", "census"),
        ("https://example.org/ann/census@v1.3:models/one", "census-models-one"),
        ("git@example.org:ann/census", "census"),
        ("git@example.org:census.git", "census"),
        ("", "work"),
    ],
)
def test_an_image_is_called_as_its_code_whatever_the_job_is_called(git: str, name: str) -> None:
    asked = Asked(target="train.py", name="job-17", git=git, container=Containing(registry="example.org/images"))
    found = repository_for(cast("World", None), named_by_code(asked), Path("/nowhere/work"))
    assert found.path == f"images/{name}"


def test_every_gpu_of_the_catalog_has_googles_name() -> None:
    document_ = json.loads(gzip.decompress((document.HERE / "aiplatform.v1.json.gz").read_bytes()))
    schema = document_["schemas"]["GoogleCloudAiplatformV1MachineSpec"]
    known = set(schema["properties"]["acceleratorType"]["enum"])
    assert {bodies.accelerator_type(gpu.cloud_name) for gpu in catalog().gpus.values()} <= known
    assert {bodies.accelerator_type(f"tpu-{name.lower()}") for name in ("V2", "V3")} <= known


def test_time_is_limited_to_what_is_left_and_to_a_week() -> None:
    for left, timeout in ((3600.4, "3601s"), (-5.0, "60s"), (9e6, "604800s")):
        told = bodies.told_of(LAUNCH, RENTED, rank=0, claim="c", storage="https://s", environ={})
        body = bodies.custom_job(LAUNCH, RENTED, told, rank=0, claim="c", now=LAUNCH.deadline_at - left)
        assert body["jobSpec"]["scheduling"]["timeout"] == timeout


# The older names.


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_is_something_that_vertex_runs(tier: str) -> None:
    cluster, notes = cluster_of(Managing(scale_tier=tier))
    known = vertex_catalog(catalog())
    parts = [cluster.master, *(part.machine for part in (cluster.workers, cluster.servers) if part is not None)]
    for meant in parts:
        if meant.tpu:
            assert parse_tpu_spec(meant.tpu)
            continue
        machine = known.machine(meant.machine_type)
        assert machine is not None
        gpu = known.gpu(meant.gpu) if meant.gpu else None
        assert gpu is None or (not gpu.gone and machine in known.carriers(gpu, meant.gpus))
    wanted = "`--master-type` is not said: `n1-standard-4`" if tier == "CUSTOM" else tier
    assert any(wanted in note for note in notes)


@pytest.mark.parametrize("name", MACHINES)
def test_every_older_machine_can_be_rented(name: str) -> None:
    meant, known = machine_of(name), vertex_catalog(catalog())
    if meant.tpu:
        return
    machine = known.machine(meant.machine_type)
    assert machine is not None
    if meant.gpus:
        gpu = known.gpu(meant.gpu)
        assert gpu is not None and not gpu.gone and machine in known.carriers(gpu, meant.gpus)


def test_the_smallest_machines_are_neither_run_nor_named_as_a_way_out() -> None:
    known = vertex_catalog(catalog())
    for name in ("e2-micro", "n1-standard-2", "n2-highcpu-8", "n2-custom-8-32768", "c3-standard-8"):
        machine = catalog().machine(name)
        assert machine is not None and not runs(machine)
        left_out = known.machine(not_run(catalog(), machine, "us-central1", spot=True).hint.split()[1].strip("`;"))
        assert left_out is not None and runs(left_out)
    assert all(runs(one) for one in known.machines())


def test_what_vertex_asks_for_is_a_share_of_the_price_on_demand() -> None:
    spot, on_demand = (quoted_contained(LAUNCH.machine, "us-central1", spot=one) for one in (True, False))
    assert spot is not None and on_demand is not None and spot.total < on_demand.total
    assert spot.management == on_demand.management > 0 and "management" in spot.estimated


def test_each_older_name_says_what_it_became() -> None:
    asked = Managing(
        scale_tier="CUSTOM",
        master_type="complex_model_m_gpu",
        worker_type="standard_gpu",
        worker_count=3,
        server_type="large_model",
        server_count=1,
    )
    cluster, notes = cluster_of(asked)
    assert cluster.workers is not None and cluster.workers.replicas == 3
    assert cluster.servers is not None and cluster.servers.machine.machine_type == "n1-highmem-8"
    assert len(notes) == 3 and all("now" in note for note in notes)
    assert "4 K80 cannot be rented any more" in notes[0]


def test_a_type_without_a_count_means_what_it_meant() -> None:
    cluster, _ = cluster_of(Managing(worker_type="standard", server_type="standard"))
    assert cluster.workers is not None and cluster.workers.replicas == 2
    assert cluster.servers is None


@pytest.mark.parametrize("field", ["master_type", "worker_type", "server_type"])
def test_a_tier_that_says_all_takes_no_parts(field: str) -> None:
    with pytest.raises(UsageError, match="CUSTOM"):
        cluster_of(replace(Managing(scale_tier="BASIC_GPU"), **{field: "standard"}))  # type: ignore[arg-type]


@given(st.text(max_size=30))
def test_any_text_is_a_tier_and_a_machine_or_refused_with_what_there_is(text: str) -> None:
    for read, legal in ((read_tier, TIERS), (lambda one: machine_of(one).machine_type, None)):
        try:
            found = read(text)
        except UsageError as error:
            assert error.hint
        else:
            assert legal is None or found in legal


@given(st.text(max_size=40))
def test_a_tensorboard_is_a_number_or_a_whole_name(text: str) -> None:
    try:
        assert check_tensorboard(text) == text
    except UsageError as error:
        assert error.hint


def test_the_clusters_have_one_first_machine() -> None:
    assert set(CLUSTERS) == set(TIERS) - {"CUSTOM"}
