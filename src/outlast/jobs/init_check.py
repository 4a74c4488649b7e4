"""The proof that a project is ready: a job of one line on the smallest machine, followed to its end and removed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from outlast.errors import OutlastError
from outlast.folder.records import State
from outlast.jobs.asked import Asked
from outlast.jobs.delete import delete
from outlast.jobs.init_step import Setup
from outlast.jobs.look import look
from outlast.jobs.submit import submit
from outlast.jobs.world import World

ENGINE = "compute"
MACHINE_TYPE = "e2-standard-2"
MAX_RUN_SECONDS = 1800.0
LOOK_SECONDS = 2.0
NAME = "outlast-check"
SCRIPT = """import pathlib, os
pathlib.Path(os.environ["OUTLAST_OUTPUT_DIR"], "checked.txt").write_text("outlast works here\\n")
print("outlast works here")
"""


def check_by_job(world: World, setup: Setup) -> str:
    """What it found, in a sentence. Whoever is killed meanwhile leaves a job that ends by itself."""
    begun_at = world.clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="outlast-check-") as directory:
        Path(directory, "check.py").write_text(SCRIPT)
        job = submit(
            world,
            Asked(
                target="check.py",
                directory=directory,
                on=ENGINE,
                name=NAME,
                home=f"gs://{setup.bucket}",
                project=setup.project,
                region=setup.region,
                machine_type=MACHINE_TYPE,
                network=setup.network,
                max_run_seconds=MAX_RUN_SECONDS,
            ),
        ).job
    status = look(world, job)
    while not status.head.state.final:
        world.clock.sleep(LOOK_SECONDS)
        status = look(world, job)
    if status.head.state is not State.SUCCEEDED:
        raise OutlastError(
            f"the tiny job `{job.id}` {status.state}: {status.why}",
            state="what init has made is there; no machine is running",
            hint=f"`outlast logs {job.id}`, and `outlast doctor --on compute`",
        )
    delete(world, job)
    return f"a machine booted, ran it, and was gone after {world.clock.monotonic() - begun_at:.0f} s"
