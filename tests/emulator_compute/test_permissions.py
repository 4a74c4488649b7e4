"""Who may do what with Compute Engine: each permission that a call takes is named when it is missing."""

from __future__ import annotations

from typing import Any

import pytest

from outlast_emulator.compute import origins
from outlast_emulator.iam.methods import DEMANDS
from outlast_emulator.iam.roles import ROLES
from tests.emulator_compute.conftest import IMAGE, PROJECT, REGION, ZONE, Api, body

USER = "some@example.invalid"
HERE = f"zones/{ZONE}/instances"
RUNNER = f"outlast-runner@{PROJECT}.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def iam(api: Api, what: str, **wanted: Any) -> Any:
    return api.control("POST", f"iam/{what}", wanted)


def login(api: Api, *roles: str) -> None:
    """From now on calls are those of a user with these roles."""
    iam(api, "users", email=USER, roles=list(roles))
    api.headers = {"authorization": f"Bearer {iam(api, 'tokens', email=USER)['access_token']}"}


def allow(api: Api, *permissions: str) -> None:
    """A custom role with these permissions and no others."""
    where = f"/v1/projects/{PROJECT}/roles"
    role = {"title": "t", "includedPermissions": list(permissions), "stage": "GA"}
    made = api.emulator.call("POST", where, {"roleId": "some", "role": role})
    if made.status == 409:
        made = api.emulator.call("PATCH", f"{where}/some?updateMask=includedPermissions", role)
    assert made.status == 200, made.body
    iam(api, "bindings", resource=f"projects/{PROJECT}", role=f"projects/{PROJECT}/roles/some", member=f"user:{USER}")


def test_every_served_method_says_what_it_takes_and_an_owner_may_all() -> None:
    for method_id in origins.ORIGINS:
        if method_id not in ("compute.unknown", "compute.batch"):
            assert {demand.permission for demand in DEMANDS[method_id]} <= ROLES["roles/owner"], method_id


def test_nobody_without_a_role_may_do_anything(api: Api) -> None:
    login(api)
    for verb, path, permission in (
        ("GET", HERE, "compute.instances.list"),
        ("GET", f"{HERE}/vm", "compute.instances.get"),
        ("DELETE", f"{HERE}/vm", "compute.instances.delete"),
        ("GET", "aggregated/instances", "compute.instances.list"),
        ("GET", f"regions/{REGION}", "compute.regions.get"),
        ("GET", "", "compute.projects.get"),
        ("GET", "global/images/mine", "compute.images.get"),
        ("GET", f"zones/{ZONE}/operations/one", "compute.zoneOperations.get"),
        ("POST", f"zones/{ZONE}/operations/one/wait", "compute.zoneOperations.get"),
    ):
        status, reason, words = api.refused(verb, path)
        assert (status, reason) == (403, "forbidden") and f"Required '{permission}' permission for 'projects/" in words
    assert api.get("global/images/family/debian-12", project="debian-cloud")["family"] == "debian-12"


