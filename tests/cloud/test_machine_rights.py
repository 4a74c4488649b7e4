"""What a rented machine may do: a real one, as `outlast-runner`, asks for what its role has and for nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from outlast.jobs import roles
from outlast_emulator.testing import Running, running
from tests.cli.user import User
from tests.cloud.admin import Admin
from tests.cloud.member import permit
from tests.cloud.test_secrets import CANARY, PRINTING, REFERENCE, set_token
from tests.compute.renter import until

RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"
OBJECTS = {f"storage.objects.{verb}" for verb in ("create", "delete", "get", "list")}


def groups(emulator: Running) -> list[str]:
    found = emulator.call("GET", "/compute/v1/projects/emulated/regions/us-central1/instanceGroupManagers").json()
    return [one["name"] for one in found.get("items", [])]


def test_a_machine_reads_its_secret_ends_its_group_and_asks_for_nothing_else(user: User, tmp_path: Path) -> None:
    with running(tmp_path / "google", time_scale=0.05, process=True) as emulator:
        admin = Admin(emulator, tmp_path / "admin", tmp_path / "admin-outlast")
        admin.directory.mkdir()
        admin.bucket = "a-home"
        admin.init()
        user.env.update({**emulator.variables, "OUTLAST_HOME": "gs://a-home"})
        set_token(user)
        user.write("train.py", PRINTING)
        ran = user.outlast("run", "--on", "compute", "--secret", f"HF_TOKEN={REFERENCE}", "--job-id", "one", "train.py")
        assert ran.code == 0, ran.out + ran.err
        assert f"it has {len(CANARY)} characters: {'*' * len(CANARY)}" in ran.out
        until(lambda: not groups(emulator), "its group is gone")
        asked = emulator.call("GET", "/_emulator/iam/asked").json()[RUNNER]
        of_sweeps = {"compute.instanceGroupManagers.update"}  # by which a machine leaves: see tests/sweep_compute
        assert set(asked) == {*roles.RUNNER_PERMISSIONS, *OBJECTS, "secretmanager.versions.access"} - of_sweeps
        launch = emulator.get("a-home", "jobs/one/launches/000001.json", alt="media").body
        for text in (launch, json.dumps(emulator.call("GET", "/_emulator/requests").json()).encode()):
            assert CANARY.encode() not in text


def said_by_machines(emulator: Running) -> str:
    found = emulator.call("GET", "/compute/v1/projects/emulated/aggregated/instances").json()["items"]
    places = [(scope, one["name"]) for scope, listed in found.items() for one in listed.get("instances", ())]
    serial = [
        emulator.call("GET", f"/compute/v1/projects/emulated/{scope}/instances/{name}/serialPort")
        for scope, name in places
    ]
    return "".join(one.json().get("contents", "") for one in serial if one.status == 200)


def test_a_machine_that_may_not_end_its_group_says_so_and_empties_it_if_it_may_do_that(
    user: User, tmp_path: Path
) -> None:
    with running(tmp_path / "google", time_scale=0.05, process=True) as emulator:
        admin = Admin(emulator, tmp_path / "admin", tmp_path / "admin-outlast")
        admin.directory.mkdir()
        admin.bucket = "a-home"
        admin.init()
        permit(emulator, roles.RUNNER_ROLE, {"compute.instances.get"})
        user.env.update({**emulator.variables, "OUTLAST_HOME": "gs://a-home"})
        user.write("train.py", "print(1)\n")
        ran = user.outlast("run", "--on", "compute", "--detach", "--job-id", "one", "train.py")
        assert ran.code == 0, ran.err
        until(lambda: "may not end its group" in said_by_machines(emulator), "it says so")
        said = said_by_machines(emulator)
        assert "compute.instanceGroupManagers.delete" in said
        permit(emulator, roles.RUNNER_ROLE, {"compute.instanceGroupManagers.update"})
        machines = "/compute/v1/projects/emulated/aggregated/instances"
        until(lambda: "outlast-" not in emulator.call("GET", machines).body.decode(), "no machine is paid for")
        doctor = user.outlast("doctor", "--on", "compute")
        assert "not yet: role `outlastRunner` permits" in doctor.out and doctor.code == 1, doctor.out
