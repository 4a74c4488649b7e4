"""How long a person waits for a prompt: `--help`, `jobs` with a thousand jobs, `import outlast`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.measure import Row, clean_environment, command, excess_row, interleaved, ratio_row, wall

JOBS = 1000
PYTHON = sys.executable
OUTLAST = str(Path(sys.executable).with_name("outlast"))


def rows(scratch: Path) -> Iterator[Row]:
    environment = clean_environment(scratch)
    fill(scratch / "outlast" / "home")
    medians = interleaved(
        {
            "bare": wall(command([PYTHON, "-c", "pass"], env=environment)),
            "help": wall(command([OUTLAST, "--help"], env=environment)),
            "jobs": wall(command([OUTLAST, "jobs"], env=environment)),
            "import": wall(command([PYTHON, "-c", "import outlast"], env=environment)),
            "steps": wall(command([PYTHON, "-c", "import outlast; outlast.steps"], env=environment)),
        }
    )
    listed = json.loads(_output([OUTLAST, "jobs", "--json"], environment))
    if len(listed) != JOBS:
        raise SystemExit(f"`outlast jobs` listed {len(listed)} of {JOBS} jobs")
    yield ratio_row("`outlast --help`", medians["help"], medians["bare"], "`python -c pass`", 3)
    yield ratio_row("`outlast jobs` with 1,000 jobs", medians["jobs"], medians["bare"], "`python -c pass`", 6)
    yield excess_row("`import outlast` in a script", medians["import"], medians["bare"], "nothing imported", 0.020)
    # What a loop needs beyond its own modules is `json`, `pathlib` and `typing`, which every training script has anyway.
    yield excess_row("`outlast.steps`, first use", medians["steps"], medians["bare"], "nothing imported", 0.040)


def fill(home: Path) -> None:
    """A home with finished jobs, as the program itself would have written them."""
    from outlast.folder import layout, life
    from outlast.folder.folder import Folder
    from outlast.folder.records import LaunchRecord, State
    from outlast.spec.record import encode
    from outlast.spec.spec import Machine, Provenance, Spec, Target, TargetKind
    from outlast.store.registry import open_store

    store = open_store(str(home))
    random = Random(1)
    for number in range(JOBS):
        at = 1.7e9 + number
        folder = Folder(store, f"train-{number:04d}", random)
        spec = Spec(folder.job, "train", Target(TargetKind.SCRIPT, "train.py"), "0" * 64, PYTHON, Provenance("1"), at)
        launch = LaunchRecord(1, f"{number:016x}", "local", 1, Machine(), at, at + 3600, spec.bundle)
        head = life.next_attempt(
            life.begun(folder.job, launch, ()), nonce="n", by=0, alone=True, machine="m", now=at, beat=None
        )
        final = life.final(head, State.SUCCEEDED, at + 60, exit_code=0)
        store.put(folder.keys.spec, encode(spec), if_generation=0)
        store.put(folder.keys.launch(1), encode(launch), if_generation=0)
        store.put(layout.index(at, folder.job, 1), b"", if_generation=0)
        store.put(folder.keys.head, encode(final), if_generation=0)


def _output(argv: list[str], environment: dict[str, str]) -> bytes:
    import subprocess

    return subprocess.run(argv, env=environment, check=True, capture_output=True).stdout
