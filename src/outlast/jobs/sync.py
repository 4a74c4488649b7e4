"""Keeps a job's code equal to a directory: every change becomes a bundle, and a wish that the job's owner carries out.

Nothing connects to the machine: it finds the wish in the home. What no machine hears is what the next attempt begins with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from outlast.bundle.pack import pack
from outlast.bundle.record import read_bundle
from outlast.dataclass import dataclass
from outlast.errors import UsageError
from outlast.folder.folder import nonce
from outlast.folder.records import Head, Request, State
from outlast.jobs.adopt import anew_words
from outlast.jobs.code import own_places
from outlast.jobs.job import Job
from outlast.jobs.look import look
from outlast.jobs.world import World
from outlast.spec.spec import Spec

LOOK_SECONDS = 0.5
"""How often the directory is looked at."""

HEAR_SECONDS_MAX = 60.0
"""What no owner has carried out by then is left to the next attempt."""


@dataclass(frozen=True)
class Synced:
    changed: int
    removed: int
    uploaded_bytes: int
    seconds: float
    """From the change being seen to the machine's answer."""

    heard: bool
    """False: no machine has answered; the next attempt begins with it."""

    step: int | None


class Syncing:
    def __init__(self, world: World, job: Job, directory: Path, *, restart: bool) -> None:
        self.world = world
        self.job = job
        self.directory = directory
        self.restart = restart
        self.spec = job.spec()
        self.beside = [Path(one) for one in self.spec.provenance.beside]
        head = job.folder.existing_head().head
        self._check(self.spec, head)
        self.bundle = self._newest_bundle(head)
        self.edited = bool(head.edit)

    def _newest_bundle(self, head: Head) -> str:
        """What its machine has, or will have: a wish that nobody has carried out yet is older than what is wished now."""
        wished = self.job.folder.wished(head.launch).edit
        return self.job.folder.read_edit(head.launch, wished).bundle if wished > head.edit else head.bundle

    def _check(self, spec: Spec, head: Head) -> None:
        whole = spec.sweep or self.job.id
        if spec.cells is not None or spec.sweep:
            raise UsageError(
                f"`{whole}` is a sweep: its cells are compared with one another, and run the code that was submitted",
                hint="the same `outlast run --sweep` again takes new code, and asks which cells to begin again",
            )
        if head.state.final:
            raise UsageError(
                f"job `{self.job.id}` has {head.state.value}: there is nothing to keep in step",
                hint=anew_words(self.job.id, head)
                if head.state is State.SUCCEEDED
                else f"`outlast resume {self.job.id}`, or a new job",
            )
        if spec.workers > 1:
            raise UsageError(f"job `{self.job.id}` has {spec.workers} workers, and only one can be kept in step")
        came_from = spec.provenance.directory
        if came_from != str(self.directory):
            raise UsageError(
                f"job `{self.job.id}` was submitted from `{came_from}`, not from `{self.directory}`",
                hint=f"`cd {came_from}` first"
                if os.path.isdir(came_from)
                else "sync works in the directory that was shipped",
            )

        gone = next((path for path in self.beside if not path.is_dir()), None)
        if gone is not None:
            raise UsageError(f"`{gone}`, which job `{self.job.id}` was shipped with, is not there any more")

    def changes(self) -> Iterator[Synced]:
        """One for every change that was carried over, until the job has ended."""
        while True:
            synced = self.once()
            if synced is not None:
                yield synced
            if self.job.folder.existing_head().head.state.final:
                return
            self.world.clock.sleep(LOOK_SECONDS)

    def once(self, *, again: bool = False) -> Synced | None:
        """None: there is nothing to carry over. `again`: code that was carried over before may still wait for a restart."""
        began_at = self.world.clock.monotonic()
        packed = pack(
            self.job.home.store,
            self.directory,
            extra=self.beside,
            cache=self.world.cache_dir,
            clock=self.world.clock,
            links=[os.path.basename(link) for link in self.spec.links],
            given=[Path(dataset.url) for dataset in self.spec.datasets.values() if os.path.isabs(dataset.url)],
            apart=[*self._secret_files(), *own_places(self.world, self.directory, self.spec.target)],
        )
        if packed.digest == self.bundle and not (again and self.restart and self.edited):
            return None
        changed, removed = self._difference(packed.digest)
        head = self._wish(packed.digest)
        self.bundle = packed.digest
        seconds = self.world.clock.monotonic() - began_at
        if head is None:
            return Synced(changed, removed, packed.uploaded_bytes, seconds, heard=False, step=None)
        return Synced(changed, removed, packed.uploaded_bytes, seconds, heard=True, step=head.edited_at_step)

    def _secret_files(self) -> list[Path]:
        return [Path(text.partition(":")[2]) for text in self.spec.secrets.values() if text.startswith("file:")]

    def _difference(self, digest: str) -> tuple[int, int]:
        store = self.job.home.store
        old, new = read_bundle(store, self.bundle).files, read_bundle(store, digest).files
        changed = sum(1 for path, file in new.items() if old.get(path) != file)
        return changed, sum(1 for path in old if path not in new)

    def _wish(self, digest: str) -> Head | None:
        """The head that says that it was carried out; None: nobody has answered."""
        folder = self.job.folder
        head = folder.existing_head().head
        launch = head.launch
        at = max(folder.store.now(), _after(max(folder.wished(launch).edit, head.edit)))
        request = Request("sync", launch, at, bundle=digest, restart=self.restart)
        key = folder.keys.edit(launch, at, nonce(folder.random))
        folder.create(key, request)
        folder.ring()
        name = key.rpartition(f"{launch:06d}-sync-")[2].removesuffix(".json")
        until = self.world.clock.monotonic() + HEAR_SECONDS_MAX
        while self.world.clock.monotonic() < until:
            head = folder.existing_head().head
            if head.edit >= name:
                return head
            if head.state.final or not _has_machine(self.world, self.job):
                return None
            self.world.clock.sleep(max(0.05, folder.store.poll_seconds))
        return None


def _after(edit: str) -> float:
    """The time of a wish that comes behind this one, also where the clocks of two computers disagree about the second."""
    made_ms = edit.partition("-")[0]
    return (int(made_ms) + 1.5) / 1000 if made_ms.isdigit() else 0.0


def _has_machine(world: World, job: Job) -> bool:
    return look(world, job).state not in ("waiting", "submitted")
