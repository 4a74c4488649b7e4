"""The examples on rented machines, from a fresh project to the last evaluation: machines that really run, and are really taken away.

The cloud is the emulator; packages come from what is installed here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from outlast.clock import SYSTEM
from outlast_emulator.testing import Running, running
from tests.cli.user import OUTLAST, User, end_processes
from tests.examples.by_hand import run_example, value
from tests.examples.places import EXAMPLES, ROOT
from tests.examples.wheels import pack_installed

TIME_SCALE = 0.05
SECONDS_MAX = 600.0
LARGE = "n2-highcpu-8"


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheels")
    pack_installed(("scikit-learn", "xgboost-cpu", "xgboost", "google-cloud-storage"), directory)
    return directory


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Running]:
    """In a process of its own: it makes machines. What takes Google a minute takes it three seconds."""
    with running(tmp_path / "google", time_scale=TIME_SCALE, process=True) as found:
        yield found


@pytest.fixture
def customer(cloud: Running, wheels: Path, tmp_path: Path) -> Iterator[User]:
    """Somebody whose project is ready, in a copy of the examples."""
    config = tmp_path / "uv.toml"
    config.write_text("no-index = true\n")
    resolver = {"UV_FIND_LINKS": str(wheels), "UV_CONFIG_FILE": str(config), "UV_CACHE_DIR": str(tmp_path / "uv")}
    path = f"{ROOT / '.venv' / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    one = User(tmp_path / "ada", {**cloud.variables, **resolver, "PATH": path})
    shutil.copytree(EXAMPLES, one.work, ignore=shutil.ignore_patterns("__pycache__"))
    ready = one.outlast("init", "--yes")
    assert ready.code == 0, ready.err
    yield one
    end_processes(one)


def bucket_of(user: User) -> str:
    (found,) = re.findall(r'^bucket = "(.+)"', (user.work / "outlast.toml").read_text(), flags=re.MULTILINE)
    return str(found)


def machines(cloud: Running) -> list[dict[str, Any]]:
    listed = cloud.call("GET", "/compute/v1/projects/emulated/aggregated/instances").json()
    return [one for scope in listed["items"].values() for one in scope.get("instances", [])]


def take_away(cloud: Running, notice_seconds: float, before: frozenset[str] = frozenset()) -> str:
    """The number of the machine; empty: the one that runs was told before, or none runs just now."""
    running_now = [one for one in machines(cloud) if one["status"] == "RUNNING" and one["id"] not in before]
    if not running_now:
        return ""
    (machine,) = running_now
    asked = {"instance": machine["name"], "notice_seconds": notice_seconds}
    answer = cloud.call("POST", "/_emulator/preempt", asked)
    assert answer.status == 200, answer.body
    return str(machine["id"])


def wait_until_nothing_is_rented(cloud: Running) -> None:
    """Buckets and images stay, and are paid for by the gigabyte."""
    until = SYSTEM.monotonic() + SECONDS_MAX
    while rented := [one for one in alive(cloud) if one["kind"] in ("compute.instance", "compute.disk")]:
        assert SYSTEM.monotonic() < until, f"still paid for: {rented}"
        SYSTEM.sleep(0.2)


def alive(cloud: Running) -> list[dict[str, Any]]:
    return list(cloud.call("GET", "/_emulator/ledger").json()["alive"])


def show(cloud: Running, shown: dict[str, str], **environment: str) -> None:
    """Directories of this computer, to machines that boot from now on; for the Python of these tests, which `make` took from the system."""
    answer = cloud.call("POST", "/_emulator/world", {"shown": shown, "environment": environment})
    assert answer.status == 200, answer.body


def test_burst_training_from_the_image_to_the_evaluation_with_its_machine_taken_away(
    cloud: Running, customer: User, wheels: Path, census: Path, tmp_path: Path
) -> None:
    """Image, data, Spot machine, search, preemption, search, the end of spending, evaluation: as the README says, by its script."""
    pip = {"PIP_FIND_LINKS": "/srv/wheels", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    show(cloud, {"/srv/wheels": str(wheels)}, **pip)
    search = ("--cv-iterations", "16")
    burst = subprocess.Popen(
        ["./burst.sh", bucket_of(customer), "census", search[1], LARGE, "--workers", "1"],  # slowly: it is to be caught
        cwd=customer.work / "census",
        env=customer.environ(CENSUS_DATA=str(census)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert burst.stdout is not None
    seen = []
    for line in burst.stdout:
        seen.append(line)
        if line.startswith("candidate"):
            assert take_away(cloud, notice_seconds=120)
            break
    out, _ = burst.communicate(timeout=SECONDS_MAX)
    said = "".join(seen) + out
    assert burst.returncode == 0, said
    assert ", 1 preemption," in said, said
    begun_with = [
        int(number) for number in re.findall(r"^(\d+) of \d+ fits are done already", said, flags=re.MULTILINE)
    ]
    assert len(begun_with) == 2 and begun_with[0] == 0 and begun_with[1] > 0, said
    wait_until_nothing_is_rented(cloud)
    assert [one["name"].startswith("census-") for one in alive(cloud) if one["kind"] == "compute.image"] == [True]

    ran = run_example("census", "--census-data-path", str(census), *search, cwd=tmp_path)
    assert value(said, "accuracy") == value(ran.out, "accuracy")
    model = value(said, "model").removeprefix("gs://")
    bucket, _, name = model.partition("/")
    assert cloud.get(bucket, name, alt="media").body == (tmp_path / "output/census.model").read_bytes()


KILLS = 5


def train_and_take_away(
    cloud: Running, customer: User, name: str, *options: str, args: tuple[str, ...], steps_between: int
) -> Path:
    """A survival example, whose machine is taken away whenever it has come so much further; where its outputs are."""
    run = ("run", "--on", "compute", "--job-id", name, *options, "train.py", "--", *args)
    job = subprocess.Popen(
        [*OUTLAST, *run],
        cwd=customer.work / name,
        env=customer.environ(OUTLAST_BUCKET=bucket_of(customer)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    taken: frozenset[str] = frozenset()
    furthest, seen = 0, []
    for line in job.stdout:
        seen.append(line)
        step = re.match(r"step +(\d+)", line)
        if step and int(step[1]) >= furthest + steps_between and len(taken) < KILLS:
            machine = take_away(cloud, 120 if len(taken) % 2 else 30, taken)
            if machine:
                furthest, taken = int(step[1]), taken | {machine}
    _, err = job.communicate(timeout=SECONDS_MAX)
    assert job.returncode == 0, "".join(seen) + err
    assert len(taken) == KILLS and f", {KILLS} preemptions," in err, err
    wait_until_nothing_is_rented(cloud)
    assert customer.outlast("pull", name, "--to", str(customer.work / "pulled")).code == 0
    return customer.work / "pulled/outputs"


@pytest.mark.soak
def test_survival_training_on_machines_that_are_taken_away_five_times(
    cloud: Running, customer: User, census: Path, tmp_path: Path
) -> None:
    """Its packages are installed by each machine anew, out of the home."""
    args, data = ("--epochs", "12"), ("--dataset", str(census))
    outputs = train_and_take_away(cloud, customer, "survival-sklearn", *data, args=args, steps_between=200)
    ran = run_example("survival-sklearn", *args, *data, cwd=tmp_path)
    assert ran.code == 0, ran.err
    # By arrays: how numpy packs them differs from one Python to the next, and the machine has one of its own.
    with np.load(outputs / "model.npz") as made, np.load(tmp_path / "output/model.npz") as by_hand:
        assert {name: made[name].tobytes() for name in made} == {name: by_hand[name].tobytes() for name in by_hand}


@pytest.mark.soak
def test_torch_on_machines_that_are_taken_away_five_times(
    cloud: Running, customer: User, census: Path, tmp_path: Path
) -> None:
    """In an image whose set-up script shows it the torch of this computer: a gigabyte need not be copied for this."""
    show(cloud, {"/srv/packages": sysconfig.get_path("purelib")})
    setup = customer.work / "setup.sh"
    setup.write_text(
        """echo /srv/packages > "$(python -c 'import site; print(site.getsitepackages()[0])')/shown.pth"\n"""
    )
    built = customer.outlast("image", "build", "with-torch", "--setup", str(setup))
    assert built.code == 0, built.err
    args, options = ("--epochs", "20"), ("--dataset", str(census), "--image", "with-torch")
    outputs = train_and_take_away(cloud, customer, "survival-torch", *options, args=args, steps_between=100)
    ran = run_example("survival-torch", *args, "--dataset", str(census), cwd=tmp_path)
    assert ran.code == 0, ran.err
    for name in ("best.pt", "model.pt"):
        made, by_hand = torch.load(outputs / name), torch.load(tmp_path / "output" / name)
        assert made.keys() == by_hand.keys()
        assert all(torch.equal(made[key], by_hand[key]) for key in made), name
