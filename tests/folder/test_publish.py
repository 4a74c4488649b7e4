"""Where a person looks for the outputs are those of the last launch that has ended, and nothing else."""

from __future__ import annotations

from random import Random

from outlast.agent.child import Saved
from outlast.agent.mirror import Mirror
from outlast.folder import life
from outlast.folder.publish import publish
from outlast.folder.records import LaunchRecord, State
from outlast.spec.spec import Machine
from tests.agent.by_hand import BUNDLE, LAUNCH, File, Job


def end(job: Job, *names: str) -> str:
    """The launch succeeds with these outputs; the answer is their manifest's name."""
    files = []
    for name in names:
        file = File(job.clock, name, 0.0)
        file.path = f"output/{name}"
        files.append(file)
    saved = Saved(0, 1, complete=True, files=tuple(files))
    manifest = Mirror(job.folder, job.head.launch, lambda done, total: None).write(saved, job.head)
    at = job.folder.read_head()
    op = f"end-{Random(at.generation).random()}"
    job.folder.swap(at, life.final(at.head, State.SUCCEEDED, job.clock.at, outputs=manifest.name), op)
    return manifest.name


def again(job: Job, launch_id: str) -> None:
    at = job.folder.read_head()
    record = LaunchRecord(at.head.launch + 1, launch_id, "local", 1, Machine(), 0.0, 1e9, BUNDLE)
    job.folder.swap(at, life.relaunched(at.head, record), launch_id)


def published(job: Job) -> set[str]:
    return {key.removeprefix(job.folder.keys.outputs) for key in job.keys(job.folder.keys.outputs)}


def test_outputs_that_a_later_launch_has_not_made_are_removed() -> None:
    job = Job()
    end(job, "model.pt", "half.pt")
    publish(job.folder, LAUNCH)
    assert published(job) == {"model.pt", "half.pt"}
    again(job, "second")
    end(job, "model.pt")
    publish(job.folder, "second")
    assert published(job) == {"model.pt"}


def test_a_machine_of_an_earlier_launch_publishes_nothing() -> None:
    job = Job()
    end(job, "model.pt")
    again(job, "second")
    end(job, "other.pt")
    publish(job.folder, LAUNCH)
    assert published(job) == set()


def test_an_output_that_is_damaged_is_left_out_and_the_others_are_there() -> None:
    job = Job()
    name = end(job, "model.pt", "damaged.pt")
    (part,) = next(file for file in job.folder.read_manifest(name).files if file.path == "output/damaged.pt").parts
    job.store.put(part.key, b"something else")
    publish(job.folder, LAUNCH)
    assert published(job) == {"model.pt"}
