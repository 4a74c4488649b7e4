"""Secrets in Secret Manager: set, listed, deleted, read by machines alone, and found nowhere else."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.spec.secrets import parse_reference
from outlast_emulator.testing import Running
from tests.cli.user import OUTLAST, SECONDS_MAX, User
from tests.cloud.admin import Admin

CANARY = "hf_canary0123456789abcdef"
REFERENCE = "sm:projects/emulated/secrets/HF_TOKEN"
PRINTING = "import os\nprint('it has', len(os.environ['HF_TOKEN']), 'characters:', os.environ['HF_TOKEN'])\n"


@pytest.fixture
def ready(admin: Admin, emulator: Running, user: User) -> User:
    admin.bucket = "a-home"
    admin.init()
    (admin.directory / "outlast.toml").unlink()
    user.env.update(emulator.variables)
    user.env["OUTLAST_HOME"] = "gs://a-home"
    return user


def set_token(user: User, value: str = CANARY) -> None:
    said = subprocess.run(
        [*OUTLAST, "secret", "set", "HF_TOKEN", "--on", "compute"],
        env=user.environ(),
        input=f"{value}\n".encode(),
        capture_output=True,
        cwd=user.work,
    )
    words = said.stderr.decode()
    assert said.returncode == 0, words
    assert f"--secret HF_TOKEN={REFERENCE}" in words and value not in words


def holding(root: Path) -> list[Path]:
    """Files of the user's, the home's and the emulator's that hold the value as it is."""
    found = []
    for path in root.rglob("*"):
        try:
            if path.is_file() and CANARY.encode() in path.read_bytes():
                found.append(path)
        except FileNotFoundError:
            continue
    return found


def test_a_secret_is_set_listed_and_deleted(ready: User, emulator: Running) -> None:
    set_token(ready)
    assert ready.outlast("secret", "list", "--on", "compute").out == "HF_TOKEN\n"
    assert ready.outlast("secret", "list").out == "", "what is there is not here"
    bound = emulator.call("GET", "/v1/projects/emulated/secrets/HF_TOKEN:getIamPolicy").json()["bindings"]
    runner = "serviceAccount:outlast-runner@emulated.iam.gserviceaccount.com"
    assert bound == [{"role": "roles/secretmanager.secretAccessor", "members": [runner]}]
    assert ready.outlast("secret", "delete", "HF_TOKEN", "--on", "compute").code == 0
    gone = ready.outlast("secret", "delete", "HF_TOKEN", "--on", "compute")
    assert gone.code == 3 and "there are none" in gone.err


def test_a_secret_of_somebody_elses_is_not_deleted(ready: User, emulator: Running) -> None:
    made = emulator.call("POST", "/v1/projects/emulated/secrets?secretId=THEIRS", {"replication": {"automatic": {}}})
    assert made.status == 200
    assert ready.outlast("secret", "delete", "THEIRS", "--on", "compute").code == 3
    assert emulator.call("GET", "/v1/projects/emulated/secrets/THEIRS").status == 200


def test_a_job_has_the_value_and_nothing_else_has(ready: User, emulator: Running) -> None:
    set_token(ready)
    ready.write("train.py", PRINTING)
    ran = ready.outlast("run", "--secret", f"HF_TOKEN={REFERENCE}", "--job-id", "one", "train.py")
    assert ran.code == 0, ran.err
    assert f"it has {len(CANARY)} characters: {'*' * len(CANARY)}" in ran.out
    spec = json.loads(emulator.get("a-home", "jobs/one/spec.json", alt="media").body)
    assert spec["secrets"] == {"HF_TOKEN": f"{REFERENCE}/versions/1"}, "by its version"
    until = time.monotonic() + SECONDS_MAX
    while holding(ready.root) and time.monotonic() < until:  # its machine leaves a moment after its end
        time.sleep(0.1)
    assert holding(ready.root) == []


def test_every_attempt_has_the_version_of_the_submit(ready: User, emulator: Running) -> None:
    set_token(ready)
    ready.write("train.py", PRINTING + "raise SystemExit(1)\n")
    assert ready.outlast("run", "--secret", f"HF_TOKEN={REFERENCE}", "--job-id", "one", "train.py").code == 1
    set_token(ready, "another-value")
    resumed = ready.outlast("resume", "one")
    assert f"it has {len(CANARY)} characters" in resumed.out, resumed.out


def test_what_may_not_be_read_ends_the_job_with_the_name_of_the_right(
    ready: User, emulator: Running, tmp_path: Path
) -> None:
    set_token(ready)
    roles = ["roles/storage.admin"]
    key = tmp_path / "ann.json"
    key.write_text(json.dumps(emulator.call("POST", "/_emulator/iam/users", {"email": "a@b.c", "roles": roles}).json()))
    ready.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(key)
    ready.write("train.py", PRINTING)
    unknown = ready.outlast("run", "--secret", f"HF_TOKEN={REFERENCE}", "train.py")
    assert unknown.code == 4 and "secretmanager.versions.get" in unknown.err and "versions/1" in unknown.err
    ran = ready.outlast("run", "--secret", f"HF_TOKEN={REFERENCE}/versions/1", "--job-id", "one", "train.py")
    assert ran.code == 1
    shown = ready.outlast("show", "one")
    assert "secretmanager.versions.access" in shown.out + ran.out + ran.err
    assert CANARY not in shown.out + ran.out + ran.err


def test_a_secret_that_is_not_there_is_an_error_before_anything_starts(ready: User) -> None:
    ready.write("train.py", PRINTING)
    said = ready.outlast("run", "--secret", f"HF_TOKEN={REFERENCE}", "train.py")
    assert said.code == 3 and "nothing was started" in said.err
    assert "outlast secret set HF_TOKEN --on compute --project emulated" in said.err


def test_rented_machines_are_given_nothing_that_is_read_here(ready: User) -> None:
    ready.write("train.py", PRINTING)
    ready.env["HF_TOKEN"] = CANARY
    said = ready.outlast("run", "--on", "compute", "--secret", "HF_TOKEN=env:HF_TOKEN", "train.py")
    assert said.code == 2 and "outlast secret set NAME --on compute" in said.err and CANARY not in said.err


def test_a_value_in_a_command_line_is_refused_there_too(ready: User) -> None:
    said = ready.outlast("secret", "set", "HF_TOKEN", CANARY, "--on", "compute")
    assert said.code == 2 and CANARY not in said.err


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("sm:projects/p-1/secrets/S", "sm:projects/p-1/secrets/S/versions/latest"),
        ("sm:projects/example.com:p/secrets/S_-1/versions/12", "sm:projects/example.com:p/secrets/S_-1/versions/12"),
    ],
)
def test_a_reference_names_a_version(given: str, kept: str) -> None:
    assert str(parse_reference(given, Path("/"))) == kept


@pytest.mark.parametrize(
    "wrong",
    ["sm:S", "sm:projects/p/secrets/", "sm:projects/p/secrets/a b", "sm:projects/../secrets/x", "sm:projects/p/secrets/S/versions/0",
     "sm:projects/p/secrets/S/versions/newest", "sm:projects/p/secrets/S?x=1", "sm:projects/p/secrets/S/versions/1/x"],
)  # fmt: skip
def test_what_is_no_reference_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError):
        parse_reference(wrong, Path("/"))
