"""`outlast init`: made once, made again without harm, made to its end after any death, and undone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from outlast.errors import Denied, OutlastError, UsageError
from outlast.jobs import roles
from outlast.jobs.init_file import changed
from outlast_emulator.sources import permissions
from outlast_emulator.testing import Running
from tests.cli.user import Terminal, User
from tests.cloud.admin import Admin, Death, MortalWire

RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"


def policy(emulator: Running) -> dict[str, list[str]]:
    found = emulator.call("GET", "/_emulator/iam").json()["policies"]["projects/emulated"]
    return {one["role"]: sorted(one["members"]) for one in found if one["members"]}


def bucket_policy(emulator: Running, bucket: str) -> dict[str, list[str]]:
    found = emulator.call("GET", f"/storage/v1/b/{bucket}/iam").json()
    return {one["role"]: one["members"] for one in found["bindings"]}


def asked_for(emulator: Running) -> set[str]:
    """Every permission that the calls so far have needed."""
    calls = emulator.call("GET", "/_emulator/requests").json()["requests"]
    return {permission for call in calls for permission in permissions(call["method"])}


def test_a_new_project_is_made_ready_by_one_command_and_the_second_makes_nothing(
    admin: Admin, emulator: Running
) -> None:
    made = admin.init()

    assert len(made) == 7 and admin.all_there()
    assert admin.init() == []
    bucket = next(
        line.split('"')[1] for line in (admin.directory / "outlast.toml").read_text().splitlines() if "bucket" in line
    )
    runner = f"serviceAccount:{RUNNER}"
    assert policy(emulator)["projects/emulated/roles/outlastRunner"] == [runner]
    assert bucket_policy(emulator, bucket)["roles/storage.objectUser"] == [runner]
    role = emulator.call("GET", "/v1/projects/emulated/roles/outlastRunner").json()
    assert role["includedPermissions"] == sorted(roles.RUNNER_PERMISSIONS)
    assert all("create" not in one and "insert" not in one for one in roles.RUNNER_PERMISSIONS)


def test_the_bucket_is_private_and_keeps_nothing_that_is_deleted(admin: Admin, emulator: Running) -> None:
    admin.bucket = "a-home"
    admin.init()
    made = emulator.call("GET", "/storage/v1/b/a-home").json()
    assert made["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    assert made["softDeletePolicy"]["retentionDurationSeconds"] == "0" and made["location"] == "US-CENTRAL1"


def test_what_others_have_bound_stays(admin: Admin, emulator: Running) -> None:
    before = policy(emulator)
    admin.init()
    admin.undo()
    assert policy(emulator) == before


def test_undo_takes_all_of_it_away_but_a_bucket_with_data(admin: Admin, emulator: Running) -> None:
    admin.bucket, admin.members, admin.ssh = "a-home", ("user:ann@example.com",), True
    admin.init()
    emulator.put("a-home", "jobs/one/head.json", b"{}")

    said = admin.undo()

    assert any("`a-home` stays: it holds data" in line for line in said)
    assert emulator.call("GET", f"/v1/projects/emulated/serviceAccounts/{RUNNER}").status == 404
    assert emulator.call("GET", "/compute/v1/projects/emulated/global/firewalls/outlast-iap-ssh").status == 404
    assert emulator.call("GET", "/v1/projects/emulated/roles/outlastRunner").json()["deleted"]
    assert not any("ann@example.com" in str(members) for members in policy(emulator).values())
    assert not any("ann@example.com" in str(members) for members in bucket_policy(emulator, "a-home").values())
    assert not (admin.directory / "outlast.toml").exists()
    assert admin.undo() == ["bucket `a-home` stays: it holds data; `gcloud storage rm -r gs://a-home` removes it"]


def test_a_bucket_that_outlast_has_not_made_is_never_deleted(admin: Admin, emulator: Running) -> None:
    emulator.make_bucket("somebodys")
    admin.bucket = "somebodys"
    admin.init()
    assert "bucket `somebodys` stays: outlast has not made it" in admin.undo()
    assert emulator.call("GET", "/storage/v1/b/somebodys").status == 200


def test_after_an_undo_the_same_names_can_be_made_again(admin: Admin) -> None:
    admin.init()
    admin.undo()
    assert admin.init() and admin.all_there()


def test_a_role_that_somebody_changed_is_as_it_should_be_again(admin: Admin, emulator: Running) -> None:
    admin.init()
    path = "/v1/projects/emulated/roles/outlastRunner?updateMask=includedPermissions"
    emulator.call("PATCH", path, {"includedPermissions": ["compute.instances.create"]})
    listed = ", ".join(f"`{one}`" for one in roles.RUNNER_PERMISSIONS)
    assert admin.init() == [f"role `outlastRunner` permits {listed}"]
    assert admin.all_there()


def writes_of(admin: Admin, verb: str) -> int:
    wire = MortalWire(admin.environ)
    getattr(admin, verb)(wire)
    return wire.writes


@pytest.mark.parametrize("dies_after", [False, True])
def test_killed_at_any_write_it_goes_on_where_it_ended(admin: Admin, dies_after: bool) -> None:
    admin.members, admin.ssh = ("user:ann@example.com",), True
    count = writes_of(admin, "init")
    assert count >= 12
    admin.undo()
    for at in range(1, count + 1):
        wire = MortalWire(admin.environ)
        wire.dies_at, wire.dies_after = at, dies_after
        with pytest.raises(Death):
            admin.init(wire)
        admin.init()
        assert admin.all_there(), at
        assert admin.init() == [], at
        admin.undo()


@pytest.mark.parametrize("dies_after", [False, True])
def test_an_undo_that_is_killed_is_undone_by_the_next(admin: Admin, emulator: Running, dies_after: bool) -> None:
    admin.members, admin.ssh, before = ("user:ann@example.com",), True, policy(emulator)
    admin.init()
    count = writes_of(admin, "undo")
    for at in range(1, count + 1):
        admin.init()
        wire = MortalWire(admin.environ)
        wire.dies_at, wire.dies_after = at, dies_after
        with pytest.raises(Death):
            admin.undo(wire)
        admin.undo()
        assert policy(emulator) == before, at
        assert admin.undo() == [], at


def test_lost_answers_change_nothing(admin: Admin, emulator: Running) -> None:
    for method in (
        "iam.projects.serviceAccounts.create",
        "iam.projects.roles.create",
        "cloudresourcemanager.projects.setIamPolicy",
        "storage.buckets.insert",
        "storage.buckets.setIamPolicy",
    ):
        emulator.fault(method, "lost")
    admin.init()
    assert admin.all_there() and admin.init() == []


def test_somebody_elses_binding_at_the_same_moment_is_kept(admin: Admin, emulator: Running) -> None:
    """The policy that was read is no longer the one that is there: it is read again."""
    emulator.fault("cloudresourcemanager.projects.setIamPolicy", "error", status=409)
    admin.init()
    assert admin.all_there()


@pytest.mark.parametrize("lag", ["enable_seconds", "account_lag_seconds"])
def test_what_google_knows_only_after_a_while_is_waited_for(admin: Admin, emulator: Running, lag: str) -> None:
    emulator.switch(**{lag: 0.3})
    admin.init()
    assert admin.all_there()


def test_the_permissions_that_setting_up_takes_are_those_that_are_written_down(admin: Admin, emulator: Running) -> None:
    _whole_life(admin, emulator)
    assert asked_for(emulator) == EVERYTHING


EVERYTHING = frozenset((*roles.ADMIN_PERMISSIONS, *roles.ADMIN_SSH_PERMISSIONS))


@pytest.mark.parametrize("permission", sorted(EVERYTHING))
def test_without_any_one_of_them_an_error_names_it(admin: Admin, emulator: Running, permission: str) -> None:
    admin.become(EVERYTHING - {permission})
    with pytest.raises(OutlastError) as refused:
        _whole_life(admin, emulator)
    assert permission in refused.value.message, refused.value.message
    assert isinstance(refused.value, Denied) and refused.value.exit_code == 4
    assert "gcloud" in refused.value.hint or "with more rights" in refused.value.hint


def test_with_all_of_them_everything_is_done(admin: Admin, emulator: Running) -> None:
    admin.become(EVERYTHING)
    _whole_life(admin, emulator)


def _whole_life(admin: Admin, emulator: Running) -> None:
    """Everything that init ever does: from nothing, after a change by somebody, undone, and from there again."""
    emulator.call("POST", "/_emulator/apis", {"enabled": ["storage.googleapis.com"]})
    admin.members, admin.ssh = ("user:ann@example.com",), True
    admin.init()
    path = "/v1/projects/emulated/roles/outlastRunner?updateMask=includedPermissions"
    emulator.call("PATCH", path, {"includedPermissions": ["compute.instances.get"]})
    admin.init()
    admin.undo()
    admin.init()
    admin.undo()


def test_nothing_is_made_without_a_yes(user: User, emulator: Running) -> None:
    user.env.update(emulator.variables)
    refused = user.outlast("init", "--no-check")
    assert refused.code == 2 and "nothing was made" in refused.err and "--yes" in refused.err
    dry = user.outlast("init", "--dry-run")
    assert dry.code == 0 and "to make  service account" in dry.out and "nothing was" in dry.err
    assert emulator.call("GET", f"/v1/projects/emulated/serviceAccounts/{RUNNER}").status == 403  # its API is still off
    assert not (user.work / "outlast.toml").exists()


def test_the_command_makes_shows_and_undoes(user: User, emulator: Running) -> None:
    user.env.update(emulator.variables)
    made = user.outlast("init", "--yes", "--no-check", "--bucket", "a-home", "--json")
    assert made.code == 0, made.err
    assert {one["name"] for one in made.json} == {"apis", "project", "bucket", "role", "account", "binding", "file"}
    assert user.outlast("config", "--json").json[1]["value"] == "a-home"
    again = user.outlast("init", "--yes", "--no-check")
    assert again.code == 0 and "nothing is to be made" in again.err
    undone = user.outlast("init", "--undo", "--yes")
    assert undone.code == 0 and "service account" in undone.err and "the APIs stay on" in undone.err
    assert not (user.work / "outlast.toml").exists()


def test_print_asks_nobody_and_goes_with_nothing_that_does(user: User) -> None:
    user.env["OUTLAST_EMULATOR"] = "http://127.0.0.1:9"
    printed = user.outlast("init", "--print", "--project", "p-1", "--bucket", "b-1", "--member", "ann@example.com")
    assert printed.code == 0 and printed.out.startswith("#!/bin/bash")
    assert "gcloud iam service-accounts create outlast-runner" in printed.out
    assert user.outlast("init", "--print", "--yes").code == 2


def test_print_names_the_same_bucket_each_time_and_another_for_another_project(user: User) -> None:
    def bucket(*words: str) -> str:
        printed = user.outlast("init", "--print", *words, OUTLAST_EMULATOR="http://127.0.0.1:9")
        assert printed.code == 0, printed.err
        found = re.search(r"gcloud storage buckets create gs://([a-z0-9-]+) ", printed.out)
        assert found is not None
        return found[1]

    first = bucket("--project", "p-1")
    assert bucket("--project", "p-1") == first
    assert len({first, bucket("--project", "p-2"), bucket("--project", "p-1", "--region", "us-east1")}) == 3
    assert bucket("--project", "p-1") == first
    kept = user.outlast_dir / "buckets.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("{")
    assert bucket("--project", "p-1") != first, "a file that cannot be read is written anew"


@pytest.mark.parametrize("wrong", ["ann", "somebody:ann@example.com", "user:", "user:a b@c"])
def test_a_member_that_is_nobody_is_refused(user: User, wrong: str) -> None:
    refused = user.outlast("init", "--print", "--member", wrong)
    assert refused.code == 2 and "--member" in refused.err


WANTED = {"project": "p", "region": "us-central1"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'project = "p"\nregion = "us-central1"\n'),
        ('# mine\nname = "x"\n', 'project = "p"\nregion = "us-central1"\n# mine\nname = "x"\n'),
        ('project = "old"\ncpus = 2', 'project = "p"\nregion = "us-central1"\ncpus = 2\n'),
        (
            '[labels]\nproject = "of a label"\n',
            'project = "p"\nregion = "us-central1"\n[labels]\nproject = "of a label"\n',
        ),
    ],
)
def test_only_our_lines_of_a_file_change(before: str, after: str) -> None:
    assert changed(before, WANTED, Path("outlast.toml"), "") == after
    assert (
        changed(after, dict.fromkeys(WANTED), Path("outlast.toml"), "").strip()
        == before.replace('project = "old"\n', "").strip()
    )


def test_a_table_of_pyproject_is_changed_inside_of_it() -> None:
    before = '[project]\nname = "x"\n\n[tool.outlast]\ncpus = 2\n\n[tool.other]\nproject = "y"\n'
    after = changed(before, WANTED, Path("pyproject.toml"), "[tool.outlast]")
    assert after == before.replace("[tool.outlast]\n", '[tool.outlast]\nproject = "p"\nregion = "us-central1"\n')


def test_a_file_that_is_written_otherwise_is_left_alone() -> None:
    with pytest.raises(UsageError, match="does not change"):
        changed('project = """\nold"""\n', WANTED, Path("outlast.toml"), "")


def test_a_yes_on_a_terminal_makes_it_and_a_no_makes_nothing(user: User, emulator: Running) -> None:
    user.env.update(emulator.variables)
    for answer, code in ((b"n\n", 130), (b"y\n", 0)):
        terminal = Terminal(user, "init", "--no-check", "--bucket", "a-home")
        terminal.read_until(b"[y/N]")
        assert not (user.work / "outlast.toml").exists()
        terminal.press(answer)
        assert terminal.wait() == code
    assert (user.work / "outlast.toml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--project", "p;touch canary"),
        ("--project", "$(touch canary)"),
        ("--project", "p", "--bucket", "b`touch canary`"),
        ("--project", "p", "--network", "n&touch"),
        ("--project", "p", "--member", "user:a@b.c;touch"),
        ("--project", "p", "--member", "user:$(touch)@b.c"),
        ("--project", "p\ntouch canary"),
    ],
)
def test_nothing_that_a_shell_would_obey_is_printed_for_an_admin(user: User, words: tuple[str, ...]) -> None:
    printed = user.outlast("init", "--print", *words, OUTLAST_EMULATOR="http://127.0.0.1:9")
    assert printed.code == 2 and printed.out == "", printed.out
