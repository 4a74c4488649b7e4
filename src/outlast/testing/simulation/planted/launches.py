"""Planted in the commands: submit, start, stop, resume, look; and in how machines end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from outlast.engines.engine import Condition, LaunchState
from outlast.errors import UsageError
from outlast.folder import life
from outlast.folder.records import LaunchRecord, State
from outlast.jobs import launch, look, resume, stop, submit
from outlast.jobs.job import as_launch
from outlast.spec.record import encode
from outlast.testing.simulation.engine import Cloud, Group
from outlast.testing.simulation.machine import SimulatedMachine
from outlast.testing.simulation.planted.plant import ISSUE, LIFE, MISC, around, plant


def _own_record(
    original: Any, job: Any, number: int, engine: str, spec: Any, now: float, **changes: Any
) -> LaunchRecord:
    """Who loses a create-only write goes on with its own idea of the launch."""
    there: LaunchRecord = original(job, number, engine, spec, now, **changes)
    mine = f"{job.folder.random.getrandbits(64):016x}"
    return replace(there, id=mine) if number == 1 and there.launched_at != now else there


def _start_own(original: Any, world: Any, job: Any, spec: Any, head: Any, made: Any = None) -> None:
    """Started from one's own record, not from the one that head names."""
    record = replace(job.folder.read_launch(head.launch), id=f"{job.folder.random.getrandbits(64):016x}")
    world.engine(record.engine).start(as_launch(job, record, spec))


def _head_first(
    original: Any, job: Any, number: int, engine: str, spec: Any, now: float, **changes: Any
) -> LaunchRecord:
    """Head names the launch before its record is there."""
    if number != 1:
        record: LaunchRecord = original(job, number, engine, spec, now, **changes)
        return record
    record = LaunchRecord(
        1,
        f"{job.folder.random.getrandbits(64):016x}",
        engine,
        spec.workers,
        spec.machine,
        now,
        now + spec.max_run_seconds,
        "",
    )
    head = submit.begin(job, life.begun(job.id, record, ()))
    if head.launch_id == record.id:
        job.folder.store.put(job.folder.keys.launch(1), encode(record), if_generation=0)
    return job.folder.read_launch(1) if head.launch_id != record.id else record


def _start_and_forget(original: Any, world: Any, job: Any, spec: Any, head: Any, made: Any = None) -> None:
    """After the start nobody looks whether the job has ended meanwhile."""
    record = job.folder.read_launch(head.launch)
    world.engine(record.engine).start(as_launch(job, record, spec))


def _mend_nothing(
    original: Any, world: Any, job: Any, spec: Any, record: Any, at: Any, state: Any, stopping: bool
) -> Any:
    """A launch of which nothing is alive is left as it is."""
    if not state.alive and state.condition is not Condition.BOOT_FAILED and not stopping:
        return at, state
    return original(world, job, spec, record, at, state, stopping)


def _resume_refuses(original: Any, world: Any, job: Any, **options: Any) -> None:
    if not job.folder.existing_head().head.state.final:
        raise UsageError("the job has not ended")
    original(world, job, **options)


def _boots_ignored(
    original: Any, world: Any, job: Any, spec: Any, record: Any, at: Any, state: Any, stopping: bool
) -> Any:
    if state.condition is Condition.BOOT_FAILED:
        state = LaunchState(Condition.STARTING)
    return original(world, job, spec, record, at, state, stopping)


def _resume_anything(original: Any, world: Any, job: Any, **options: Any) -> None:
    """Also a job that has succeeded."""
    at = job.folder.existing_head()
    if at.head.state is State.SUCCEEDED:
        resume._relaunch(world, job, job.folder.read_spec(), at, resume._Wanted())
        return
    original(world, job, **options)


def _relaunch_blindly(original: Any, world: Any, job: Any, **options: Any) -> None:
    """A job that has not ended gets a new launch all the same."""
    at = job.folder.existing_head()
    resume._relaunch(world, job, job.folder.read_spec(), at, resume._Wanted())


