"""Whether a network's rules let a connection in: the first by priority that fits decides, and without one it stays outside."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute.networks import FIREWALLS
from outlast_emulator.compute.resources import Instance

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute


def lets_in(compute: Compute, instance: Instance, source: str, port: int) -> bool:
    """TCP from all addresses of `source` (a block) to a port of the instance. Of two rules of one priority the one that denies counts."""
    networks = {one.get("network") for one in instance.document.get("networkInterfaces", ())}
    tags = set(instance.document.get("tags", {}).get("items", ()))
    accounts = {one["email"] for one in instance.document.get("serviceAccounts", ())}
    rules = [one.document for one in compute.resources.list(FIREWALLS, instance.project)]
    fitting = [
        rule
        for rule in rules
        if rule["network"] in networks
        and rule["direction"] == "INGRESS"
        and not rule["disabled"]
        and (not rule.get("targetTags") or tags & set(rule["targetTags"]))
        and (not rule.get("targetServiceAccounts") or accounts & set(rule["targetServiceAccounts"]))
        and _covers(rule.get("sourceRanges", ()), source)
        and _names_port(rule, port)
    ]
    first = min(fitting, key=lambda rule: (rule["priority"], "allowed" in rule), default=None)
    return first is not None and "allowed" in first


def _covers(ranges: list[str], source: str) -> bool:
    block = ipaddress.ip_network(source)
    blocks = [ipaddress.ip_network(one) for one in ranges]
    return any(one.version == block.version and block.subnet_of(one) for one in blocks)  # type: ignore[arg-type]


def _names_port(rule: dict[str, Any], port: int) -> bool:
    for one in rule.get("allowed") or rule.get("denied", ()):
        if one["IPProtocol"] in ("tcp", "6", "all"):
            spans = [span.partition("-") for span in one.get("ports", ())]
            if not spans or any(int(low) <= port <= int(high or low) for low, _, high in spans):
                return True
    return False
