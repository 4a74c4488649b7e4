"""The one hole that `outlast ssh` needs: Google's tunnel, to outlast's machines, port 22, and nothing else."""

from __future__ import annotations

from outlast.google.compute_project import ComputeProject
from outlast.google.transport import Transport
from outlast.jobs.init_step import Setup, Step

FIREWALL = "outlast-iap-ssh"
TUNNEL = "35.235.240.0/20"
"""Where Identity-Aware Proxy comes from."""


def firewall_step(setup: Setup, transport: Transport, runner: str) -> Step:
    compute = ComputeProject(transport, setup.project)

    def make() -> None:
        compute.insert_firewall(
            {
                "name": FIREWALL,
                "description": "SSH to machines of outlast, through Google's tunnel only",
                "network": f"projects/{setup.project}/global/networks/{setup.network}",
                "direction": "INGRESS",
                "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
                "sourceRanges": [TUNNEL],
                "targetServiceAccounts": [runner],
            }
        )

    words = f"{FIREWALL} --project={setup.project}"
    rules = f"--network={setup.network} --direction=INGRESS --allow=tcp:22 --source-ranges={TUNNEL}"
    return Step(
        "firewall",
        f"firewall rule `{FIREWALL}` lets Google's tunnel reach port 22 of outlast's machines",
        lambda: compute.find_firewall(FIREWALL) is not None,
        make,
        (f"gcloud compute firewall-rules create {words} {rules} --target-service-accounts={runner}",),
        lambda: f"firewall rule `{FIREWALL}` was deleted" if compute.delete_firewall(FIREWALL) else "",
        (f"gcloud compute firewall-rules delete {words} --quiet",),
        f"firewall rule `{FIREWALL}` is deleted",
    )