def _numbered_id(original: Any, job: Any, number: int, *args: Any, **changes: Any) -> LaunchRecord:
    """The launch's id is made of its number: one that was deleted comes back."""
    record: LaunchRecord = original(job, number, *args, **{**changes, "id": f"{number:016x}"})
    return record


def _laptop_time(original: Any, world: Any, job: Any, *args: Any) -> Any:
    """Deadlines by the laptop's clock."""
    store = job.folder.store
    now, store.now = store.now, world.clock.now
    try:
        return original(world, job, *args)
    finally:
        store.now = now


def _stop_running_without_wish(original: Any, job: Any, launch: int) -> None:
    """Stopped by the command alone: nobody is told."""
    job.folder.ring()


def _leave_by_name(original: Any, self: SimulatedMachine, *, done: bool) -> None:
    """A machine that has no place any more has the engine delete it by its name, which is its successor's too."""
    original(self, done=done)
    if not done:
        self.cloud.delete_by_name(self.launch_id, self.rank, self.uid)


def _boots_per_launch(original: Any, self: Cloud, group: Group, machine: SimulatedMachine, fails: bool) -> None:
    """All boots of a launch are counted together, and one that succeeds does not begin the count anew."""
    count = sum(group.failed_boots.values()) + (1 if fails else 0)
    original(self, group, machine, fails)
    if not group.ended:
        group.failed_boots[machine.rank] = count


ALL = (
    plant(
        "loser uses its own record",
        "who loses a create-only write uses what is there",
        f"{LIFE}: loser='own'",
        (submit, "launch_record", around(launch.launch_record, _own_record)),
        (launch, "start", around(launch.start, _start_own)),
        (submit, "start", around(launch.start, _start_own)),
    ),
    plant(
        "head before record",
        "the record comes before the head that names it",
        f"{LIFE}: recfirst=False",
        (submit, "launch_record", around(launch.launch_record, _head_first)),
    ),
    plant(
        "late start not undone",
        "after the start head is read again, and the start undone",
        f"{ISSUE}; {LIFE} LITERAL",
        (launch, "start", around(launch.start, _start_and_forget)),
        (submit, "start", around(launch.start, _start_and_forget)),
        (resume, "start", around(launch.start, _start_and_forget)),
        (look, "start", around(launch.start, _start_and_forget)),
    ),
    plant(
        "nobody starts again",
        "any command that finds nothing alive calls the same start",
        f"{LIFE}: resume_cont=False",
        (look, "_mend", around(look._mend, _mend_nothing)),
        (resume, "resume", around(resume.resume, _resume_refuses)),
    ),
    plant(
        "spent boots not written down",
        "the first command that looks writes failed",
        f"{LIFE}: bootend=False",
        (look, "_mend", around(look._mend, _boots_ignored)),
    ),
    plant(
        "resumed after success",
        "never from succeeded",
        LIFE,
        (resume, "resume", around(resume.resume, _resume_anything)),
    ),
    plant(
        "resumed while running",
        "resume from stopped, failed, expired",
        LIFE,
        (resume, "resume", around(resume.resume, _relaunch_blindly)),
    ),
    plant(
        "launch ids come back",
        "a launch's id is random",
        f"{MISC}: delete + resubmit LITERAL",
        (submit, "launch_record", around(launch.launch_record, _numbered_id)),
    ),
    plant(
        "laptop's clock",
        "now is the store's time, never a laptop's",
        ISSUE,
        (look, "_mend", around(look._mend, _laptop_time)),
    ),
    plant(
        "expired too soon",
        "a command writes expired after the agent has had its chance",
        LIFE,
        (look, "EXPIRED_LATE_SHARE", -0.5),
    ),
    plant(
        "stopped without a wish",
        "a stop is a wish first",
        LIFE,
        (stop, "wish", around(stop.wish, _stop_running_without_wish)),
    ),
    plant(
        "delete by name",
        "nobody deletes a machine by name",
        ISSUE,
        (SimulatedMachine, "leave", around(SimulatedMachine.leave, _leave_by_name)),
    ),
    plant(
        "boots counted together",
        "three in a row of one rank",
        f"{MISC}: boots LITERAL",
        (Cloud, "_booted", around(Cloud._booted, _boots_per_launch)),
    ),
)
