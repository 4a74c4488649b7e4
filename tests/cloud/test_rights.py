"""What somebody needs who runs jobs: every right that is written down is taken away in turn, and what they read names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from outlast.engines.compute import image_bodies
from outlast.errors import Denied
from outlast.jobs import roles
from outlast_emulator.testing import Running
from tests.cloud.member import ANN, KEY, Member, company, permit, take_away
from tests.compute.renter import RUNNER

Act = Callable[[Member], None]
NUMBERS = count()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("company")


@pytest.fixture(scope="module")
def emulator(scratch: Path) -> Iterator[Running]:
    """One for all of them; each has a home of its own in it."""
    with company(scratch) as found:
        yield found


@pytest.fixture
def ann(emulator: Running, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Member:
    """There is room, and machines are records."""
    emulator.switch(machines=False, require_login=False)
    take_away(emulator)
    emulator.call("DELETE", "/_emulator/capacity")
    emulator.call("POST", "/_emulator/clock", {"skew_seconds": 0})
    for name, value in emulator.variables.items():
        monkeypatch.setenv(name, value)
    number = next(NUMBERS)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(scratch / KEY))
    monkeypatch.setenv("OUTLAST_DIR", str(tmp_path / "outlast"))
    monkeypatch.setenv("OUTLAST_HOME", f"gs://a-home/{number}")
    monkeypatch.setattr(image_bodies, "LIMIT_SECONDS", 30)
    (tmp_path / "train.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    return Member(emulator, tmp_path, number)


NEEDED: dict[Act, tuple[str, ...]] = {
    Member.lives: (
        "aiplatform.customJobs.list",
        "compute.disks.list",
        "compute.images.list",
        "compute.instanceGroupManagers.create",
        "compute.instanceGroupManagers.delete",
        "compute.instanceGroupManagers.get",
        "compute.instanceGroupManagers.list",
        "compute.instanceTemplates.create",
        "compute.instanceTemplates.delete",
        "compute.instanceTemplates.get",
        "compute.instanceTemplates.list",
        "compute.instanceTemplates.useReadOnly",
        "compute.instances.create",
        "compute.instances.list",
        "compute.regionOperations.get",
    ),
    Member.looks: (
        "compute.networks.get",
        "compute.projects.get",
        "compute.regions.get",
        "compute.subnetworks.list",
        "resourcemanager.projects.get",
        "serviceusage.services.get",
    ),
    Member.looks_from_inside: ("compute.routers.list",),
    Member.looks_at_vertex: ("serviceusage.quotas.get",),
    Member.lets_the_project_pay: ("serviceusage.services.use",),
    Member.refills: ("compute.instanceGroupManagers.update",),
    Member.removes_leaks: ("compute.disks.delete", "compute.instances.delete", "compute.zoneOperations.get"),
    Member.builds: (
        "compute.disks.create",
        "compute.disks.setLabels",
        "compute.disks.useReadOnly",
        "compute.globalOperations.get",
        "compute.images.create",
        "compute.images.getFromFamily",
        "compute.images.setLabels",
        "compute.images.useReadOnly",
        "compute.instances.get",
        "compute.instances.getGuestAttributes",
        "compute.instances.getSerialPortOutput",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.subnetworks.use",
        "compute.subnetworks.useExternalIp",
    ),
    Member.builds_on_an_image: ("compute.images.get",),
    Member.saves: ("compute.disks.use",),
    Member.deletes_an_image: ("compute.images.delete",),
    Member.refreshes: ("compute.acceleratorTypes.list", "compute.machineTypes.list"),
    Member.trains_in_a_container: (
        "aiplatform.customJobs.cancel",
        "aiplatform.customJobs.create",
        "aiplatform.customJobs.get",
        "logging.logEntries.list",
    ),
    Member.pushes: (
        "artifactregistry.repositories.create",
        "artifactregistry.repositories.downloadArtifacts",
        "artifactregistry.repositories.uploadArtifacts",
    ),
    Member.keeps_a_secret: roles.SECRET_PERMISSIONS,
}
"""What is taken away, and who misses it."""

OF_ADMINS = {"iam.roles.get", "iam.serviceAccounts.get", "resourcemanager.projects.getIamPolicy"}
"""What doctor would like to look at, and does without."""

DISPENSABLE = {"compute.advice.capacityHistory"}
"""Asked for, and done without where it is refused."""


def test_every_right_that_is_written_down_is_taken_away_in_turn() -> None:
    taken = [one for permissions in NEEDED.values() for one in permissions]
    assert len(taken) == len(set(taken))
    assert set(taken) == {*roles.USER_PERMISSIONS, *roles.USER_MORE_PERMISSIONS, *roles.SECRET_PERMISSIONS}
    of_jobs = {*NEEDED[Member.lives], *NEEDED[Member.looks]}
    assert of_jobs == set(roles.USER_PERMISSIONS), "what the guide calls those of jobs"


@pytest.mark.parametrize(
    ("act", "permission"),
    [pytest.param(act, one, id=one) for act, permissions in NEEDED.items() for one in permissions],
)
def test_without_any_one_of_them_what_one_reads_names_it(
    ann: Member, emulator: Running, act: Act, permission: str
) -> None:
    take_away(emulator, permission)
    words = ann.refusal(act)
    assert permission in words, words


def test_a_member_may_do_all_of_it_and_asks_for_no_more_than_is_written_down(ann: Member, emulator: Running) -> None:
    for act in (*NEEDED, Member.runs_in_a_subnetwork):
        emulator.switch(require_login=False)
        emulator.call("DELETE", "/_emulator/capacity")
        emulator.call("POST", "/_emulator/clock", {"skew_seconds": 0})
        act(ann)
    asked = {one for one in asked_by_ann(emulator) if not one.startswith("storage.")}
    assert asked == {*roles.USER_ROLE_PERMISSIONS, *roles.SECRET_PERMISSIONS, roles.ACT_AS, *OF_ADMINS, *DISPENSABLE}


def test_a_quota_project_that_is_not_ones_own_is_called_so(ann: Member, emulator: Running) -> None:
    take_away(emulator, "serviceusage.services.use")
    with pytest.raises(Denied) as refused:
        ann.lets_the_project_pay()
    assert "set-quota-project" in refused.value.hint


def test_without_what_is_only_looked_at_everything_goes_on(ann: Member, emulator: Running) -> None:
    take_away(emulator, *roles.USER_SPARE_PERMISSIONS)
    ann.pushes()
    emulator.switch(require_login=False)
    ann.runs_in_a_subnetwork()
    assert asked_by_ann(emulator) >= {*roles.USER_SPARE_PERMISSIONS} and ann.said == []


OF_BUCKET = ("storage.buckets.get", *(f"storage.objects.{verb}" for verb in ("create", "delete", "get", "list")))
"""Of what Google's two roles in the bucket have, what is asked for."""


