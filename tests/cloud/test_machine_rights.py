"""What a rented machine may do: real ones, as `outlast-runner`, ask for what its roles have and for nothing else; and each right is taken
away in turn, and what one reads names it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from outlast.engines.compute.looking import LEAVE_RIGHT
from outlast.jobs import roles
from outlast_emulator.testing import Running, running
from tests.cli.user import User
from tests.cloud.admin import Admin
from tests.cloud.member import permit
from tests.cloud.test_secrets import CANARY, PRINTING, REFERENCE, set_token
from tests.compute.renter import RUNNER
from tests.waiting import until

MEMBER = f"serviceAccount:{RUNNER}"
OBJECTS = {f"storage.objects.{verb}" for verb in ("create", "delete", "get", "list")}
ACCESS = "secretmanager.versions.access"
RIGHTS = (*roles.RUNNER_PERMISSIONS, *sorted(OBJECTS), ACCESS)
"""All that machines ask for: the first two tests record it."""

GROUPS = "/compute/v1/projects/emulated/regions/us-central1/instanceGroupManagers"
SWEPT = """
import sys, time
time.sleep(600 if "--waits" in sys.argv else 0)
"""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A project that an admin has made ready, for all of them."""
    scratch = tmp_path_factory.mktemp("company")
    with running(scratch / "google", time_scale=0.05, process=True) as found:
        (scratch / "admin").mkdir()
        admin = Admin(found, scratch / "admin", scratch / "admin-outlast")
        admin.bucket = "a-home"
        admin.init()
        body = {"roleId": "objects", "role": {"title": "t", "includedPermissions": sorted(OBJECTS), "stage": "GA"}}
        assert found.call("POST", "/v1/projects/emulated/roles", body).status == 200
        assert bind(found, "POST", "buckets/a-home", "projects/emulated/roles/objects") == 200
        assert bind(found, "DELETE", "buckets/a-home", roles.RUNNER_BUCKET_ROLE) == 200
        found.call("POST", "/_emulator/world", {"environment": {"OUTLAST_PAUSE_SECONDS": "1"}})
        yield found


@pytest.fixture
def renter(emulator: Running, user: User) -> Iterator[User]:
    """Machines have all their rights at first, and nothing of what was rented is left."""
    user.env.update({**emulator.variables, "OUTLAST_HOME": "gs://a-home"})
    set_token(user)
    let(emulator)
    yield user
    for group in groups(emulator):
        emulator.call("DELETE", f"{GROUPS}/{group}")


def bind(emulator: Running, verb: str, resource: str, role: str) -> int:
    body = {"resource": resource, "role": role, "member": MEMBER}
    return emulator.call(verb, "/_emulator/iam/bindings", body).status


def let(emulator: Running, gone: str = "") -> None:
    """Machines have every right but one. A role that would be empty holds something that nobody asks for."""
    permit(emulator, roles.RUNNER_ROLE, {*roles.RUNNER_PERMISSIONS, "compute.zones.list"} - {gone})
    permit(emulator, "objects", OBJECTS - {gone})
    bind(emulator, "DELETE" if gone == ACCESS else "POST", "secrets/HF_TOKEN", roles.SECRET_ROLE)


def groups(emulator: Running) -> list[str]:
    found = emulator.call("GET", GROUPS).json()
    return [one["name"] for one in found.get("items", [])]


def asked(emulator: Running) -> set[str]:
    return set(emulator.call("GET", "/_emulator/iam/asked").json()[RUNNER])


def sweep(user: User, name: str) -> None:
    """Two machines, of which one is not needed any more before the other has ended."""
    user.write("train.py", SWEPT)
    user.write("cells.json", json.dumps([{"seed": 1}, {"seed": 2, "waits": True}]))
    words = ("--sweep", "cells.json", "--parallel", "2", "--name", name, "--detach", "--yes", "train.py")
    said = user.outlast("run", "--on", "compute", *words)
    assert said.code == 0, said.err


def train(user: User, job: str, *words: str) -> None:
    user.write("train.py", PRINTING)
    options = ("--secret", f"HF_TOKEN={REFERENCE}", "--job-id", job, *words)
    said = user.outlast("run", "--on", "compute", *options, "train.py")
    assert said.code == 0, said.out + said.err


def test_a_machine_reads_its_secret_ends_its_group_and_asks_for_nothing_else(renter: User, emulator: Running) -> None:
    train(renter, "whole")
    assert f"it has {len(CANARY)} characters: {'*' * len(CANARY)}" in renter.outlast("logs", "whole").out
    until(lambda: not groups(emulator), "its group is gone")
    assert asked(emulator) - {roles.LEAVE_GROUP} == {*RIGHTS} - {roles.LEAVE_GROUP}
    launch = emulator.get("a-home", "jobs/whole/launches/000001.json", alt="media").body
    for text in (launch, json.dumps(emulator.call("GET", "/_emulator/requests").json()).encode()):
        assert CANARY.encode() not in text


@pytest.mark.parametrize("gone", RIGHTS)
def test_without_any_one_of_its_rights_what_one_reads_names_it(renter: User, emulator: Running, gone: str) -> None:
    let(emulator, gone)
    job = "-".join(gone.lower().split(".")[1:])
    if gone == roles.LEAVE_GROUP:
        sweep(renter, job)
    else:
        train(renter, job, "--detach")
    until(lambda: gone in renter.outlast("show", job).out, f"show names {gone}")
    assert asked(emulator) <= {*RIGHTS}, "nothing else is asked for, also by those that lack something"
    if gone == roles.END_GROUP:
        machines = "/compute/v1/projects/emulated/aggregated/instances"
        until(lambda: "outlast-" not in emulator.call("GET", machines).body.decode(), "it has emptied its group")
        assert gone in renter.outlast("audit").out
        doctor = renter.outlast("doctor", "--on", "compute")
        assert f"not yet: role `outlastRunner` permits `{gone}`" in doctor.out and doctor.code == 1, doctor.out


def test_a_machine_that_comes_after_one_that_could_not_end_its_group_is_off_at_once(
    renter: User, emulator: Running
) -> None:
    """Neither may it empty it: the group makes it again and again, and each of them asks once."""
    permit(emulator, roles.RUNNER_ROLE, {"compute.zones.list"})
    boots = "jobs/again/launches/000001/boots/"
    assert emulator.put("a-home", f"{boots}stuck", b"an earlier machine's words").status == 200
    train(renter, "again", "--detach")
    until(lambda: emulator.get("a-home", f"{boots}0-3").status == 200, "it was made again twice")
    assert "an earlier machine's words" in renter.outlast("show", "again").out


def test_the_engine_names_the_right_to_leave_as_the_role_has_it() -> None:
    assert roles.LEAVE_GROUP == LEAVE_RIGHT
