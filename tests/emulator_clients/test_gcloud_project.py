"""`gcloud services`, `iam`, `projects`, `secrets` and `billing` drive the emulated project; so does what `outlast init --print` prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.emulator_clients.programs import run
from tests.gcloud import need_gcloud

CLIENT = "gcloud iam"
PINNED = False
"""It comes from wherever a machine has it from."""


@pytest.fixture(autouse=True)
def gcloud(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_gcloud()
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(home / "gcloud"))


def test_accounts_roles_secrets_and_apis_are_made_bound_and_removed(emulator: Running, tmp_path: Path) -> None:
    emulator.switch(enable_seconds=0.0)
    emulator.call("POST", "/v1/projects/emulated/services/secretmanager.googleapis.com:disable", {})
    emulator.switch(enable_seconds=0.5)
    run("gcloud", "services", "enable", "secretmanager.googleapis.com")
    assert "secretmanager.googleapis.com" in run(
        "gcloud", "services", "list", "--enabled", "--format=value(config.name)"
    )
    run("gcloud", "iam", "service-accounts", "create", "a-runner", "--display-name=r")
    account = "a-runner@emulated.iam.gserviceaccount.com"
    assert account in run("gcloud", "iam", "service-accounts", "list", "--format=value(email)")
    run("gcloud", "iam", "roles", "create", "aRole", "--project=emulated", "--permissions=compute.instances.get")
    member = f"--member=serviceAccount:{account}"
    role = "--role=projects/emulated/roles/aRole"
    bound = run("gcloud", "projects", "add-iam-policy-binding", "emulated", member, role, "--condition=None")
    assert account in bound
    value = tmp_path / "value"
    value.write_text("hello")
    run("gcloud", "secrets", "create", "A_SECRET", "--replication-policy=automatic", f"--data-file={value}")
    assert run("gcloud", "secrets", "versions", "access", "latest", "--secret=A_SECRET") == "hello"
    run("gcloud", "secrets", "add-iam-policy-binding", "A_SECRET", member, "--role=roles/secretmanager.secretAccessor")
    assert "billingEnabled: true" in run("gcloud", "billing", "projects", "describe", "emulated")
    run("gcloud", "projects", "remove-iam-policy-binding", "emulated", member, role, "--condition=None")
    run("gcloud", "iam", "roles", "delete", "aRole", "--project=emulated")
    run("gcloud", "iam", "service-accounts", "delete", account, "--quiet")
    assert "Unknown service account" in run("gcloud", "iam", "service-accounts", "describe", account, ok=False)


def test_what_init_prints_for_an_admin_makes_what_init_makes(emulator: Running, tmp_path: Path) -> None:
    _by_hand(tmp_path, ("--bucket", "printed-home"))


@pytest.mark.soak
def test_what_init_prints_for_an_admin_also_lets_people_in(emulator: Running, tmp_path: Path) -> None:
    _by_hand(tmp_path, ("--bucket", "printed-for-all", "--member", "ann@example.com", "--ssh"))


def _by_hand(tmp_path: Path, asked: tuple[str, ...]) -> None:
    outlast = (sys.executable, "-m", "outlast.cli", "init")
    script = tmp_path / "admin.sh"
    script.write_text(run(*outlast, "--print", *asked, cwd=tmp_path))
    run("bash", "-e", script)
    looked = run(*outlast, "--dry-run", *asked, cwd=tmp_path)
    missing = [line for line in looked.splitlines() if not line.startswith("there")]
    assert len(missing) == 1 and "outlast.toml" in missing[0], looked
    undo = tmp_path / "undo.sh"
    undo.write_text(run(*outlast, "--print", "--undo", *asked, cwd=tmp_path))
    run("bash", undo)  # it also names what may have been made by others, and is not there
    left = [line for line in run(*outlast, "--dry-run", *asked, cwd=tmp_path).splitlines() if line.startswith("there")]
    assert len(left) == 2 and "are on" in left[0] and "is active" in left[1], left
