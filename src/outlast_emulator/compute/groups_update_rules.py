"""A managed group's update policy: what Google fills in, and which bounds it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlast_emulator.compute.groups_shapes import EVEN
from outlast_emulator.compute.rules import refused


def filled(body: Mapping[str, Any], group: Mapping[str, Any], *, zones: int, shape: str, field: str) -> dict[str, Any]:
    """The policy with Google's defaults. `zones`: how many the group has; `shape` "": it is not regional."""
    found, name = dict(body.get("updatePolicy") or {}), f"{field}.updatePolicy"
    found.setdefault("type", "OPPORTUNISTIC")
    found.setdefault("minimalAction", "REPLACE")
    found.setdefault("mostDisruptiveAllowedAction", "REPLACE")
    found.setdefault("replacementMethod", "SUBSTITUTE")
    recreating = found["replacementMethod"] == "RECREATE"
    found.setdefault("maxSurge", {"fixed": 0 if recreating else zones, "calculated": 0 if recreating else zones})
    found.setdefault("maxUnavailable", {"fixed": zones, "calculated": zones})
    for bound in ("maxSurge", "maxUnavailable"):
        found[bound] = _bound(found[bound], group["targetSize"])
        fixed = found[bound].get("fixed")
        if shape and fixed is not None and 0 < fixed < zones:
            raise refused(
                f"{name}.{bound}.fixed",
                fixed,
                f"Fixed updatePolicy.{bound} for regional managed instance group has to be either 0 or at least equal "
                "to the number of zones.",
            )
    if recreating and found["maxSurge"]["calculated"]:
        raise refused(
            f"{name}.maxSurge",
            found["maxSurge"].get("fixed", found["maxSurge"].get("percent")),
            "maxSurge must be equal to 0 when replacement method is set to RECREATE",
        )
    if found["maxSurge"].get("fixed") == 0 and found["maxUnavailable"].get("fixed") == 0:
        raise refused(f"{name}.maxUnavailable", 0, "Either maxSurge or maxUnavailable must be greater than zero.")
    if shape:
        _check_redistribution(found, shape, name)
    elif found.get("instanceRedistributionType"):
        raise refused(
            f"{name}.instanceRedistributionType",
            found["instanceRedistributionType"],
            "Instance redistribution is supported only for regional managed instance groups.",
        )
    return found


def _bound(bound: Mapping[str, Any], size: int) -> dict[str, Any]:
    found = {key: value for key, value in bound.items() if key in ("fixed", "percent")}
    calculated = found["fixed"] if "fixed" in found else -(-size * int(found.get("percent", 0)) // 100)
    return {**found, "calculated": calculated}


def _check_redistribution(update: dict[str, Any], shape: str, name: str) -> None:
    wanted = update.get("instanceRedistributionType")
    if wanted == "PROACTIVE" and shape != EVEN:
        raise refused(
            f"{name}.instanceRedistributionType",
            wanted,
            f"Proactive instance redistribution is not supported with target shape {shape}.",
        )
    update["instanceRedistributionType"] = wanted or ("PROACTIVE" if shape == EVEN else "NONE")
