"""One job's folder: typed reads, and writes that know what happened when their answer was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple, TypeVar

from outlast.dataclass import dataclass, replace
from outlast.errors import Damaged, KeyMissing, NewerFormat, NotFound, PreconditionFailed
from outlast.folder.layout import JobKeys
from outlast.folder.records import OPS_KEPT, Beat, Bell, Head, LaunchRecord, Manifest, Request, Worker, WorkerExit
from outlast.folder.sound import check_head, check_job, check_manifest
from outlast.spec.record import decode, encode
from outlast.spec.spec import Spec
from outlast.store.store import Store

T = TypeVar("T")

HEAD_HINT = (
    "something else than outlast has changed it, or it was copied incompletely; `{}` puts the state before it in its place, "
    "and the job goes on from there"
)
"""In a directory. Without head no other command can tell more of a job."""


class Fenced(Exception):
    """Head belongs to another attempt or launch, or is final: nothing that we write counts any more."""


@dataclass(frozen=True)
class HeadAt:
    head: Head
    generation: int


def nonce(random: Random) -> str:
    return f"{random.getrandbits(64):016x}"


class Wished(NamedTuple):
    """What the user of a launch has asked for."""

    stop: bool
    edit: str
    """The newest wish to change the code, as head calls it; empty: there is none."""


class Folder:
    def __init__(self, store: Store, job: str, random: Random) -> None:
        self.store = store
        self.job = job
        self.keys = JobKeys(job)
        self.random = random
        self._last_head: tuple[bytes, Head] | None = None

    @property
    def url(self) -> str:
        return f"{self.store.url.rstrip('/')}/{self.keys.root.rstrip('/')}"

    # Reads. A record that is not there raises KeyMissing; one that is not what was written raises Damaged.

    def read(self, cls: type[T], key: str) -> T:
        return decode(cls, self.store.get(key).data, key)

    def read_spec(self) -> Spec:
        spec = self._implied(Spec, self.keys.spec)
        check_job(spec.job, self.job, self.keys.spec)
        return spec

    def read_head(self) -> HeadAt:
        """Decoded once, however often it is looked whether it has changed."""
        stored = self.store.get(self.keys.head)
        if self._last_head is None or self._last_head[0] != stored.data:
            head = decode(Head, stored.data, self.keys.head)
            check_job(head.job, self.job, self.keys.head)
            check_head(head, self.keys.head)
            self._last_head = (stored.data, head)
        return HeadAt(self._last_head[1], stored.generation)

    def read_launch(self, launch: int) -> LaunchRecord:
        return self._implied(LaunchRecord, self.keys.launch(launch), launch)

    def read_manifest(self, name: str) -> Manifest:
        key = self.keys.manifest(name)
        manifest = self.read(Manifest, key)
        check_manifest(manifest, name, self.keys.root, key)
        return manifest

    def read_beat(self, attempt: int) -> Beat | None:
        return self._described(Beat, self.keys.beat(attempt))

    def read_bell(self) -> Bell | None:
        return self._described(Bell, self.keys.bell)

    def read_worker(self, attempt: int, rank: int) -> Worker | None:
        return self._read_or_none(Worker, self.keys.worker(attempt, rank))

    def read_exit(self, attempt: int, rank: int) -> WorkerExit | None:
        return self._read_or_none(WorkerExit, self.keys.exit(attempt, rank))

    def _implied(self, cls: type[T], key: str, launch: int | None = None) -> T:
        """Written before head and deleted after it: where head names what is not there, it was lost."""
        try:
            return self.read(cls, key)
        except KeyMissing:
            head = self.read_head().head
            if launch not in (None, head.launch):
                raise
            raise Damaged(f"`{key}` is gone, although the job was submitted") from None

    def _read_or_none(self, cls: type[T], key: str) -> T | None:
        try:
            return self.read(cls, key)
        except KeyMissing:
            return None

    def _described(self, cls: type[T], key: str) -> T | None:
        """What describes and never decides is as good as absent when it is damaged."""
        try:
            return self._read_or_none(cls, key)
        except (Damaged, NewerFormat):
            return None

    def existing_head(self) -> HeadAt:
        """Head, for a command: NotFound where a submit never came so far."""
        try:
            return self.read_head()
        except KeyMissing:
            raise self._half() from None
        except Damaged as error:
            error.hint = self._put_back() or error.hint
            raise

    def _put_back(self) -> str:
        """What mends a damaged head where its older states lie beside it: in a directory, unless it is the first one."""
        generation = next((entry.generation for entry in self.store.list(self.keys.head, limit=1)), 0)
        if "://" in self.store.url or generation < 2:
            return ""
        import shlex

        path = f"{self.store.url}/{self.keys.head}"
        return HEAD_HINT.format(shlex.join(["cp", f"{path}~{generation - 1}", f"{path}~{generation}"]))

    def existing_spec(self) -> Spec:
        """The same of the spec."""
        try:
            return self.read_spec()
        except KeyMissing:
            raise self._half() from None

    def _half(self) -> NotFound:
        return NotFound(
            f"job `{self.job}` was never submitted completely",
            state="no machine was started, nothing is being spent",
            hint=f"`outlast run --job-id {self.job} ...` submits it again",
        )

    def requests(self, launch: int) -> Iterator[Request]:
        """The wishes for one launch. Those for other launches are not ours to obey."""
        for entry in self.store.list(f"{self.keys.requests}{launch:06d}-"):
            yield self.read(Request, entry.key)

    def stop_wished(self, launch: int) -> bool:
        return self.wished(launch).stop

    def wished(self, launch: int) -> Wished:
        """By the names alone, in one list."""
        before = f"{self.keys.requests}{launch:06d}-"
        kinds = [entry.key.removeprefix(before) for entry in self.store.list(before)]
        edits = [kind.removeprefix("sync-").removesuffix(".json") for kind in kinds if kind.startswith("sync-")]
        return Wished(stop=any(kind.startswith("stop-") for kind in kinds), edit=max(edits, default=""))

    def read_edit(self, launch: int, edit: str) -> Request:
        return self.read(Request, self.keys.request(launch, "sync", edit))

    # Writes.

    def create(self, key: str, record: Any) -> bool:
        """Create-only. True: it is there and it is this very record, whoever's answer was lost."""
        data = encode(record)
        try:
            self.store.put(key, data, if_generation=0)
        except PreconditionFailed:
            return self.store.get(key).data == data
        return True

    def rewrite(self, key: str, record: Any) -> None:
        """Without condition: for what describes and never decides."""
        self.store.put(key, encode(record))

    def ring(self, watch_until: float = 0.0) -> str:
        """Asks the owner to look, and answers what its next beat will say that it has heard."""
        rung = nonce(self.random)
        self.rewrite(self.keys.bell, Bell(rung, watch_until))
        return rung

    def encode_head(self, head: Head) -> bytes:
        """For whoever writes it: found as it was written, it need not be decoded."""
        self._last_head = (encode(head), head)
        return self._last_head[0]

    def swap(self, at: HeadAt, head: Head, op: str) -> HeadAt | None:
        """Compare-and-swap of head; None if somebody else wrote since `at`.

        The op stands in head, so that the same call made again after a lost answer finds that it was done.
        """
        if op in at.head.ops:
            return at
        written = replace(head, ops=(*at.head.ops, op)[-OPS_KEPT:])
        try:
            generation = self.store.put(self.keys.head, self.encode_head(written), if_generation=at.generation)
        except PreconditionFailed:
            try:
                current = self.read_head()
            except KeyMissing:
                return None
            return current if op in current.head.ops else None
        return HeadAt(written, generation)

    def amend(self, at: HeadAt, owner: str, change: Callable[[Head], Head], op: str) -> HeadAt:
        """The owner's write: merged into what others wrote meanwhile, as long as head still carries the owner's nonce.

        `change` must be idempotent. `Fenced` when head is another's or final; the op is looked for first, because a final
        swap of our own whose answer was lost has cleared the nonce.
        """
        while True:
            if op in at.head.ops:
                return at
            if at.head.nonce != owner or at.head.state.final:
                raise Fenced
            swapped = self.swap(at, change(at.head), op)
            if swapped is not None:
                return swapped
            try:
                at = self.read_head()
            except KeyMissing:
                raise Fenced from None
