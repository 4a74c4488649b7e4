"""What somebody needs who runs jobs: every right is taken away in turn, and the error names it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from outlast.errors import Denied, OutlastError
from outlast.jobs import roles
from outlast.jobs.asked import Asked
from outlast.jobs.audit import audit
from outlast.jobs.doctor_cloud import diagnose
from outlast.jobs.finding import Health
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.world import World, system_world
from outlast_emulator.testing import Running
from tests.cloud.admin import Admin

ANN = "ann@example.com"
OF_ADMINS = {
    "iam.roles.get",
    "iam.serviceAccounts.get",
    "resourcemanager.projects.getIamPolicy",
    "storage.buckets.getIamPolicy",
}
"""What doctor would like to look at, and does without."""


@pytest.fixture
def ann(admin: Admin, emulator: Running, monkeypatch: pytest.MonkeyPatch) -> World:
    """Somebody whom the admin has let in; no machine is to be had, so that none boots."""
    admin.bucket, admin.members = "a-home", (f"user:{ANN}",)
    admin.init()
    emulator.call("POST", "/_emulator/capacity", {"zone": "*", "machines": 0})
    key = admin.directory.parent / "ann.json"
    key.write_text(json.dumps(emulator.call("POST", "/_emulator/iam/users", {"email": ANN}).json()))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    monkeypatch.setenv("OUTLAST_DIR", str(admin.user_dir))
    monkeypatch.setenv("OUTLAST_HOME", "gs://a-home")
    monkeypatch.chdir(admin.directory)
    (admin.directory / "train.py").write_text("print(1)\n")
    return system_world()


def life(world: World, emulator: Running) -> None:
    """Run, stop, resume, stop, and two hours later an audit that removes what is left."""
    asked = Asked(target="train.py", directory=os.getcwd(), on="compute", home="gs://a-home", job_id="one")
    job = submit(world, asked).job
    audit(world, "", None, fix=False)
    stop(world, job)
    resume(world, job)
    stop(world, job)
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 7200})
    if failed := audit(world, "", None, fix=True).failed:
        raise Denied(" ".join(failed.values()))


def looks(world: World) -> None:
    """Without the look at rights themselves, which would name any that is missing."""
    found = [one.finding for one in diagnose(world, {}) if one.finding.check != "rights"]
    wrong = [one for one in found if one.health is Health.BAD]
    if wrong:
        raise Denied(" ".join(one.fact for one in wrong))


def whole(world: World, emulator: Running) -> None:
    life(world, emulator)
    looks(world)


def taken(emulator: Running, permission: str) -> None:
    """From the role, or from the binding that grants it on one resource."""
    left = sorted(set(roles.USER_ROLE_PERMISSIONS) - {permission})
    path = f"/v1/projects/emulated/roles/{roles.USER_ROLE}?updateMask=includedPermissions"
    assert emulator.call("PATCH", path, {"includedPermissions": left}).status == 200


def asked_of(emulator: Running, who: str) -> set[str]:
    return set(emulator.call("GET", "/_emulator/iam/asked").json()[who])


def test_a_member_can_do_everything_and_asks_for_no_more_than_is_written_down(ann: World, emulator: Running) -> None:
    whole(ann, emulator)
    needed = {one for one in asked_of(emulator, ANN) - OF_ADMINS if not one.startswith("storage.")}
    assert needed == {*roles.USER_PERMISSIONS, roles.ACT_AS}


@pytest.mark.parametrize("permission", roles.USER_PERMISSIONS)
def test_without_any_one_of_them_an_error_names_it(ann: World, emulator: Running, permission: str) -> None:
    taken(emulator, permission)
    with pytest.raises(OutlastError) as refused:
        whole(ann, emulator)
    assert permission in refused.value.message, refused.value.message


@pytest.mark.parametrize(
    ("resource", "role", "named"),
    [
        ("buckets/a-home", "roles/storage.objectUser", "storage.objects."),
        ("serviceAccounts/outlast-runner@emulated.iam.gserviceaccount.com", roles.ACT_AS_ROLE, roles.ACT_AS),
    ],
)
def test_without_a_binding_the_error_names_what_it_grants(
    ann: World, emulator: Running, resource: str, role: str, named: str
) -> None:
    body = {"resource": resource, "role": role, "member": f"user:{ANN}"}
    assert emulator.call("DELETE", "/_emulator/iam/bindings", body).status == 200
    with pytest.raises(Denied) as refused:
        life(ann, emulator)
    assert named in refused.value.message and refused.value.exit_code == 4


def test_the_roles_in_the_guide_are_those_that_init_makes() -> None:
    page = Path(__file__).parents[2].joinpath("docs/guides/google-cloud.md").read_text()
    everything = (
        *roles.RUNNER_PERMISSIONS,
        *roles.USER_PERMISSIONS,
        *roles.USER_MORE_PERMISSIONS,
        *roles.ADMIN_PERMISSIONS,
        *roles.ADMIN_SSH_PERMISSIONS,
        roles.RUNNER_BUCKET_ROLE,
        *roles.USER_BUCKET_ROLES,
        roles.ACT_AS_ROLE,
        roles.SECRET_ROLE,
    )
    assert [one for one in everything if f"`{one}`" not in page] == []
