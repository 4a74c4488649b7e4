"""Why an operation ends in vain, in Google's words: no capacity, no quota."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from outlast_emulator.errors import ApiError

_HTTP = {400: "BAD REQUEST", 403: "FORBIDDEN", 404: "NOT FOUND", 409: "CONFLICT", 503: "SERVICE UNAVAILABLE"}


@dataclass
class Failure(Exception):
    """What an operation's `error` says. Raised by the model; the API puts it into an operation, a group into `lastAttempt`."""

    code: str
    """`ZONE_RESOURCE_POOL_EXHAUSTED`, `QUOTA_EXCEEDED`..."""
    message: str
    http_status: int = 503
    details: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    """Of the HTTP answer, where it is refused at once: `quotaExceeded`."""

    @property
    def http_message(self) -> str:
        return _HTTP.get(self.http_status, "INTERNAL SERVER ERROR")

    def error(self) -> dict[str, Any]:
        """An element of an operation's `error.errors`, and of `lastAttempt.errors.errors`."""
        shown: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            shown["errorDetails"] = self.details
        return shown

    def refusal(self) -> ApiError:
        """The same as an HTTP answer."""
        status = 403 if self.http_status in (403, 503) else self.http_status
        return ApiError(status, self.reason or "resourceExhausted", self.message, domain="usageLimits")


def no_capacity(project: str, zone: str, machine_type: str, accelerators: str = "") -> Failure:
    message = (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the request.  "
        "Try a different zone, or try again later."
    )
    attributes = {"vmType": machine_type, "attachment": accelerators, "zone": zone, "zonesAvailable": ""}
    reason = {
        "errorInfo": {
            "reason": "resource_availability",
            "domain": "compute.googleapis.com",
            "metadatas": attributes,
        }
    }
    return Failure("ZONE_RESOURCE_POOL_EXHAUSTED", message, 503, [reason], "zoneResourcePoolExhausted")


def no_capacity_with_details(project: str, zone: str, machine_type: str, accelerators: str = "") -> Failure:
    """The younger form, which names the machine type."""
    found = no_capacity(project, zone, machine_type, accelerators)
    attached = f" with {accelerators}" if accelerators else ""
    message = (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the request.  "
        f"'(resource type:compute)'. A {machine_type} VM instance{attached} is currently unavailable in the {zone} zone. "
        "Consider trying your request in other zones, or try again later."
    )
    return Failure("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", message, 503, found.details, found.reason)


def no_quota(metric: str, limit: float, region: str) -> Failure:
    """`region` "" is a global quota."""
    where = f"in region {region}" if region else "globally"
    words = f"Quota '{metric}' exceeded.  Limit: {limit:.1f} {where}."
    service = metric.replace("_", "-") + ("-per-project-region" if region else "-per-project")
    quota = {
        "quotaInfo": {
            "metricName": f"compute.googleapis.com/{metric.lower()}",
            "limitName": service,
            "dimensions": {"region": region or "global"},
            "limit": limit,
        }
    }
    return Failure("QUOTA_EXCEEDED", words, 403, [quota], "quotaExceeded")
