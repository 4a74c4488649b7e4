"""How head changes: pure functions from one head to the next. Every rule about attempts and their budgets stands here."""

from __future__ import annotations

from collections.abc import Mapping

from outlast.dataclass import replace
from outlast.folder import cost
from outlast.folder.records import (
    KEPT_CHECKPOINTS,
    Attempt,
    Beat,
    Cause,
    Checkpoint,
    Head,
    LaunchRecord,
    Manifest,
    State,
)
from outlast.spec.sweep.goal import falls

BARREN_MAX = 5
BARREN_MAX_BEFORE_FIRST = 10
"""Attempts in a row without a new step, before the job is given up; more patience where there never was a checkpoint."""

HELD = "paused "
"""How the beat of a trainer begins that a drill holds at a step: what it does then (`Beat.doing`)."""

NOT_RENTED = cost.Rent()
CAUSE_OF_STATE = {
    State.SUCCEEDED: Cause.SUCCEEDED,
    State.FAILED: Cause.FAILED,
    State.STOPPED: Cause.STOPPED,
    State.EXPIRED: Cause.EXPIRED,
}


def begun(job: str, launch: LaunchRecord, checkpoints: tuple[Checkpoint, ...]) -> Head:
    """The first head of a job."""
    return Head(
        job=job,
        launch=launch.launch,
        launch_id=launch.id,
        state=State.SUBMITTED,
        bundle=launch.bundle,
        checkpoints=checkpoints,
        best_step=max((one.step for one in checkpoints if counts(one)), default=-1),
    )


def counts(checkpoint: Checkpoint) -> bool:
    """Whether the job's own steps go on from it: not from another job's, unless that was asked for."""
    return not checkpoint.adopted or checkpoint.continued


def next_attempt(
    head: Head,
    *,
    nonce: str,
    by: int,
    alone: bool,
    machine: str,
    now: float,
    beat: Beat | None,
    rent: cost.Rent = NOT_RENTED,
) -> Head:
    """Attempt k+1 begins; or the job fails, because attempts have come and gone without a new step; or it has cost enough.

    `alone`: the job has one worker, so nothing is left to gather.
    """
    attempts = dict(head.attempts)
    barren = head.barren
    previous = attempts.get(str(head.attempt))
    if previous is not None and previous.launch == head.launch:
        if previous.running_at is not None:
            barren = 0 if previous.progressed else barren + 1
        attempts[str(head.attempt)] = lost(previous, beat, now)
    head = replace(head, attempts=attempts, barren=barren)
    if rent.before_usd:
        head = counted(head, machine, rent.before_usd)
    patience = BARREN_MAX if head.best_step >= 0 else BARREN_MAX_BEFORE_FIRST
    if barren >= patience:
        last = "" if previous is None or previous.cause is None else f"; the last one ended as {previous.cause.value}"
        return final(head, State.FAILED, now, reason=f"{barren} attempts in a row made no progress{last}")
    if why := cost.too_dear(head, rent, now):
        return final(head, State.EXPIRED, now, reason=why)
    number = head.attempt + 1
    newest = head.checkpoints[-1] if head.checkpoints else None
    state = State.RUNNING if alone else State.GATHERING
    attempts[str(number)] = Attempt(
        launch=head.launch,
        started_at=now,
        machine=machine,
        by=by,
        running_at=now if alone else None,
        resumed_from_step=newest.step if newest and counts(newest) else None,
        usd_per_hour=rent.usd_per_hour,
        usd_per_hour_on_demand=rent.usd_per_hour_on_demand,
    )
    return replace(head, attempt=number, nonce=nonce, by=by, state=state, attempts=attempts)


def counted(head: Head, by: str, usd: float) -> Head:
    """What machines have cost beside attempts. Set, not added: whoever counts it twice changes nothing."""
    return replace(head, beside_usd={**head.beside_usd, by: round(usd, 6)})


