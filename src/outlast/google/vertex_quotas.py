"""How much of what Vertex AI trains on the project may have at once, in one region: not what Compute Engine's quotas count."""

from __future__ import annotations

from outlast.google.json_api import Document, JsonApi
from outlast.google.transport import Transport

SERVICE = "aiplatform.googleapis.com"
TRAINING = "custom_model_training_"
UNLIMITED = -1


def training_limits(transport: Transport, project: str, region: str) -> dict[str, float]:
    """Metric (`nvidia_l4_gpus`, `preemptible_nvidia_l4_gpus`, `cpus`) -> limit. `ApiError`, `NoAnswer`: as of every request."""
    usage = JsonApi(transport, f"{transport.endpoints.api('serviceusage')}/v1beta1")
    found = {}
    for metric in usage.pages(f"projects/{project}/services/{SERVICE}/consumerQuotaMetrics", "metrics"):
        name = str(metric.get("metric", "")).rpartition("/")[2]
        limits = [limit for one in metric.get("consumerQuotaLimits", ()) if (limit := _here(one, region)) is not None]
        if name.startswith(TRAINING) and limits:
            found[name.removeprefix(TRAINING)] = min(limits)
    return found


def _here(limit: Document, region: str) -> float | None:
    """The region's own, or what holds in every region without one; None: nobody says, or there is no limit."""
    found = None
    for bucket in limit.get("quotaBuckets", ()):
        if bucket.get("dimensions", {}).get("region", region) == region:
            found = int(bucket.get("effectiveLimit", 0))  # the more specific comes later
    return None if found is None or found == UNLIMITED else float(found)
