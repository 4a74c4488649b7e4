"""Nothing that a user writes becomes code on a machine: it arrives as it is, or is refused with what is legal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlast.cli.edge import run as outlast
from outlast_emulator.machines.host import MachineHost
from outlast_emulator.testing import Running, running
from tests.cli.user import User
from tests.compute.place import TIME_SCALE
from tests.compute.renter import BUCKET, Renter

CANARY = "outlast-canary"
TOUCHING = (
    f"$(touch /var/tmp/{CANARY}-1)",
    f"`touch /var/tmp/{CANARY}-2`",
    f"; touch /var/tmp/{CANARY}-3 #",
    f"'; touch /var/tmp/{CANARY}-4; '",
    f'"; touch /var/tmp/{CANARY}-5; "',
    f"\n touch /var/tmp/{CANARY}-6 \n",
    f"| touch /var/tmp/{CANARY}-7 &",
    f"${{x:=$(touch /var/tmp/{CANARY}-8)}}",
    f"a[$(touch /var/tmp/{CANARY}-9)]",
    f"%s%n\\x24(touch /var/tmp/{CANARY}-10)",
    f"</script>{{{{$(touch /var/tmp/{CANARY}-11)}}}}",
    f"--output=/var/tmp/{CANARY}-12",
    f'"\nurl = "file:///etc/passwd"\noutput = "/var/tmp/{CANARY}-13',
    f"@/var/tmp/{CANARY}-14",
    f"ä\u202e\u2028😀$(touch /var/tmp/{CANARY}-15)",
    "",
    " ",
    "*",
    "~",
    "\\",
    "!!",
)
SIGHT = "a-file-of-the-machines"
"""Made by the trainer: who looks for canaries sees what is on a machine's disk."""

NAMED = f"tr'ain\";$(touch {CANARY}-16)`touch {CANARY}-17`.py"
"""A script's name: it may hold whatever a file's name may."""

PREFIX = f"pre $(touch {CANARY}-18)`touch {CANARY}-19`;touch {CANARY}-20&'\"%2F?x=1"

SCRIPT = f"""
import json, os, pathlib, sys
import outlast

found = [str(one) for place in ("/", "/var/tmp", os.environ["HOME"], ".") for one in pathlib.Path(place).glob("{CANARY}*")]
seen = {{name: value for name, value in os.environ.items() if name.startswith("HOSTILE_")}}
pathlib.Path(os.environ["HOME"], "{SIGHT}").touch()
told = {{"args": sys.argv[1:], "env": seen, "canaries": found}}
(outlast.output_dir() / "told.json").write_text(json.dumps(told))
"""


@pytest.fixture(params=["isolated", "plain"])
def machines(request: pytest.FixtureRequest, tmp_path: Path, user: User) -> Iterator[Renter]:
    """With Google's script runner in machines of their own, and as plain processes."""
    with running(tmp_path / "google", time_scale=TIME_SCALE, process=request.param == "isolated") as emulator:
        if emulator.inside is not None:
            contents = emulator.inside.compute.contents
            contents._host = MachineHost(emulator.data / "compute" / "machines", contents.listen, kind="plain")
        renter = Renter(user, emulator)
        renter.ready("roles/owner")
        yield renter


def canaries(root: Path) -> list[str]:
    """Everywhere that a machine, or this computer under a plain one, could have made them."""
    places = (Path("/"), Path("/var/tmp"), Path.cwd())
    here = [str(one) for place in places for one in place.glob(f"{CANARY}*")]
    return here + [path for path in named(root, CANARY) if NAMED not in path and PREFIX not in path]


def named(root: Path, part: str) -> list[str]:
    """Files below, of disks too that are being deleted."""
    return [f"{place}/{name}" for place, _, names in os.walk(root) for name in names if part in name]


def test_what_a_trainer_is_told_arrives_as_it_is(machines: Renter) -> None:
    machines.user.write(NAMED, SCRIPT)
    machines.user.env["OUTLAST_HOME"] = f"gs://{BUCKET}/{PREFIX}"
    env = {f"HOSTILE_{number}": value for number, value in enumerate(TOUCHING)}
    words = [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
    ran = machines.user.outlast(
        "run", "--on", "compute", "--job-id", "one", "--linger", "3s", *words, f"./{NAMED}", "--", *TOUCHING
    )
    assert ran.code == 0, ran.err
    assert named(machines.emulator.data, SIGHT)
    assert canaries(machines.emulator.data) == []
    machines.wait_until_nothing_is_paid_for()
    assert canaries(machines.emulator.data) == []
    pulled = machines.user.root / "pulled"
    assert machines.user.outlast("pull", "one", "--to", str(pulled)).code == 0
    told = json.loads((pulled / "outputs" / "told.json").read_text())
    assert told == {"args": list(TOUCHING), "env": env, "canaries": []}


FIELDS = (
    "--job-id",
    "--name",
    "--image",
    "--network",
    "--zone",
    "--exclude-zone",
    "--region",
    "--machine-type",
    "--disk-type",
    "--disk-gb",
    "--service-account",
    "--project",
    "--gpus",
    "--max-run",
    "--max-cost",
    "--linger",
    "--secret",
    "--env",
    "--bucket",
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An emulator whose machines are records only."""
    with running(tmp_path_factory.mktemp("google"), time_scale=TIME_SCALE) as emulator:
        emulator.switch(machines=False)
        yield emulator


@pytest.mark.parametrize("field", FIELDS)
def test_what_could_not_arrive_is_refused(
    field: str, records: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**records.variables, "OUTLAST_HOME": "gs://a-home", "OUTLAST_DIR": str(tmp_path / "o")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    for hostile in TOUCHING[:15]:
        values = {"--secret": f"TOKEN={hostile}", "--env": f"{hostile}=1"}
        code = outlast(["run", "--on", "compute", "--detach", f"{field}={values.get(field, hostile)}", "train.py"])
        said = capsys.readouterr().err
        assert code == 2, (field, hostile, code, said)
        assert "error: " in said and "hint: " in said, (field, hostile, said)
    made = records.call("GET", "/_emulator/requests").json()["requests"]
    assert not [one for one in made if one["verb"] == "POST" and "/compute/" in one["path"]]
    assert canaries(tmp_path) == []


def test_secrets_named_by_a_hostile_word_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for hostile in TOUCHING[:15]:
        code = outlast(["secret", "set", hostile or "x y", "--on", "compute", "--project", "emulated"])
        said = capsys.readouterr().err
        assert code == 2 and "error: " in said, (hostile, said)
