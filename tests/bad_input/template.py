"""A job as it really is, with three checkpoints and outputs, and copies of it to be damaged."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.bad_input.damage import clone, read
from tests.cli.user import User

SUCCEEDED = "job-good"
FAILED = "job-fail"
STEPS = (10, 20, 30)

TRAINS = """
import json, pathlib, sys, time
import outlast

folder, exit_code = pathlib.Path(sys.argv[1]), int(sys.argv[2])
state = outlast.State(total=0)

def committed(step):
    heads = sorted(folder.glob("head.json~*"), key=lambda path: int(path.name.split("~")[1]))
    return any(one["step"] == step for one in json.loads(heads[-1].read_bytes())["checkpoints"])

for step in outlast.steps(30, state, save_steps=10):
    state.total += step
    with (outlast.output_dir() / "log.csv").open("a") as log:
        log.write(f"{step}\\n")
    while step in (10, 20) and not committed(step):
        time.sleep(0.01)
print("total", state.total, flush=True)
sys.exit(exit_code)
"""

Copy = Callable[[str], Path]
"""Makes a copy of a job for one test: its folder."""

_numbers = itertools.count(1)


def make_template(user: User, job: str, *, exit_code: int) -> None:
    user.write("train.py", TRAINS)
    said = user.outlast("run", "--job-id", job, "train.py", "--", str(user.home / "jobs" / job), str(exit_code))
    assert said.code == (1 if exit_code else 0), said.err
    assert tuple(one["step"] for one in read(user.home / "jobs" / job / "head.json")["checkpoints"]) == STEPS


def copy_of(user: User, job: str) -> Path:
    """The folder of a new job with the same records."""
    return clone(user.home, job, f"job-{next(_numbers):04d}")


def forget(folder: Path) -> None:
    """Removes a copy: some are large, and every list of jobs reads them all."""
    shutil.rmtree(folder, ignore_errors=True)
    for entry in (folder.parent.parent / "index").glob(f"*-{folder.name}-*"):
        entry.unlink()


def manifest_of(folder: Path, number: int = -1) -> Path:
    """Of the kept checkpoints, counted as a list is."""
    name = read(folder / "head.json")["checkpoints"][number]["name"]
    return folder / "checkpoints" / f"{name}.json"


def part_of(folder: Path, number: int = -1, file: str = "state.json") -> Path:
    """The file in the home that holds a file of a checkpoint."""
    files = read(manifest_of(folder, number))["files"]
    (key,) = [one["parts"][0]["key"] for one in files if one["path"].endswith(file)]
    return folder.parent.parent / str(key)


def bundle_of(folder: Path) -> Path:
    return folder.parent.parent / "bundles" / f"{read(folder / 'head.json')['bundle']}.json"


def pack_of(folder: Path) -> Path:
    (pack, *_) = read(bundle_of(folder))["packs"]
    return folder.parent.parent / "packs" / str(pack)
