"""Networks, subnetworks and firewalls, as far as clients look them up: the project begins with Google's `default`."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from outlast_emulator.clock import rfc3339
from outlast_emulator.compute import links, places, rules
from outlast_emulator.compute.resources import Resource, fingerprint

if TYPE_CHECKING:
    from outlast_emulator.compute.model import Compute

NETWORKS, SUBNETWORKS, FIREWALLS = "networks", "subnetworks", "firewalls"
_FIRST_SUBNET = ipaddress.ip_network("10.128.0.0/20")
_RULES: tuple[tuple[str, list[dict[str, Any]], list[str]], ...] = (
    ("default-allow-icmp", [{"IPProtocol": "icmp"}], ["0.0.0.0/0"]),
    (
        "default-allow-internal",
        [
            {"IPProtocol": "tcp", "ports": ["0-65535"]},
            {"IPProtocol": "udp", "ports": ["0-65535"]},
            {"IPProtocol": "icmp"},
        ],
        ["10.128.0.0/9"],
    ),
    ("default-allow-ssh", [{"IPProtocol": "tcp", "ports": ["22"]}], ["0.0.0.0/0"]),
)


class Networks:
    def __init__(self, compute: Compute, project: str) -> None:
        self._compute = compute
        with compute.database.write():
            if not compute.database.note("default network"):
                compute.database.keep_note("default network", "made")
                self._make_default(project)

    def interface(self, asked: dict[str, Any], project: str, zone: str, at: int) -> dict[str, Any]:
        """An element of an instance's `networkInterfaces`, with addresses."""
        field = f"resource.networkInterfaces[{at}]"
        region = links.region_of(zone)
        subnet = self._subnetwork(asked.get("subnetwork"), project, region, field)
        network = self._network(asked.get("network"), project, field, required=subnet is None)
        if subnet is None and network is not None:
            subnet = self._subnet_of(network, region, field)
        number = int(self._compute.database.note("address") or 1) + 1
        self._compute.database.keep_note("address", str(number))
        shown: dict[str, Any] = {
            "kind": "compute#networkInterface",
            "name": f"nic{at}",
            "stackType": asked.get("stackType", "IPV4_ONLY"),
            "fingerprint": fingerprint([zone, number]),
        }
        if subnet is not None:
            shown["network"] = subnet.document["network"]
            shown["subnetwork"] = subnet.url
            block = ipaddress.ip_network(subnet.document["ipCidrRange"])
            shown["networkIP"] = asked.get("networkIP") or str(block[2 + number % (block.num_addresses - 4)])
        elif network is not None:
            shown["network"] = network.url
        if asked.get("nicType"):
            shown["nicType"] = asked["nicType"]
        if asked.get("accessConfigs"):
            shown["accessConfigs"] = [
                {
                    "kind": "compute#accessConfig",
                    "type": one.get("type", "ONE_TO_ONE_NAT"),
                    "name": one.get("name", "external-nat"),
                    "natIP": one.get("natIP") or str(ipaddress.ip_address("198.18.0.0") + number),
                    "networkTier": one.get("networkTier", "PREMIUM"),
                }
                for one in asked["accessConfigs"]
            ]
        return shown

    def create(self, project: str, body: dict[str, Any]) -> Resource:
        name = rules.check_name(body.get("name"))
        automatic = body.get("autoCreateSubnetworks", True)
        made = self._add_network(project, name, automatic, body.get("description", ""))
        if automatic:
            self._add_subnetworks(project, made)
        return made

    def create_subnetwork(self, project: str, region: str, body: dict[str, Any]) -> Resource:
        name = rules.check_name(body.get("name"))
        network = self._network(body.get("network"), project, "resource", required=True)
        assert network is not None
        try:
            block = ipaddress.ip_network(body.get("ipCidrRange", ""))
        except ValueError as error:
            value = body.get("ipCidrRange", "")
            raise rules.refused("resource.ipCidrRange", value, "Must be a valid CIDR block.") from error
        made = self._add_subnetwork(project, region, name, network, str(block))
        for kept in ("privateIpGoogleAccess", "description"):
            if kept in body:
                made.document[kept] = body[kept]
        self._compute.resources.save(made)
        return made

    def create_firewall(self, project: str, body: dict[str, Any]) -> Resource:
        name = rules.check_name(body.get("name"))
        network = self._network(body.get("network") or "global/networks/default", project, "resource", required=True)
        assert network is not None
        if not body.get("allowed") and not body.get("denied"):
            raise rules.refused("resource", "", "Must specify at least one of allowed or denied.")
        document = {
            "direction": "INGRESS",
            "priority": 1000,
            "disabled": False,
            "logConfig": {"enable": False},
            **body,
            "kind": "compute#firewall",
            "network": network.url,
            "creationTimestamp": self._stamp(),
        }
        if document["direction"] == "INGRESS" and not any(
            body.get(one) for one in ("sourceRanges", "sourceTags", "sourceServiceAccounts")
        ):
            document["sourceRanges"] = ["0.0.0.0/0"]
        return self._compute.resources.add(FIREWALLS, project, links.GLOBAL, name, document)

    def create_router(self, project: str, scope: str, body: dict[str, Any]) -> Resource:
        """With its NATs, by which machines without an address of their own reach the internet."""
        name = rules.check_name(body.get("name"))
        network = self._network(body.get("network"), project, "resource", required=True)
        assert network is not None
        document = {
            **body,
            "kind": "compute#router",
            "network": network.url,
            "region": links.url(f"projects/{project}/{scope}"),
            "creationTimestamp": self._stamp(),
        }
        return self._compute.resources.add("routers", project, scope, name, document)

    def _network(self, named: str | None, project: str, field: str, *, required: bool) -> Resource | None:
        if not named and not required:
            return None
        link = links.parse(named or "global/networks/default", NETWORKS, project, links.GLOBAL)
        found = self._compute.resources.at(link) if link is not None else None
        if found is None:
            words = "The referenced network resource cannot be found."
            raise rules.refused(f"{field}.network", named or f"projects/{project}/global/networks/default", words)
        return found

    def _subnetwork(self, named: str | None, project: str, region: str, field: str) -> Resource | None:
        if not named:
            return None
        link = links.parse(named, SUBNETWORKS, project, links.region_scope(region))
        found = self._compute.resources.at(link) if link is not None else None
        if found is None or found.region != region:
            words = "The referenced subnetwork resource cannot be found."
            raise rules.refused(f"{field}.subnetwork", named, words)
        return found

    def _subnet_of(self, network: Resource, region: str, field: str) -> Resource | None:
        inside = self._compute.resources.list(SUBNETWORKS, network.project, links.region_scope(region))
        found = [one for one in inside if one.document["network"] == network.url]
        if network.document.get("autoCreateSubnetworks") and found:
            return found[0]
        words = "Subnetwork should be specified for custom subnetmode network"
        raise rules.refused(f"{field}.network", network.url, words)

    # ------------------------------------------------------------------------------------------------------------ making

    def _make_default(self, project: str) -> None:
        network = self._add_network(project, "default", True, "Default network for the project")
        self._add_subnetworks(project, network)
        for name, allowed, sources in _RULES:
            body = {
                "name": name,
                "network": network.url,
                "allowed": allowed,
                "sourceRanges": sources,
                "priority": 65534,
            }
            self.create_firewall(project, body)

    def _add_network(self, project: str, name: str, automatic: bool, description: str) -> Resource:
        document: dict[str, Any] = {
            "kind": "compute#network",
            "creationTimestamp": self._stamp(),
            "autoCreateSubnetworks": automatic,
            "routingConfig": {"routingMode": "REGIONAL", "bgpBestPathSelectionMode": "LEGACY"},
            "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
            "mtu": 1460,
            "selfLinkWithId": "",
        }
        if description:
            document["description"] = description
        made = self._compute.resources.add(NETWORKS, project, links.GLOBAL, name, document)
        made.document["selfLinkWithId"] = links.url(f"projects/{project}/global/networks/{made.id}")
        self._compute.resources.save(made)
        return made

    def _add_subnetworks(self, project: str, network: Resource) -> None:
        blocks = ipaddress.ip_network("10.128.0.0/9").subnets(new_prefix=20)
        for region, block in zip(places.REGIONS, blocks, strict=False):
            self._add_subnetwork(project, region, network.name, network, str(block))

    def _add_subnetwork(self, project: str, region: str, name: str, network: Resource, block: str) -> Resource:
        document = {
            "kind": "compute#subnetwork",
            "creationTimestamp": self._stamp(),
            "network": network.url,
            "ipCidrRange": block,
            "gatewayAddress": str(ipaddress.ip_network(block)[1]),
            "region": links.url(f"projects/{project}/regions/{region}"),
            "privateIpGoogleAccess": False,
            "purpose": "PRIVATE",
            "stackType": "IPV4_ONLY",
            "fingerprint": fingerprint([network.id, region, block]),
        }
        made = self._compute.resources.add(SUBNETWORKS, project, links.region_scope(region), name, document)
        network.document.setdefault("subnetworks", []).append(made.url)
        self._compute.resources.save(network)
        return made

    def _stamp(self) -> str:
        return rfc3339(int(self._compute.clock.now() * 1e6))
