"""A key that one command line names: for every command that looks into a home, and above all that is said elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast_emulator.testing import Running
from tests.cli.user import User, stop_everything
from tests.gcs.conftest import calm
from tests.gcs.test_credentials import ADMIN, iam, written

ROBOT = "robot@emulated.iam.gserviceaccount.com"
NOBODY = "nobody@emulated.iam.gserviceaccount.com"


@pytest.fixture
def key(emulator: Running, tmp_path: Path) -> str:
    iam(emulator, "service-accounts", email=ROBOT, roles=ADMIN)
    return written(tmp_path / "keys" / "robot.json", iam(emulator, "keys", email=ROBOT))


@pytest.fixture
def user(emulator: Running, home: str, tmp_path: Path) -> Iterator[User]:
    """Whose own login may do nothing."""
    iam(emulator, "service-accounts", email=NOBODY, roles=[])
    other = written(tmp_path / "keys" / "nobody.json", iam(emulator, "keys", email=NOBODY))
    one = User(tmp_path / "ada", {**emulator.variables, "GOOGLE_APPLICATION_CREDENTIALS": other})
    one.write("train.py", "import outlast\nfor step in outlast.steps(3, outlast.State(n=0)): print('step', step)\n")
    emulator.switch(require_login=True)
    yield one
    calm(emulator)
    stop_everything(one)


def test_every_command_that_looks_into_a_home_takes_a_key(user: User, home: str, key: str) -> None:
    asked = ("--home", home, "--cloud-key", key)
    ran = user.outlast("run", "--job-id", "one", *asked, "train.py")
    assert ran.code == 0, ran.err
    assert user.outlast("evaluate", "one", *asked, "train.py").code == 0
    (user.work / "data").mkdir()
    (user.work / "data" / "a.csv").write_text("1,2\n")
    for command in (
        ["show", "one"],
        ["logs", "one"],
        ["jobs"],
        ["checkpoints", "one"],
        ["pull", "one", "--to", "here"],
        ["push", "data", "numbers"],
        ["stop", "one"],
        ["delete", "one", "--yes"],
        ["prune", "--yes"],
    ):
        alone = user.outlast(*command, "--home", home)
        assert alone.code == 4, (command, alone)
        assert f"add-iam-policy-binding {home} --member=serviceAccount:{NOBODY}" in alone.err, (command, alone)
        assert user.outlast(*command, *asked).code == 0, command
    assert user.outlast("resume", "one", *asked).code == 3, "it is deleted, and that was seen with the key"


def test_doctor_examines_homes_with_the_key_that_it_is_given(user: User, home: str, key: str) -> None:
    assert user.outlast("push", "train.py", "--home", home, "--cloud-key", key).code == 0
    assert [one["health"] for one in homes(user)] == ["bad"]
    assert [one["health"] for one in homes(user, "--cloud-key", key)] == ["good"]


def homes(user: User, *more: str) -> list[dict[str, str]]:
    said = user.outlast("doctor", "--json", *more).out
    return [one for one in json.loads(said) if one["check"].startswith("home gs:")]


def test_the_flag_stands_above_the_variable_above_the_file_above_googles_own(user: User, home: str, key: str) -> None:
    looks = ("jobs", "--home", home)
    assert user.outlast(*looks).code == 4
    (user.outlast_dir / "config.toml").write_text(f"cloud-key = {json.dumps(key)}\n")
    assert user.outlast(*looks).code == 0, "the file's"
    assert user.outlast(*looks, OUTLAST_CLOUD_KEY="/nowhere.json").code == 4, "the variable's"
    assert user.outlast(*looks, "--cloud-key", key, OUTLAST_CLOUD_KEY="/nowhere.json").code == 0, "the flag's"
    missing = user.outlast(*looks, "--cloud-key", "missing.json")
    assert missing.code == 4 and str(user.work / "missing.json") in missing.err
    assert user.outlast(*looks, "--cloud-key", "").code == 2
