"""Doctor's look at quotas: how many CPUs and GPUs may be rented, in the region and altogether."""

from __future__ import annotations

from collections.abc import Iterator

from outlast.google.compute_project import ComputeProject
from outlast.google.errors import ApiError
from outlast.google.json_api import Document
from outlast.google.vertex_quotas import TRAINING, training_limits
from outlast.jobs.cloud import Cloud
from outlast.jobs.finding import Finding, bad, good, warning

CPUS_LOW = 8
"""What a machine has if nobody says otherwise."""

GPUS_EVERYWHERE = "GPUS_ALL_REGIONS"
SPOT = "PREEMPTIBLE_"


def quota_findings(cloud: Cloud) -> Iterator[Finding]:
    compute = ComputeProject(cloud.transport, cloud.project)
    regional = compute.region_quotas(cloud.region)
    if regional is None:
        yield bad("quotas", f"there is no region `{cloud.region}`", "gcloud compute regions list")
        return
    quotas = {str(one["metric"]): one for one in regional}
    yield _cpus(cloud, quotas)
    everywhere = {str(one["metric"]): one for one in compute.quotas()}.get(GPUS_EVERYWHERE)
    if everywhere is not None and not everywhere.get("limit"):
        fact = f"`{GPUS_EVERYWHERE}` is 0: no GPU may be rented in any region"
        yield warning("quotas", fact, _page(cloud, GPUS_EVERYWHERE))
        return
    if everywhere is not None:
        yield good("quotas", f"`{GPUS_EVERYWHERE}`: {_used(everywhere)}")
    yield _gpus(cloud, quotas)


def training_findings(cloud: Cloud) -> Iterator[Finding]:
    """Vertex AI's own: Compute Engine's do not count for it. Nobody tells how much of them is used."""
    try:
        limits = training_limits(cloud.transport, cloud.project, cloud.region)
    except ApiError as error:
        if error.status != 403:
            raise
        grant = f"outlast init --project {cloud.project} --member YOU"
        fact = f"you may not look at those of Vertex AI: {error.message}"
        yield warning("quotas", fact, f"somebody with more rights types: {grant}")
        return
    cpus = {name: limit for name, limit in sorted(limits.items()) if name.endswith("cpus")}
    low = max(cpus.values(), default=0.0) < CPUS_LOW
    fact = f"CPUs for training in `{cloud.region}`: {_limits(cpus)}"
    yield warning("quotas", fact, _page(cloud, f"{TRAINING}cpus")) if low else good("quotas", fact)
    others = {name: limit for name, limit in sorted(limits.items()) if limit and name not in cpus}
    if others:
        yield good("quotas", f"GPUs and TPUs for training in `{cloud.region}`: {_limits(others)}")
    else:
        fact = f"no GPU or TPU may be trained on in `{cloud.region}`: every quota of Vertex AI for them is 0 there"
        yield warning("quotas", fact, _page(cloud, f"{TRAINING}nvidia_l4_gpus"))


def _limits(limits: dict[str, float]) -> str:
    named = ", ".join(f"`{name}` {limit:g}" for name, limit in limits.items())
    return f"of `{TRAINING}...` {named}" if named else "none"


def _cpus(cloud: Cloud, quotas: dict[str, Document]) -> Finding:
    """Where a region has a quota for Spot, Spot may use only that one; where it has none, the other."""
    spot = quotas.get(f"{SPOT}CPUS")
    counted = spot if spot is not None and spot.get("limit") else quotas.get("CPUS")
    if counted is None:
        return warning("quotas", f"`{cloud.region}` tells nothing of CPUs", _page(cloud, "CPUS"))
    metric, left = str(counted["metric"]), float(counted.get("limit", 0)) - float(counted.get("usage", 0))
    fact = f"`{metric}` in `{cloud.region}`: {_used(counted)}"
    if left < 1:
        return bad("quotas", f"{fact}: nothing can be started", _page(cloud, metric))
    return warning("quotas", fact, _page(cloud, metric)) if left < CPUS_LOW else good("quotas", fact)


def _gpus(cloud: Cloud, quotas: dict[str, Document]) -> Finding:
    found = [
        one
        for metric, one in sorted(quotas.items())
        if "NVIDIA_" in metric and "COMMITTED" not in metric and one.get("limit")
    ]
    if not found:
        fact = f"no GPU may be rented in `{cloud.region}`: every quota of GPUs is 0 there"
        return warning("quotas", fact, _page(cloud, f"{SPOT}NVIDIA_L4_GPUS"))
    return good("quotas", f"GPUs in `{cloud.region}`: " + ", ".join(f"`{one['metric']}` {_used(one)}" for one in found))


def _used(quota: Document) -> str:
    return f"{float(quota.get('usage', 0)):g} of {float(quota.get('limit', 0)):g} used"


def _page(cloud: Cloud, metric: str) -> str:
    """More is asked for in the console, and granted by people."""
    return f"https://console.cloud.google.com/iam-admin/quotas?project={cloud.project}&metric={metric}"