def test_an_instance_takes_each_of_its_permissions(api: Api) -> None:
    login(api)
    iam(api, "service-accounts", email=RUNNER)
    asked = body(
        labels={"a": "b"},
        script="#!/bin/bash\n",
        tags={"items": ["tag"]},
        serviceAccounts=[{"email": RUNNER, "scopes": [SCOPE]}],
        networkInterfaces=[{"network": "global/networks/default", "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}],
    )
    needed = {
        f"compute.{one}"
        for one in (
            "instances.create",
            "disks.create",
            "subnetworks.use",
            "subnetworks.useExternalIp",
            "instances.setLabels",
            "instances.setMetadata",
            "instances.setTags",
            "instances.setServiceAccount",
        )
    } | {"iam.serviceAccounts.actAs"}
    for missing in sorted(needed):
        allow(api, *(needed - {missing}))
        status, reason, words = api.refused("POST", HERE, asked)
        assert (status, reason) == (403, "forbidden") and f"'{missing}'" in words, words
    allow(api, *needed)
    assert api.post(HERE, asked)["user"] == USER


def test_acting_as_an_account_may_be_granted_on_the_account_alone(api: Api) -> None:
    login(api, "roles/compute.instanceAdmin.v1")
    iam(api, "service-accounts", email=RUNNER)
    asked = body(serviceAccounts=[{"email": RUNNER, "scopes": [SCOPE]}])
    assert f"The user does not have access to service account '{RUNNER}'" in api.refused("POST", HERE, asked)[2]
    role = "roles/iam.serviceAccountUser"
    iam(api, "bindings", resource=f"serviceAccounts/{RUNNER}", role=role, member=f"user:{USER}")
    api.done(api.post(HERE, asked))
    unknown = body("other", serviceAccounts=[{"email": "none@x.invalid", "scopes": [SCOPE]}])
    assert "was not found" in api.refused("POST", HERE, unknown)[2]


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        ("roles/compute.viewer", ("GET", HERE), ("POST", HERE)),
        (
            "roles/compute.instanceAdmin.v1",
            ("GET", f"regions/{REGION}/instanceGroupManagers"),
            ("POST", "global/networks"),
        ),
        ("roles/compute.networkViewer", ("GET", "global/networks"), ("GET", HERE)),
        ("roles/viewer", ("GET", "aggregated/disks"), ("POST", "global/images")),
    ],
)
def test_roles_permit_what_google_says(api: Api, role: str, may: tuple[str, str], may_not: tuple[str, str]) -> None:
    login(api, role)
    api.call(*may)
    asked = body() if may_not[0] == "POST" else None
    if may_not[1] != HERE and asked is not None:
        asked = {"name": "x"}
    assert api.refused(*may_not, asked)[0] == 403


def test_whether_an_instance_admin_manages_groups_is_a_switch(api: Api) -> None:
    login(api, "roles/compute.instanceAdmin.v1")
    groups = f"regions/{REGION}/instanceGroupManagers"
    api.get(groups)
    api.emulator.switch(instance_admin_manages_groups=False)
    assert "compute.instanceGroupManagers.list" in api.refused("GET", groups)[2]
    api.get(HERE)
    api.emulator.switch(instance_admin_manages_groups=True)
    api.get(groups)


def test_googles_own_images_are_everybodys_to_use_and_nobodys_to_change(api: Api) -> None:
    answer = api.emulator.call(
        "POST", "/compute/v1/projects/debian-cloud/global/images", {"name": "x", "sourceImage": IMAGE}
    )
    assert answer.status == 403 and "compute.images.create" in answer.json()["error"]["message"]


def test_a_token_of_a_machine_carries_its_scopes_and_its_accounts_rights(real: Api) -> None:
    """The machine itself asks, with what its metadata server gave it."""
    iam(real, "service-accounts", email=RUNNER, roles=["roles/compute.viewer"])
    url = f"$OUTLAST_EMULATOR/compute/v1/projects/{PROJECT}/{HERE}/vm"
    server = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default"
    script = f"""#!/bin/bash
token=$(curl -s -H 'Metadata-Flavor: Google' {server}/token | cut -d'"' -f4)
echo email $(curl -s -H 'Metadata-Flavor: Google' {server}/email)
echo get $(curl -s -o /dev/null -w '%{{http_code}}' -H "Authorization: Bearer $token" {url})
echo delete $(curl -s -X DELETE -o /dev/null -w '%{{http_code}}' -H "Authorization: Bearer $token" {url})
"""
    real.make(script=script, serviceAccounts=[{"email": RUNNER, "scopes": [SCOPE]}])
    from tests.emulator_compute.test_machines import said

    text = said(real, "delete 4")
    assert f"email {RUNNER}" in text and "get 200" in text and "delete 403" in text