def lost(attempt: Attempt, beat: Beat | None, now: float) -> Attempt:
    """An attempt that did not record its own end: its machine died without a word, at or after its last beat."""
    if attempt.ended_at is not None:
        return attempt
    seen_at = [beat.at] if beat else []
    seen_at += [attempt.committed_at] if attempt.committed_at is not None else []
    ended_at = max(attempt.started_at, min(max(seen_at), now)) if seen_at else now
    steps = [step for step in (beat.step if beat else None, attempt.committed_step) if step is not None]
    if beat is not None and beat.store_writes > attempt.store_writes:
        attempt = replace(attempt, store_writes=beat.store_writes)
    gone = with_end(attempt, Cause.PREEMPTED, ended_at, step=max(steps, default=None))
    # It went on after its last beat, unless it was held there: nothing seen to be lost is not the same as nothing lost.
    held = beat is not None and beat.doing.startswith(HELD)
    return gone if gone.steps_lost or held else replace(gone, steps_lost=None)


def left_alone(head: Head, beat: Beat | None, now: float, *, stopped: bool = False) -> Head:
    """The attempt's machine is gone, and those that were to follow never came: it ended with its last beat, not now.

    `stopped`: it was taken away by its user.
    """
    last = head.attempts.get(str(head.attempt))
    if last is None or last.launch != head.launch:
        return head
    gone = lost(last, beat, now)
    if stopped and last.ended_at is None:
        gone = replace(gone, cause=CAUSE_OF_STATE[State.STOPPED])
    return replace(head, attempts={**head.attempts, str(head.attempt): gone})


def with_end(
    attempt: Attempt,
    cause: Cause,
    now: float,
    *,
    step: int | None = None,
    exit_code: int | None = None,
    reason: str = "",
) -> Attempt:
    if attempt.ended_at is not None:
        return attempt
    kept = attempt.committed_step if attempt.committed_step is not None else attempt.resumed_from_step
    steps_lost = 0 if cause is Cause.SUCCEEDED else None if step is None else max(0, step - (kept or 0))
    return replace(
        attempt, cause=cause, ended_at=now, step=step, steps_lost=steps_lost, exit_code=exit_code, reason=reason
    )


def ended(head: Head, number: int, attempt: Attempt) -> Head:
    return replace(head, attempts={**head.attempts, str(number): attempt})


def running(head: Head, now: float, waited_usd: float = 0.0) -> Head:
    """All workers have joined. `waited_usd`: what those have cost that waited for them."""
    if waited_usd:
        head = counted(head, f"attempt-{head.attempt}", waited_usd)
    attempt = head.attempts[str(head.attempt)]
    if attempt.running_at is None:
        attempt = replace(attempt, running_at=now)
    return replace(head, state=State.RUNNING, attempts={**head.attempts, str(head.attempt): attempt})


def passed_over(head: Head, used: Checkpoint, problems: Mapping[str, str]) -> Head:
    """The newest checkpoints are damaged, and an older one was used: where the attempt began is that one's step."""
    attempt = head.attempts[str(head.attempt)]
    step = used.step if counts(used) else None
    return ended(head, head.attempt, replace(attempt, resumed_from_step=step, passed_over=dict(problems)))


def committed(head: Head, manifest: Manifest, now: float, seconds: Mapping[str, float]) -> Head:
    """`manifest` becomes the newest checkpoint: this is the commit."""
    attempt = head.attempts[str(manifest.attempt)]
    new = Checkpoint(
        name=manifest.name,
        step=manifest.step,
        bytes=manifest.bytes,
        attempt=manifest.attempt,
        committed_at=now,
        complete=manifest.complete,
        metrics=manifest.metrics,
    )
    others = tuple(checkpoint for checkpoint in head.checkpoints if checkpoint.name != new.name)
    progressed = manifest.step > head.best_step
    attempt = replace(
        attempt,
        committed_step=max(manifest.step, attempt.committed_step if attempt.committed_step is not None else -1),
        committed_at=now,
        progressed=attempt.progressed or progressed,
        seconds=dict(seconds),
    )
    return replace(
        head,
        checkpoints=kept((*others, new)),
        best_step=max(head.best_step, manifest.step),
        barren=0 if progressed else head.barren,
        attempts={**head.attempts, str(manifest.attempt): attempt},
    )


