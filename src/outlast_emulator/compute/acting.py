"""Whether a caller may let a machine act as a service account: asked by instances, templates and groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from outlast_emulator.errors import ApiError
from outlast_emulator.iam.authority import OWNING
from outlast_emulator.iam.policy import account_policy
from outlast_emulator.iam.state import PROJECT
from outlast_emulator.request import Request

if TYPE_CHECKING:
    from outlast_emulator.emulator import Emulator

ACT_AS = "iam.serviceAccounts.actAs"


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
        if caller is OWNING or authority.policy.allows(caller.member, ACT_AS, account_policy(email)):
            continue
        raise ApiError(
            403,
            "forbidden",
            f"The user does not have access to service account '{email}'. User: '{caller.name}'. Ask a project owner to grant "
            f"you the iam.serviceAccountUser role on the service account. Required '{ACT_AS}' permission for "
            f"'projects/{PROJECT}/serviceAccounts/{email}'",
        )
