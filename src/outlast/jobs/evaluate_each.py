"""Each new checkpoint of a job evaluated while it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from outlast.dataclass import replace
from outlast.errors import KeyMissing, NotFound
from outlast.folder.records import Checkpoint
from outlast.jobs.evaluate import Wanted, evaluate, id_for
from outlast.jobs.evaluations import Evaluated, evaluated
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.watch import wait
from outlast.jobs.world import World

LOOK_SECONDS = 1.0


def follow_training(
    world: World, trained: Job, wanted: Wanted, *, on_begin: Callable[[Job, Checkpoint], None] | None = None
) -> Iterator[Evaluated]:
    """Each checkpoint that the trained job commits, one after another, until it has ended and its last one is evaluated.

    Which job evaluates a checkpoint follows from the checkpoint (`id_for`): killed and started again, or started twice, this
    goes on with the jobs that are there and makes no second one. A checkpoint that newer ones replaced meanwhile is passed over.
    """
    done: set[str] = set()
    while True:
        ended = look(world, trained).final
        kept = trained.folder.existing_head().head.checkpoints
        fresh = sorted((one for one in kept if one.name not in done and not one.adopted), key=lambda one: one.name)
        if not fresh and ended:
            return
        if not fresh:
            world.clock.sleep(max(LOOK_SECONDS, trained.folder.store.poll_seconds))
            continue
        done.add(fresh[0].name)
        found = _evaluate_one(world, trained, wanted, fresh[0], on_begin)
        if found is not None:
            yield found


def _evaluate_one(
    world: World,
    trained: Job,
    wanted: Wanted,
    checkpoint: Checkpoint,
    on_begin: Callable[[Job, Checkpoint], None] | None,
) -> Evaluated | None:
    job = Job.of(trained.home, id_for(trained, checkpoint.name, checkpoint.step, wanted))
    try:
        ended = job.folder.read_head().head.state.final
    except KeyMissing:
        ended = False
    if not ended:
        asked = replace(wanted.asked, job_id=job.id)
        try:
            evaluate(world, trained, replace(wanted, asked=asked, checkpoint=checkpoint.name))
        except NotFound:
            if any(one.name == checkpoint.name for one in trained.folder.existing_head().head.checkpoints):
                raise
            return None  # replaced by newer ones between the look and the copy
        if on_begin is not None:
            on_begin(job, checkpoint)
        wait(world, job)
    look(world, job)
    return evaluated(trained, job)