def edited(head: Head, edit: str, bundle: str, step: int | None) -> Head:
    """The wish was carried out: whatever begins from now on begins with this bundle."""
    first = head.edited_at_step if head.edited_at_step is not None else max(step or 0, 0)
    return replace(head, edit=edit, bundle=bundle, edited_at_step=first)


def machine_life_seconds(head: Head) -> float | None:
    """How long machines have lived so far, on average; None while none was taken away."""
    ended = [one for one in head.attempts.values() if one.ended_at is not None]
    taken = sum(1 for one in ended if one.cause in (Cause.PREEMPTED, Cause.KILLED))
    return sum((one.ended_at or 0.0) - one.started_at for one in ended) / taken if taken else None


def kept(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """The newest ones, and the best one if any says how good it is."""
    newest = checkpoints[-KEPT_CHECKPOINTS:]
    best = best_checkpoint(checkpoints)
    return newest if best is None or best in newest else (best, *newest)


def best_checkpoint(checkpoints: tuple[Checkpoint, ...]) -> Checkpoint | None:
    """By the first metric that the checkpoints name: the lowest if it measures a loss or an error, else the highest."""
    measured = [checkpoint for checkpoint in checkpoints if checkpoint.metrics]
    if not measured:
        return None
    metric = next(iter(measured[-1].metrics))
    falling = falls(metric)
    comparable = [checkpoint for checkpoint in measured if metric in checkpoint.metrics]
    return min(comparable, key=lambda one: one.metrics[metric] if falling else -one.metrics[metric])


def final(
    head: Head,
    state: State,
    now: float,
    *,
    outputs: str = "",
    exit_code: int | None = None,
    reason: str = "",
    refused: bool = False,
    early: bool = False,
) -> Head:
    """The end of a launch, written once: it clears the nonce, so that nobody's late write can be merged into it."""
    attempts = dict(head.attempts)
    last = attempts.get(str(head.attempt))
    if last is not None and last.ended_at is None and last.launch == head.launch:
        attempts[str(head.attempt)] = with_end(last, CAUSE_OF_STATE[state], now, exit_code=exit_code)
    return replace(
        head,
        state=state,
        nonce="",
        by=-1,
        attempts=attempts,
        ends={**head.ends, str(head.launch): state.value},
        outputs=outputs or head.outputs,
        ended_at=now,
        exit_code=exit_code,
        reason=reason,
        refused=refused,
        early=early,
    )


def moved(head: Head, launch: LaunchRecord, now: float) -> Head:
    """The launch ends as moved, and another one goes on with its budgets."""
    attempts = dict(head.attempts)
    last = attempts.get(str(head.attempt))
    if last is not None and last.ended_at is None and last.launch == head.launch:
        attempts[str(head.attempt)] = with_end(last, Cause.MOVED, now)
    gone = replace(head, attempts=attempts, ends={**head.ends, str(head.launch): Cause.MOVED.value})
    return replace(relaunched(gone, launch), barren=head.barren)


def relaunched(head: Head, launch: LaunchRecord) -> Head:
    """A new launch goes on where the last one ended: history stays, budgets begin at zero."""
    checkpoints = head.checkpoints
    best_step = head.best_step
    if launch.resume_from:
        chosen = next(one for one in checkpoints if one.name == launch.resume_from)
        checkpoints = (*(one for one in checkpoints if one is not chosen), chosen)
        best_step = chosen.step
    return replace(
        head,
        launch=launch.launch,
        launch_id=launch.id,
        state=State.SUBMITTED,
        bundle=launch.bundle,
        nonce="",
        by=-1,
        barren=0,
        best_step=best_step,
        checkpoints=checkpoints,
        outputs="",
        ended_at=None,
        exit_code=None,
        reason="",
        refused=False,
        early=False,
    )
