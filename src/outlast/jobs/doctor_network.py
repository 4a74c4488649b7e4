"""Doctor's look at the network that machines are in: is it there, and do they reach Google and the world from it?"""

from __future__ import annotations

from collections.abc import Iterator

from outlast.google.compute_project import ComputeProject
from outlast.jobs.cloud import Cloud
from outlast.jobs.finding import Diagnosis, bad, good, warning


def network_diagnoses(cloud: Cloud) -> Iterator[Diagnosis]:
    compute = ComputeProject(cloud.transport, cloud.project)
    project = f"--project={cloud.project}"
    if compute.find_network(cloud.network) is None:
        command = f"gcloud compute networks create {cloud.network} --subnet-mode=auto {project}"
        fact = f"there is no network `{cloud.network}`"
        yield Diagnosis(bad("network", fact, f"{command}, or --network ANOTHER"))
        return
    if compute.region_quotas(cloud.region) is None:
        return  # there is no such region: said where its quotas are looked at
    subnetworks = compute.subnetworks(cloud.region, cloud.network)
    if not subnetworks:
        create = f"gcloud compute networks subnets create {cloud.network}-{cloud.region} --network={cloud.network}"
        fact = f"network `{cloud.network}` has nothing in `{cloud.region}`"
        yield Diagnosis(bad("network", fact, f"{create} --region={cloud.region} --range=10.200.0.0/20 {project}"))
        return
    yield Diagnosis(good("network", f"`{cloud.network}` is in `{cloud.region}`"))
    if cloud.external_ip:
        yield Diagnosis(good("addresses", "machines have one of their own, and reach Google and the world"))
        return
    name = str(subnetworks[0]["name"])
    yield _private_access(cloud, compute, name, bool(subnetworks[0].get("privateIpGoogleAccess")))
    yield _nat(cloud, compute)


def _private_access(cloud: Cloud, compute: ComputeProject, subnetwork: str, is_open: bool) -> Diagnosis:
    if is_open:
        return Diagnosis(good("private access", f"machines in `{subnetwork}` reach Google without an address"))
    command = f"gcloud compute networks subnets update {subnetwork} --region={cloud.region} --project={cloud.project}"
    return Diagnosis(
        bad(
            "private access",
            f"machines in `{subnetwork}` have no address, and do not reach their bucket",
            f"{command} --enable-private-ip-google-access",
        ),
        lambda: compute.open_private_access(cloud.region, subnetwork),
        f"machines in `{subnetwork}` reach Google without an address",
    )


def _nat(cloud: Cloud, compute: ComputeProject) -> Diagnosis:
    if compute.has_nat(cloud.region, cloud.network):
        return Diagnosis(good("nat", f"machines in `{cloud.region}` reach the world"))
    router = f"outlast-{cloud.region}"
    place = f"--region={cloud.region} --project={cloud.project}"
    command = (
        f"gcloud compute routers create {router} --network={cloud.network} {place} && gcloud compute routers nats create "
        f"{router} --router={router} --auto-allocate-nat-external-ips --nat-all-subnet-ip-ranges {place}"
    )
    fact = f"machines in `{cloud.region}` reach Google and nothing else: they can download no packages"
    return Diagnosis(warning("nat", fact, command))