@pytest.mark.parametrize("permission", OF_BUCKET)
def test_without_any_one_of_those_in_the_bucket_what_one_reads_names_it(
    ann: Member, emulator: Running, permission: str
) -> None:
    """A role with the others stands for Google's two."""
    permit(emulator, "objects", {*OF_BUCKET} - {permission})
    body = {"resource": "buckets/a-home", "role": "projects/emulated/roles/objects", "member": f"user:{ANN}"}
    object_user, reader = roles.USER_BUCKET_ROLES
    with without_binding(emulator, "buckets/a-home", object_user), without_binding(emulator, "buckets/a-home", reader):
        assert emulator.call("POST", "/_emulator/iam/bindings", body).status == 200
        words = ann.refusal(Member.lives if permission in OF_BUCKET[1:] else Member.looks)
        assert emulator.call("DELETE", "/_emulator/iam/bindings", body).status == 200
    assert permission in words, words
    asked = {one for one in asked_by_ann(emulator) if one.startswith("storage.")}
    assert asked <= {*OF_BUCKET, "storage.buckets.getIamPolicy"}, "the last for doctor, which does without"


def test_without_a_machine_s_account_the_error_names_what_it_takes(ann: Member, emulator: Running) -> None:
    with without_binding(emulator, f"serviceAccounts/{RUNNER}", roles.ACT_AS_ROLE), pytest.raises(Denied) as refused:
        ann.lives()
    assert roles.ACT_AS in refused.value.message and refused.value.exit_code == 4


@contextmanager
def without_binding(emulator: Running, resource: str, role: str) -> Iterator[None]:
    body = {"resource": resource, "role": role, "member": f"user:{ANN}"}
    assert emulator.call("DELETE", "/_emulator/iam/bindings", body).status == 200
    try:
        yield
    finally:
        assert emulator.call("POST", "/_emulator/iam/bindings", body).status == 200


def test_the_roles_in_the_guide_are_those_that_init_makes() -> None:
    page = Path(__file__).parents[2].joinpath("docs/guides/google-cloud.md").read_text()
    everything = (
        *roles.RUNNER_PERMISSIONS,
        *roles.USER_ROLE_PERMISSIONS,
        *roles.SECRET_PERMISSIONS,
        *roles.ADMIN_PERMISSIONS,
        *roles.ADMIN_SSH_PERMISSIONS,
        roles.RUNNER_BUCKET_ROLE,
        *roles.USER_BUCKET_ROLES,
        roles.ACT_AS_ROLE,
        roles.SECRET_ROLE,
    )
    assert [one for one in everything if f"`{one}`" not in page] == []


def asked_by_ann(emulator: Running) -> set[str]:
    return set(emulator.call("GET", "/_emulator/iam/asked").json()[ANN])
