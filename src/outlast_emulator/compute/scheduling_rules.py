"""Which scheduling of a machine Google accepts: provisioning, termination action, time limits, notice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from outlast_emulator.compute.rules import refused
from outlast_emulator.errors import invalid
from outlast_emulator.switches import Switches

_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")

SPOT = "SPOT"
STANDARD = "STANDARD"
NOTICE_SECONDS = (0, 120)
"""What `preemptionNoticeDuration` may be."""
RUN_SECONDS_MIN = 30
RUN_SECONDS_MAX = 120 * 24 * 3600
STANDARD_STOP_SECONDS = 120.0
SPOT_STOP_SECONDS = 30.0


def model_of(scheduling: Mapping[str, Any]) -> str:
    """The provisioning model; `preemptible` alone is the old word for a machine that may be taken away."""
    found = scheduling.get("provisioningModel")
    if found:
        return str(found)
    return SPOT if scheduling.get("preemptible") else STANDARD


def is_preemptible(scheduling: Mapping[str, Any]) -> bool:
    return model_of(scheduling) == SPOT


def notice_seconds(scheduling: Mapping[str, Any]) -> float:
    """Between the metadata's word and the soft-off, at a preemption."""
    return duration_seconds(scheduling.get("preemptionNoticeDuration"))


def stop_seconds(scheduling: Mapping[str, Any]) -> float:
    """Between soft-off and the end of the machine, for whom does not end by itself."""
    if scheduling.get("skipGuestOsShutdown"):
        return 0.0
    return SPOT_STOP_SECONDS if is_preemptible(scheduling) else STANDARD_STOP_SECONDS


def termination_action(scheduling: Mapping[str, Any]) -> str:
    """`STOP` or `DELETE`: what becomes of a machine that is preempted or whose time is up."""
    found = str(scheduling.get("instanceTerminationAction") or "")
    return "DELETE" if found == "DELETE" else "STOP"


def duration_seconds(duration: Mapping[str, Any] | None) -> float:
    if not duration:
        return 0.0
    return float(duration.get("seconds", 0)) + float(duration.get("nanos", 0)) / 1e9


def deadline_at(scheduling: Mapping[str, Any], running_at: float, scale: float = 1.0) -> float | None:
    """When a machine that began to run at `running_at` is ended: `maxRunDuration` counts anew, `terminationTime` does not."""
    if scheduling.get("maxRunDuration"):
        return running_at + duration_seconds(scheduling["maxRunDuration"]) * scale
    if scheduling.get("terminationTime"):
        return parse_time(str(scheduling["terminationTime"]))
    return None


def parse_time(text: str) -> float | None:
    """Seconds since 1970 of a time in RFC 3339; None: it is none."""
    found = _TIME.fullmatch(text.strip().upper())
    if found is None:
        return None
    whole, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(whole.replace(" ", "T") + ("+00:00" if zone == "Z" else zone))
    except ValueError:
        return None
    return moment.astimezone(timezone.utc).timestamp() + float(fraction or 0)


def check(
    scheduling: Mapping[str, Any], *, now: float, switches: Switches, field: str, has_gpus: bool, in_template: bool
) -> None:
    """Raises what Google answers to a combination that it does not take. `field`: `resource.properties.scheduling`."""
    model = model_of(scheduling)
    if scheduling.get("preemptible") and model == STANDARD:
        raise refused(f"{field}.preemptible", "true", "Preemptible VMs cannot have the STANDARD provisioning model.")
    if model == SPOT and scheduling.get("preemptible") is False:
        raise refused(f"{field}.preemptible", "false", "Spot VMs must have preemptible set to true.")
    if model == SPOT:
        _check_spot(scheduling)
    elif has_gpus and scheduling.get("onHostMaintenance", "TERMINATE" if in_template else "MIGRATE") != "TERMINATE":
        raise refused(
            f"{field}.onHostMaintenance",
            scheduling.get("onHostMaintenance", "MIGRATE"),
            "Instances with guest accelerators do not support live migration.",
        )
    _check_limits(scheduling, now, switches, field, in_template)
    _check_action(scheduling, model, field)
    _check_notice(scheduling, model, switches, field, has_gpus=has_gpus, in_template=in_template)


def _check_spot(scheduling: Mapping[str, Any]) -> None:
    if scheduling.get("automaticRestart"):
        raise invalid("Scheduling must have automaticRestart be false when preemptible is true.")
    if scheduling.get("onHostMaintenance", "TERMINATE") != "TERMINATE":
        raise invalid("Scheduling must have onHostMaintenance be TERMINATE when preemptible is true.")


def _check_limits(scheduling: Mapping[str, Any], now: float, switches: Switches, field: str, in_template: bool) -> None:
    limit, moment = scheduling.get("maxRunDuration"), scheduling.get("terminationTime")
    if limit and moment:
        raise invalid("You can only specify one of: max run duration or termination time.")
    if limit and not RUN_SECONDS_MIN <= duration_seconds(limit) <= RUN_SECONDS_MAX:
        seconds = int(duration_seconds(limit))
        raise refused(
            f"{field}.maxRunDuration",
            f"{seconds}s",
            f"Max run duration must be between {RUN_SECONDS_MIN} seconds and 120 days.",
        )
    if not moment:
        return
    at = parse_time(str(moment))
    if at is None:
        raise refused(f"{field}.terminationTime", moment, "Invalid timestamp, must be in RFC3339 format.")
    if at <= now and not in_template and switches.past_termination_refused:
        raise refused(f"{field}.terminationTime", moment, "Termination time must be in the future.")


def _check_action(scheduling: Mapping[str, Any], model: str, field: str) -> None:
    action = scheduling.get("instanceTerminationAction")
    limited = bool(scheduling.get("maxRunDuration") or scheduling.get("terminationTime"))
    if action and model == STANDARD and not limited:
        raise refused(
            f"{field}.instanceTerminationAction",
            action,
            "You cannot specify a termination action for a VM instance that has the standard provisioning model"
            " (default). To use instance termination action, the VM instance must use the Spot provisioning model"
            " or have a limited run time.",
        )


def _check_notice(
    scheduling: Mapping[str, Any], model: str, switches: Switches, field: str, *, has_gpus: bool, in_template: bool
) -> None:
    notice = scheduling.get("preemptionNoticeDuration")
    if notice is None:
        return
    name, seconds = f"{field}.preemptionNoticeDuration", duration_seconds(notice)
    shown = f"{seconds:g}s"
    if in_template and not switches.notice_in_templates:
        raise refused(name, shown, "Preemption notice duration is not supported in instance templates.")
    if has_gpus and not switches.notice_with_gpus:
        raise refused(name, shown, "Preemption notice duration is not supported for VMs with guest accelerators.")
    if model != SPOT:
        raise refused(name, shown, "Preemption notice duration can only be set for Spot VMs.")
    if seconds not in NOTICE_SECONDS:
        raise refused(name, shown, "Preemption notice duration must be either 0 or 120 seconds.")
