"""Whom a job's machines are to tell, checked before anything is started; and what has become of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from outlast.engines.engine import Engine
from outlast.errors import Damaged, KeyMissing, NewerFormat, UsageError
from outlast.folder.records import Notification, Notified
from outlast.jobs.job import Job
from outlast.jobs.secrets import check_reach, pinned, read_values
from outlast.jobs.world import World
from outlast.spec.notify import check_notify, check_url, is_reference, is_url
from outlast.spec.record import decode
from outlast.spec.secrets import parse_reference

NOTIFY_MAX = 10
"""A machine has a minute for all of them."""

EVENTS_MAX = 1000


def checked_notify(asked: tuple[str, ...], directory: Path, world: World, engine: Engine) -> tuple[str, ...]:
    if len(asked) > NOTIFY_MAX:
        raise UsageError(f"`--notify` is given {len(asked)} times", hint=f"{NOTIFY_MAX} at most")
    found = [check_notify(text, directory, world.environ.get("PATH", "")) for text in asked]
    for text in found:
        if is_reference(text):
            check_reach(parse_reference(text, directory), "--notify", engine)
            for value in read_values(world, [text]).values():
                _check_kept_url(value, text)
        elif not is_url(text) and not engine.capabilities.same_machine:
            raise UsageError(
                f"`--notify`: machines of `{engine.name}` are elsewhere, and have no commands of yours",
                hint="give a URL: `--notify https://...`",
            )
    return tuple(dict.fromkeys(pinned(text) if is_reference(text) else text for text in found))


def _check_kept_url(value: str, reference: str) -> None:
    try:
        check_url(value)
    except UsageError as error:
        raise UsageError(f"what `--notify {reference}` refers to is no URL to be told: {error.message}") from None


def list_notifications(job: Job) -> list[dict[str, Any]]:
    """For each event: when, and whom it was told, with what went wrong. `told` null: whoever was to tell was killed before it could say."""
    store, keys = job.folder.store, job.folder.keys
    found = []
    for entry in list(store.list(keys.notifications))[:EVENTS_MAX]:
        if entry.key.endswith("-told.json"):
            continue
        try:
            claim = decode(Notification, store.get(entry.key).data, entry.key)
        except (KeyMissing, Damaged, NewerFormat):
            continue
        found.append({"event": claim.event, "at": claim.at, "told": _told(job, claim.event)})
    return sorted(found, key=lambda one: float(str(one["at"])))


def _told(job: Job, event: str) -> list[dict[str, Any]] | None:
    key = job.folder.keys.notified(event)
    try:
        done = decode(Notified, job.folder.store.get(key).data, key)
    except (KeyMissing, Damaged, NewerFormat, ValueError):
        return None
    return [{"to": to, "problem": problem or None} for to, problem in done.problems.items()]
