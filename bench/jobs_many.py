"""`outlast jobs` over a hundred thousand jobs that have ended: the second call, and a job's name completed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.measure import Row, clean_environment, command, limit_row, milliseconds, wall
from outlast.folder import layout, life
from outlast.folder.records import LaunchRecord, State
from outlast.spec.record import encode
from outlast.spec.spec import Machine, Provenance, Spec, Target, TargetKind

JOBS = 100_000
TIMES = 5
PLACE = "a-job-id-that-stands-here"
OUTLAST = str(Path(sys.executable).with_name("outlast"))


def rows(scratch: Path) -> Iterator[Row]:
    environment = clean_environment(scratch)
    environment["OUTLAST_DIR"] = str(scratch / "user")
    fill(scratch / "user" / "home", JOBS, time.time())
    first = wall(command([OUTLAST, "jobs"], cwd=scratch, env=environment))()
    print(f"        the first call, which reads every job: {first:.1f} s", file=sys.stderr)
    for what, argv in (
        (f"`jobs` over {JOBS:,} finished jobs, second call", ["jobs"]),
        (f"`jobs --json` over {JOBS:,} finished jobs, all of them, second call", ["jobs", "--json", "--limit", "0"]),
        (f"`jobs --running` over {JOBS:,} finished jobs, second call", ["jobs", "--running"]),
    ):
        call = wall(command([OUTLAST, *argv], cwd=scratch, env=environment))
        yield limit_row(what, sorted(call() for _ in range(TIMES))[TIMES // 2], 1.0, milliseconds)
    yield _completion(scratch, environment)


def _completion(scratch: Path, environment: dict[str, str]) -> Row:
    """The shell starts for it too."""
    script = scratch / "completion.bash"
    script.write_bytes(
        subprocess.run([OUTLAST, "completion", "bash"], env=environment, check=True, capture_output=True).stdout
    )
    program = f"source {script}; COMP_WORDS=(outlast show job-0009); COMP_CWORD=2; _outlast; [[ -n ${{COMPREPLY[0]}} ]]"
    call = wall(command(["bash", "--norc", "-c", program], cwd=scratch, env=environment))
    return limit_row(
        "completion of a job's name, in bash", sorted(call() for _ in range(TIMES))[TIMES // 2], 0.1, milliseconds
    )


def fill(home: Path, count: int, now: float) -> None:
    """As a directory store would have written them, without a sync."""
    spec = Spec(
        job=PLACE,
        name="job",
        target=Target(TargetKind.SCRIPT, "train.py"),
        bundle="0" * 64,
        python=sys.executable,
        provenance=Provenance("0", "3", directory="/work"),
        submitted_at=now,
        args=("--learning-rate", "0.1"),
    )
    record = LaunchRecord(1, "0123456789abcdef", "local", 1, Machine(), now, now + 600, "0" * 64)
    head = replace(life.final(life.begun(PLACE, record, ()), State.SUCCEEDED, now), exit_code=0)
    texts = {"spec.json": encode(spec), "head.json": encode(head), "launches/000001.json": encode(record)}
    index = home / "index"
    index.mkdir(parents=True)
    jobs = home / "jobs"
    jobs.mkdir()
    for number in range(count):
        job = f"job-{number:06d}"
        (jobs / job / "launches").mkdir(parents=True)
        for name, text in texts.items():
            _write(jobs / job / f"{name}~1", text.replace(PLACE.encode(), job.encode()) + b"\n")
        _write(home / f"{layout.index(now - number, job, 1)}~1", b"\n")


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
