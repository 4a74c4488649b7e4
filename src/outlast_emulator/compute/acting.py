"""Whether a caller may let a machine act as a service account: asked by instances, templates and groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.compute import links
from outlast_emulator.compute.images import PUBLIC_PROJECTS
from outlast_emulator.errors import ApiError
from outlast_emulator.iam.authority import OWNING
from outlast_emulator.iam.policy import account_policy
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.request import Request

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ACT_AS = "iam.serviceAccounts.actAs"


def demand(emulator: Emulator, request: Request, *permissions: str, named: str = "") -> None:
    """For what only an operation knows that it is needed; refused in Compute Engine's words, on `named` or the path."""
    if not emulator.switches.authorize:
        return
    caller = emulator.authority.caller(request)
    if caller is OWNING:
        return
    for permission in permissions:
        emulator.authority.demand_on(caller, permission, "", named or request.path.removeprefix("/compute/v1/"))


def demand_for_machine(emulator: Emulator, request: Request, body: dict[str, Any]) -> None:
    """What a machine takes beside itself: new disks, a subnet, an address outside, labels, metadata, an image of one's own."""
    project = request.params["project"]
    needed = []
    for disk in body.get("disks") or ():
        if disk.get("source"):
            needed.append("compute.disks.use")
            continue
        needed.append("compute.disks.create")
        described = disk.get("initializeParams") or {}
        if described.get("labels"):
            needed.append("compute.disks.setLabels")
        image = str(described.get("sourceImage") or "")
        link = links.parse(image, "images", project, links.GLOBAL) if image else None
        if link is not None and link.project not in PUBLIC_PROJECTS:
            needed.append("compute.images.useReadOnly")
    for interface in body.get("networkInterfaces") or ():
        needed.append("compute.subnetworks.use")
        if interface.get("accessConfigs"):
            needed.append("compute.subnetworks.useExternalIp")
    if body.get("labels"):
        needed.append("compute.instances.setLabels")
    if (body.get("metadata") or {}).get("items"):
        needed.append("compute.instances.setMetadata")
    if (body.get("tags") or {}).get("items"):
        needed.append("compute.instances.setTags")
    if body.get("serviceAccounts"):
        needed.append("compute.instances.setServiceAccount")
    demand(emulator, request, *dict.fromkeys(needed), named=f"projects/{project}")
    check(emulator, request, body.get("serviceAccounts"))


def check(emulator: Emulator, request: Request, accounts: Iterable[dict[str, Any]] | None) -> None:
    """`accounts`: the `serviceAccounts` of an instance. 403 names the account, the caller and the permission."""
    authority = emulator.authority
    for account in accounts or ():
        email = account.get("email") or "default"
        email = emulator.compute.default_account if email == "default" else email
        if email not in authority.state.document["service_accounts"]:
            raise ApiError(
                400,
                "invalid",
                f"Invalid value for field 'resource.serviceAccounts[0].email': '{email}'. The service account '{email}' was "
                "not found.",
            )
        if not emulator.switches.authorize:
            continue
        caller = authority.caller(request)
        if caller is OWNING or authority.allows(caller, ACT_AS, account_policy(email)):
            continue
        raise ApiError(
            403,
            "forbidden",
            f"The user does not have access to service account '{email}'. User: '{caller.name}'. Ask a project owner to grant "
            f"you the iam.serviceAccountUser role on the service account. Required '{ACT_AS}' permission for "
            f"'projects/{PROJECT}/serviceAccounts/{email}'",
        )
