"""Which managed instance groups Google accepts, and what it fills in where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outlast_emulator.compute import groups_names, groups_update_rules, rules
from outlast_emulator.compute.groups_shapes import ANY, BALANCED, EVEN, FLEXIBLE
from outlast_emulator.compute.rules import refused
from outlast_emulator.compute.scheduling_rules import is_preemptible, termination_action
from outlast_emulator.errors import ApiError, not_implemented
from outlast_emulator.switches import Switches

SIZE_MAX = {True: 2000, False: 1000}
"""Regional or not -> the most machines that a group may have."""
CUSTOM_TYPE = re.compile(r"(?:[a-z0-9]+-)?custom-.*")
AUTOHEALING_DELAY_SECONDS_MAX = 3600


@dataclass(frozen=True)
class Place:
    """Where a group is: all that its rules ask about the world."""

    regional: bool
    location: str
    zones: tuple[str, ...]
    """Of the region; of a zonal group, its zone."""


def filled(
    body: Mapping[str, Any], place: Place, template: Mapping[str, Any], switches: Switches, *, field: str = "resource"
) -> dict[str, Any]:
    """The group's fields, with Google's defaults; raises what Google refuses. `template`: its properties."""
    group = {key: value for key, value in body.items() if key not in OUTPUT_ONLY}
    group["name"] = _checked_name(body, field)
    group["baseInstanceName"] = _checked_base(body, group["name"], field)
    group["targetSize"] = _checked_size(body, place, field)
    group["distributionPolicy"] = _distribution(body, place, field)
    if not place.regional:
        del group["distributionPolicy"]
    group["instanceLifecyclePolicy"] = _lifecycle(body)
    zones = len(group["distributionPolicy"]["zones"]) if place.regional else 1
    shape = shape_of(group) if place.regional else ""
    group["updatePolicy"] = groups_update_rules.filled(body, group, zones=zones, shape=shape, field=field)
    group.setdefault("listManagedInstancesResults", "PAGELESS")
    _check_flexibility(group, place, template, field)
    _check_zone_change(group, place, switches, field)
    _check_unknown(group)
    _check_healing(group, field)
    _check_bulk(group, template, field)
    _check_action(template, switches)
    return group


OUTPUT_ONLY = (
    "creationTimestamp",
    "currentActions",
    "fingerprint",
    "id",
    "instanceGroup",
    "kind",
    "region",
    "selfLink",
    "status",
    "zone",
    "satisfiesPzi",
    "satisfiesPzs",
)


def _checked_name(body: Mapping[str, Any], field: str) -> str:
    return rules.check_name(body.get("name"), f"{field}.name")


def _checked_base(body: Mapping[str, Any], name: str, field: str) -> str:
    base = str(body.get("baseInstanceName") or groups_names.default_for(name))
    if groups_names.parse(base) is None:
        raise refused(f"{field}.baseInstanceName", base, f"Must be a match of regex '{groups_names.PATTERN}'")
    return base


def _checked_size(body: Mapping[str, Any], place: Place, field: str) -> int:
    size = int(body.get("targetSize", 0))
    check_size(size, place.regional, f"{field}.targetSize")
    return size


def check_size(size: int, regional: bool, field: str) -> None:
    most = SIZE_MAX[regional]
    if not 0 <= size <= most:
        raise refused(field, size, f"Must be greater than or equal to 0 and less than or equal to {most}")


def zone_of(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[-1]


def _distribution(body: Mapping[str, Any], place: Place, field: str) -> dict[str, Any]:
    found = body.get("distributionPolicy")
    name = f"{field}.distributionPolicy"
    if found is not None and not place.regional:
        raise refused(name, "", "Distribution policy is supported only for regional managed instance groups.")
    if found is not None and not found:
        raise refused(name, "", "Distribution policy cannot be empty.")
    found = dict(found or {})
    zones = [zone_of(str(one.get("zone", ""))) for one in found.get("zones", [])]
    for index, zone in enumerate(zones):
        if zone not in place.zones:
            raise refused(f"{name}.zones[{index}].zone", zone, f"Zone must be in region '{place.location}'.")
    if len(set(zones)) != len(zones):
        raise refused(f"{name}.zones", ", ".join(zones), "Zones must be unique.")
    # Without a word Google takes three of the region's zones.
    found["zones"] = [{"zone": zone} for zone in zones or place.zones[:3]]
    found.setdefault("targetShape", EVEN)
    return found


def _lifecycle(body: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(body.get("instanceLifecyclePolicy") or {})
    found.setdefault("defaultActionOnFailure", "REPAIR")
    found.setdefault("forceUpdateOnRepair", "NO")
    found.setdefault("onFailedHealthCheck", "DEFAULT_ACTION")
    return found


def shape_of(group: Mapping[str, Any]) -> str:
    return str(group.get("distributionPolicy", {}).get("targetShape", EVEN))


def selections(group: Mapping[str, Any]) -> list[tuple[int, list[str]]]:
    """(rank, machine types) of a flexibility policy, the preferred first; [] without one."""
    found = (group.get("instanceFlexibilityPolicy") or {}).get("instanceSelections") or {}
    ranked = ((int(one.get("rank", 0)), list(one.get("machineTypes", []))) for one in found.values())
    return sorted(ranked, key=lambda one: one[0])


def _check_flexibility(group: Mapping[str, Any], place: Place, template: Mapping[str, Any], field: str) -> None:
    if not group.get("instanceFlexibilityPolicy"):
        return
    name = f"{field}.instanceFlexibilityPolicy"
    if not place.regional:
        raise refused(name, "", "Instance flexibility policy is supported only for regional managed instance groups.")
    shape = shape_of(group)
    if shape not in FLEXIBLE:
        raise refused(name, "", f"Instance flexibility policy is not supported with target distribution shape {shape}.")
    for key, one in group["instanceFlexibilityPolicy"].get("instanceSelections", {}).items():
        place_name = f"{name}.instanceSelections[{key}]"
        rules.check_name(key, place_name)
        types = one.get("machineTypes", [])
        if not types:
            raise refused(f"{place_name}.machineTypes", "", "Instance selection must have at least one machine type.")
        for machine_type in types:
            if "/" in machine_type or CUSTOM_TYPE.fullmatch(machine_type):
                why = "Custom machine types are not supported in instance selections."
                raise refused(f"{place_name}.machineTypes", machine_type, why)
    if not template.get("machineType"):
        raise refused(name, "", "The instance template must have a machine type.")


def may_change_zone(group: Mapping[str, Any]) -> bool:
    return (group["instanceLifecyclePolicy"].get("onRepair") or {}).get("allowChangingZone") == "YES"


def _check_zone_change(group: Mapping[str, Any], place: Place, switches: Switches, field: str) -> None:
    if not may_change_zone(group):
        return
    name = f"{field}.instanceLifecyclePolicy.onRepair.allowChangingZone"
    policy, shape = group["instanceLifecyclePolicy"], shape_of(group)
    reasons: Sequence[tuple[bool, str]] = (
        (not switches.zone_change, "This feature is not available for the project."),
        (not place.regional, "Changing zone on repair is supported only for regional managed instance groups."),
        (shape not in (BALANCED, ANY), f"Changing zone on repair is not supported with target shape {shape}."),
        (policy["forceUpdateOnRepair"] != "YES", "Changing zone on repair requires forceUpdateOnRepair set to YES."),
        (
            group["updatePolicy"].get("instanceRedistributionType") == "PROACTIVE",
            "Changing zone on repair requires instanceRedistributionType set to NONE.",
        ),
        (bool(group.get("statefulPolicy")), "Changing zone on repair is not supported with stateful configuration."),
        (
            bool(group.get("instanceFlexibilityPolicy")) and not switches.zone_change_with_flexibility,
            "Changing zone on repair is not supported with instanceFlexibilityPolicy.",
        ),
    )
    for holds, why in reasons:
        if holds:
            raise refused(name, "YES", why)


def _check_unknown(group: Mapping[str, Any]) -> None:
    """What the emulator has nothing of is not taken in silence."""
    for name in ("statefulPolicy", "resourcePolicies", "targetStoppedSize", "targetSuspendedSize"):
        if group.get(name):
            raise not_implemented(f"instanceGroupManagers with {name}")
    if (group.get("standbyPolicy") or {}).get("mode", "MANUAL") != "MANUAL":
        raise not_implemented("instanceGroupManagers with standbyPolicy")
    checks = [str(one.get("healthCheck") or "") for one in group.get("autoHealingPolicies") or []]
    for path in (*filter(None, checks), *(group.get("targetPools") or [])):
        raise ApiError(404, "notFound", f"The resource '{path}' was not found")


def _check_healing(group: Mapping[str, Any], field: str) -> None:
    policies = group.get("autoHealingPolicies") or []
    if len(policies) > 1:
        raise refused(f"{field}.autoHealingPolicies", len(policies), "Only one autohealing policy can be specified.")
    for policy in policies:
        delay = int(policy.get("initialDelaySec", 0))
        if not 0 <= delay <= AUTOHEALING_DELAY_SECONDS_MAX:
            why = f"Must be between 0 and {AUTOHEALING_DELAY_SECONDS_MAX}."
            raise refused(f"{field}.autoHealingPolicies[0].initialDelaySec", delay, why)


def _check_bulk(group: Mapping[str, Any], template: Mapping[str, Any], field: str) -> None:
    if (group.get("targetSizePolicy") or {}).get("mode") != "BULK":
        return
    model = (template.get("scheduling") or {}).get("provisioningModel", "STANDARD")
    if model not in ("RESERVATION_BOUND", "FLEX_START"):
        raise refused(
            f"{field}.targetSizePolicy.mode",
            "BULK",
            f"Target size policy mode BULK is not supported for VMs with provisioning model {model}.",
        )
    raise not_implemented("instanceGroupManagers with targetSizePolicy.mode BULK")


def _check_action(template: Mapping[str, Any], switches: Switches) -> None:
    scheduling = template.get("scheduling") or {}
    refuses = is_preemptible(scheduling) and not switches.group_takes_spot_delete
    if refuses and termination_action(scheduling) == "DELETE":
        raise refused(
            "resource.properties.scheduling.instanceTerminationAction",
            "DELETE",
            "Managed instance groups do not support Spot VMs with instance termination action DELETE.",
        )
