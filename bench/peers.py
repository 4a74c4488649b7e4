"""Others on the same machine, in environments of their own: start-up, and how soon a local job's end is seen."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, clean_environment, command, interleaved, milliseconds, wall

BUILD = Path(__file__).resolve().parent.parent / "build" / "peers"
OUTLAST = str(Path(sys.executable).with_name("outlast"))
PEERS = {"submitit": "submitit", "metaflow": "metaflow"}
ROUNDS = 5

SUBMITIT = """
import submitit, sys
executor = submitit.LocalExecutor(folder=sys.argv[1])
executor.update_parameters(timeout_min=5)
assert executor.submit(int, 3).result() == 3
"""

METAFLOW = """
from metaflow import FlowSpec, step
class Empty(FlowSpec):
    @step
    def start(self):
        self.next(self.end)
    @step
    def end(self):
        pass
if __name__ == "__main__":
    Empty()
"""


def rows(scratch: Path) -> Iterator[Row]:
    environment = {**clean_environment(scratch), "USERNAME": "bench", "METAFLOW_USER": "bench"}
    work = scratch / "work"
    work.mkdir()
    (work / "empty.py").write_text("")
    (work / "with_submitit.py").write_text(SUBMITIT)
    (work / "with_metaflow.py").write_text(METAFLOW)
    submitit, metaflow = (_python(name) for name in ("submitit", "metaflow"))
    medians = interleaved(
        {
            "outlast": wall(command([OUTLAST, "run", "empty.py"], cwd=work, env=environment)),
            "submitit": wall(command([submitit, "with_submitit.py", str(scratch / "jobs")], cwd=work, env=environment)),
            "metaflow": wall(command([metaflow, "with_metaflow.py", "run"], cwd=work, env=environment)),
        },
        rounds=ROUNDS,
    )
    for peer in PEERS:
        ratio = medians["outlast"] / medians[peer]
        against = f"{peer}: {milliseconds(medians[peer])}"
        yield Row(
            "an empty local job, start to end seen",
            milliseconds(medians["outlast"]),
            against,
            f"{ratio:.2f}x",
            "1x",
            ratio <= 1,
        )


def _python(peer: str) -> str:
    """An interpreter with that peer installed; made once."""
    directory = BUILD / peer
    python = str(directory / "bin" / "python")
    if not os.path.exists(python):
        venv.create(directory, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", PEERS[peer]], check=True)
    return python
