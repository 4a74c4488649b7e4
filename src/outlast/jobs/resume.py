"""Resume: a new launch that goes on where the last one ended; attempts, checkpoint, cost and history stay."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from outlast.dataclass import dataclass, replace
from outlast.errors import Denied, KeyMissing, NotFound, OutlastError, StoreError, StoreFull, UsageError
from outlast.folder import life
from outlast.folder.content import select
from outlast.folder.folder import HeadAt, nonce
from outlast.folder.records import Head, LaunchRecord, State
from outlast.jobs.adopt import anew_words
from outlast.jobs.elsewhere import is_elsewhere, is_silent
from outlast.jobs.job import Job, as_launch
from outlast.jobs.launch import agent_for, index, launch_record, start, start_new
from outlast.jobs.look import look
from outlast.jobs.other_engine import check_goes, check_gone, with_image, workers_at
from outlast.jobs.rent_again import check_image, differs, is_resized, machine_again, max_cost_again
from outlast.jobs.secrets import forget, keep_for, notify_references, read_values
from outlast.jobs.sweep_money import again
from outlast.jobs.sweep_parts import refuse_cell
from outlast.jobs.world import World
from outlast.spec.spec import Spec

NO_CHANGES: Mapping[str, Any] = {}


@dataclass(frozen=True)
class _Wanted:
    """What is to be otherwise than in the last launch."""

    checkpoint: str | None = None
    args: tuple[str, ...] | None = None
    max_run_seconds: float | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


STAYS = "it stays as it is; nothing was started, nothing is being spent"


def resume(
    world: World,
    job: Job,
    *,
    checkpoint: str | None = None,
    args: tuple[str, ...] | None = None,
    allow_changed: bool = False,
    max_run_seconds: float | None = None,
    changes: Mapping[str, Any] = NO_CHANGES,
) -> None:
    """From `stopped`, `failed` or `expired`. Where the job has not ended, its launch is started again if nothing of it is alive;
    one that is being stopped is refused.

    `changes`: of its machine and its money, the fields of a request that were given, by their names in `Asked`.
    """
    refuse_cell(job, "resume")
    try:
        _resume(world, job, _Wanted(checkpoint, args, max_run_seconds, changes), allow_changed=allow_changed)
    except KeyMissing:
        raise NotFound(
            f"job `{job.id}` was deleted at this moment", state="nothing was started, nothing is being spent"
        ) from None
    except (StoreFull, Denied) as error:
        error.state = error.state or STAYS
        raise


def _resume(world: World, job: Job, asked: _Wanted, *, allow_changed: bool) -> None:
    spec = job.folder.read_spec()
    if spec.cells is not None:
        _check_sweep(job, asked)
    while True:
        at = job.folder.existing_head()
        if at.head.state is State.SUCCEEDED:
            raise UsageError(
                f"job `{job.id}` has succeeded",
                state="nothing was started, nothing is being spent",
                hint=anew_words(job.id, at.head)
                if spec.cells is None
                else "the same `outlast run --sweep` with `--rerun all` begins every cell anew",
            )
        record = job.folder.read_launch(at.head.launch)
        wanted = replace(asked, args=_new_args(job, spec, at.head, record, asked.args, allow_changed=allow_changed))
        if not at.head.state.final:
            if is_elsewhere(world, record) and is_silent(job, record, at.head):
                # Its computer, when it wakes, finds the launch ended, and leaves.
                ended = life.final(at.head, State.STOPPED, job.folder.store.now(), reason="its computer was silent")
                job.folder.swap(at, ended, f"{nonce(job.folder.random)}-taken")
                continue
            if wanted.changes.get("on", record.engine) != record.engine:
                check_gone(world, job, spec, record, wanted.changes["on"])
                if _relaunch(world, job, spec, at, wanted):
                    return
                continue
            if world.engine(record.engine).state(as_launch(job, record, spec)).over:
                status = look(world, job)  # writes down that it has ended
                if not status.head.state.final:
                    raise StoreError(f"job `{job.id}` has ended, and its end is not written: {status.why}", state=STAYS)
                continue
            _check_not_stopping(job, at.head)
            _check_unchanged(world, job, spec, at.head, record, wanted)
            start(world, job, spec, at.head)
            return
        if _relaunch(world, job, spec, at, wanted):
            return


def _check_sweep(job: Job, wanted: _Wanted) -> None:
    """Every cell goes on from its own last checkpoint, with its own arguments."""
    said = "--checkpoint" if wanted.checkpoint is not None else "ARGS" if wanted.args is not None else ""
    if said:
        raise UsageError(
            f"`{job.id}` is a sweep, and `{said}` would be for all its cells alike",
            state="nothing was started, nothing is being spent",
            hint=f"`outlast resume {job.id}` goes on with each cell that failed or is missing",
        )


def _new_args(
    job: Job, spec: Spec, head: Head, previous: LaunchRecord, args: tuple[str, ...] | None, *, allow_changed: bool
) -> tuple[str, ...] | None:
    """What the next launch's record is to say; None: the same as the last one's, which are the job's own by now.

    With arguments in its launch's record a trainer may go on with other values than those in its checkpoint.
    """
    own = previous.args if previous.args is not None else spec.args
    if spec.cells is not None:
        return None
    if allow_changed:
        return own if args is None else args
    if args is None or args == own:
        return None
    typed = [arg for arg in args if arg != "--allow-changed"]
    raise UsageError(
        f"job `{job.id}` was {'submitted' if previous.args is None else 'resumed'} {_with(own)}, not {_with(args)}",
        state="nothing was started",
        hint=f"`{shlex.join(['outlast', 'resume', job.id, '--', *typed, '--allow-changed'])}` goes on with other ones, "
        + anew_words(job.id, head),
    )


def _check_not_stopping(job: Job, head: Head) -> None:
    """A wish is not taken back: its trainer may be leaving by now."""
    if job.folder.stop_wished(head.launch):
        raise UsageError(
            f"job `{job.id}` is being stopped, and has not ended yet",
            state="nothing was started; it ends when its trainer has saved and left",
            hint=f"`outlast stop {job.id}` returns when it has ended, `outlast resume {job.id}` goes on then",
        )


def _check_unchanged(world: World, job: Job, spec: Spec, head: Head, record: LaunchRecord, wanted: _Wanted) -> None:
    """A launch that is under way keeps what it began with; a resume that is typed again finds its own words in the record."""
    asked = {
        "`--checkpoint`": wanted.checkpoint is not None and select(head, wanted.checkpoint).name != record.resume_from,
        "`ARGS`": wanted.args is not None and wanted.args != (record.args if record.args is not None else spec.args),
        "`--max-run`": wanted.max_run_seconds is not None
        and not math.isclose(wanted.max_run_seconds, record.deadline_at - record.launched_at, abs_tol=0.001),
        "its image": "container" in wanted.changes,
        "`--max-cost`": wanted.changes.get("max_cost_usd", record.max_cost_usd) != record.max_cost_usd,
        "its machine": bool(wanted.changes)
        and differs(machine_again(world, record, wanted.changes, job.home.url), record.machine),
    }
    changed = [name for name, is_other in asked.items() if is_other]
    if changed:
        raise UsageError(
            f"job `{job.id}` has not ended: {' and '.join(changed)} cannot change now",
            state="it goes on as it was",
            hint=f"`outlast stop {job.id}`, then the same again",
        )


def _chosen(head: Head, checkpoint: str) -> str:
    try:
        return select(head, checkpoint).name
    except NotFound as error:
        error.state = STAYS
        error.hint = error.hint if head.checkpoints else f"`outlast resume {head.job}` begins at the beginning"
        raise


def _with(args: tuple[str, ...]) -> str:
    return f"with `{shlex.join(args)}`" if args else "without arguments"


def _relaunch(world: World, job: Job, spec: Spec, at: HeadAt, wanted: _Wanted) -> bool:
    """Of a sweep: what has not succeeded yet. False: somebody else wrote head first."""
    changes = wanted.changes
    previous = job.folder.read_launch(at.head.launch)
    chosen = _chosen(at.head, wanted.checkpoint) if wanted.checkpoint else ""
    now = job.folder.store.now()
    on = str(changes.get("on") or previous.engine)
    if on != previous.engine:
        check_goes(world, job.id, previous, on, resized=is_resized(changes))
    machine = machine_again(world, previous, changes, job.home.url)
    if not changes.get("image"):
        check_image(world, job.id, machine)
    if world.engine(on).capabilities.contained:
        machine = with_image(world, job, spec, previous, machine, at.head.bundle, changes.get("container"))
    elif "container" in changes:
        raise UsageError(
            f"`--base-image` and `--image-tag` are about containers, and `{on}` runs none for job `{job.id}`",
            hint="leave it out, or `--on vertex`",
        )
    limit = max_cost_again(job.id, at.head, previous, machine, now, changes.get("max_cost_usd"))
    workers = workers_at(machine, previous) if spec.cells is None else again(job, spec, previous, machine, limit)
    if not world.engine(on).capabilities.rents:
        # Before head leaves its end: what never fits would wait for ever.
        world.engine(on).check(machine, workers=workers)
    asked = replace(spec, machine=machine, max_cost_usd=limit, workers=workers)
    asked = asked if wanted.max_run_seconds is None else replace(asked, max_run_seconds=wanted.max_run_seconds)
    return relaunch(
        world,
        job,
        spec,
        at,
        previous,
        asked,
        on=on,
        resume_from=chosen,
        args=wanted.args if wanted.args is not None else previous.args,
        bundle=at.head.bundle,
        cells=replace(previous.cells, failed_too=True) if previous.cells is not None else None,
    )


def relaunch(
    world: World,
    job: Job,
    spec: Spec,
    at: HeadAt,
    previous: LaunchRecord,
    asked: Spec,
    *,
    on: str = "",
    settled: Callable[[LaunchRecord], None] | None = None,
    **changes: object,
) -> bool:
    """Record, index, head, old launch stopped, new one started. False: somebody else wrote head first.

    `asked`: the spec as this launch is to have it; `on`: its engine, if that is another one; `changes`: fields of its record.
    `settled`: called when the record names all that is needed, before anybody relies on it.
    """
    on = on or previous.engine
    values = _secrets(world, job, spec)
    record = launch_record(
        job,
        at.head.launch + 1,
        on,
        asked,
        job.folder.store.now(),
        place=world.engine(on).capabilities.place,
        agent=agent_for(world, job, on),
        **changes,
    )
    keep_for(world, job, spec, record.id, values)
    index(job, record)
    if settled is not None:
        settled(record)
    gone_on = life.relaunched if at.head.state.final else _moved(job)
    swapped = job.folder.swap(at, gone_on(at.head, record), f"{record.id}-resume")
    if swapped is None:
        return False
    world.engine(previous.engine).stop(as_launch(job, previous, spec))
    forget(world, spec, previous.id)
    start_new(world, job, spec, record, swapped.head)
    return True


def _moved(job: Job) -> Callable[[Head, LaunchRecord], Head]:
    """From a head that is not final: its launch ends as moved."""
    return lambda head, record: life.moved(head, record, job.folder.store.now())


def _secrets(world: World, job: Job, spec: Spec) -> dict[str, str]:
    """Read again, before anything is written: what the last launch was given went with it."""
    try:
        return read_values(world, [*spec.secrets.values(), *notify_references(spec)])
    except OutlastError as error:
        raise type(error)(
            f"job `{job.id}` needs its secrets again: {error.message}",
            state="it stays as it ended; nothing was started, nothing is being spent",
            hint=error.hint,
        ) from None
