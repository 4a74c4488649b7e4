"""The vertex engine: a custom job of Vertex AI's keeps a launch's containers alive, and they end it themselves.

Vertex AI gives no name that can be taken only once, and restarts a container only so often. Which custom job counts stands in the home
(`claims`), so that two who start the same launch make it once; and one whose restarts are used up is followed by another, with the next
`start`. One custom job for each worker; where a launch has pools, one for all.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from outlast.clock import Clock
from outlast.engines.compute.boots import Boots, read_boots, read_failed
from outlast.engines.compute.names import bucket_of, is_of
from outlast.engines.compute.requests import told
from outlast.engines.compute.room import ROOM_UNKNOWN
from outlast.engines.engine import Capabilities, Condition, Launch, LaunchState, Line, Room
from outlast.engines.renting import check_rented, region_of, rented_of
from outlast.engines.vertex import bodies, names
from outlast.engines.vertex.claims import Claim, Claims
from outlast.engines.vertex.drills import take_away
from outlast.engines.vertex.jobs import EXHAUSTED, INTERNAL, LATER, CustomJob, Phase, current, custom_job, of_rank
from outlast.engines.vertex.room import room
from outlast.engines.vertex.said import last_words, lines_of, shell_url
from outlast.errors import NoCapacity, NotFound, OutlastError
from outlast.google.connect import connect
from outlast.google.endpoints import EMULATOR, STORAGE_EMULATOR
from outlast.google.errors import ApiError, passing, untouched
from outlast.google.storage import StorageClient
from outlast.google.transport import Transport
from outlast.google.vertex import VertexClient
from outlast.google.vertex_quotas import training_limits
from outlast.google.wire import NoAnswer
from outlast.spec.spec import Machine, Rented

PLATFORM = "linux-x86_64"
WORKERS_MAX = 1000
STOP_SECONDS_MAX = 900.0
LOOK_SECONDS = (0.2, 5.0)
CLAIM_SECONDS = 3.0
"""So long whoever has claimed a launch has to make its custom job, before another one does."""

CREATE_SECONDS_MAX = 90.0
"""Vertex AI takes 60 submissions a minute."""

AGAIN_SECONDS = 120.0
"""So long after Vertex AI has found no machine it is not asked again."""

INTERNAL_MAX = 3
"""So many custom jobs of a launch fail for reasons of Vertex AI's own before a container has come up: then it is the image."""

QUIET_SECONDS, QUIET_SECONDS_MIN = 20.0, 2.0
"""So long a container that runs may say nothing before its log is asked; not less where an emulator's time runs faster."""

ERROR_SECONDS = 120.0
"""So long after a custom job's end Vertex AI may take to say why."""

TIME_SCALE = "OUTLAST_EMULATOR_TIME_SCALE"


CAPABILITIES = Capabilities(
    gpus=True,
    same_machine=False,
    preempts=False,
    platform=PLATFORM,
    rents=True,
    shares=True,
    contained=True,
)
"""Vertex AI takes machines away, but not when it is asked to; its emulator does."""


class VertexEngine:
    name = "vertex"

    def __init__(self, clock: Clock, environ: Mapping[str, str] = os.environ, *, program: str = "") -> None:
        """`program`: `module:function` that runs in its containers instead of the agent."""
        self.clock = clock
        self.program = program
        self.environ = environ
        emulated = any(environ.get(name) for name in (EMULATOR, STORAGE_EMULATOR))
        self.capabilities = replace(CAPABILITIES, preempts=emulated)
        self._taken: set[str] = set()
        """Machines that this process has taken away: Vertex AI may call their job running for a while."""

    @cached_property
    def transport(self) -> Transport:
        return connect(self.environ)

    def check(self, machine: Machine, workers: int) -> None:
        if workers > WORKERS_MAX:
            raise NoCapacity(f"{workers:,} custom jobs are more than the {WORKERS_MAX:,} of one launch")
        check_rented(machine)

    def room(self, machine: Machine) -> Room:
        """By quotas, as far as they may be looked at."""
        rented = machine.rented
        if rented is None:
            return Room(ROOM_UNKNOWN, "unless `--parallel` says more")
        with told(f"quotas of Vertex AI in `{rented.regions[0]}`"):
            try:
                return room(machine, training_limits(self.transport, rented.project, rented.regions[0]), WORKERS_MAX)
            except ApiError as error:
                if error.status != 403:
                    raise
        return Room(ROOM_UNKNOWN, "nobody may look at the quotas; `--parallel` says more")

    # Start.

    def start(self, launch: Launch) -> None:
        rented = rented_of(launch)
        self.check(launch.machine, launch.workers)
        if not rented.image:
            raise OutlastError(f"launch `{launch.id}` names no image for its containers")
        claims = self._claims(launch)
        with told(f"launch `{launch.id}` in `{region_of(launch)}`, home `{claims.bucket.name}`"):
            again = launch.independent and not any(one.phase.alive for one in self._jobs(launch))
            for rank in names.ranks(launch):
                self._start(launch, rented, claims, rank, again=again)

    def _start(self, launch: Launch, rented: Rented, claims: Claims, rank: int, *, again: bool) -> None:
        """Returns when the custom job of that rank is there, by this call or another one, or must not be.

        `again`: whoever had nothing left to do may have something now.
        """
        client = self._client(rented)
        word = secrets.token_hex(6)
        while not claims.is_stopped():
            before = claims.read(rank)
            if before is not None and self._is_taken(launch, before, rank, again=again):
                return
            if not claims.take(rank, before, word):
                continue
            made = self._create(client, launch, rented, rank, word)
            now = claims.read(rank)
            if claims.is_stopped() or now is None or now.word != word:
                self._cancel(client, made)
                continue
            for twin in self._twins(launch, rank, word):
                self._cancel(client, twin.name)
            return

    def _is_taken(self, launch: Launch, claim: Claim, rank: int, *, again: bool) -> bool:
        """The claim has a custom job that lives or has done its work. One that nobody has made after a while has none."""
        until = self.clock.monotonic() + CLAIM_SECONDS
        wait = LOOK_SECONDS[0]
        while True:
            jobs = [one for one in of_rank(self._jobs(launch), rank) if one.claim == claim.word]
            if jobs:
                return any(one.phase.alive or (one.phase is Phase.DONE and not again) for one in jobs)
            if self.clock.monotonic() >= until:
                return False
            self.clock.sleep(wait)

    def _create(self, client: VertexClient, launch: Launch, rented: Rented, rank: int, word: str) -> str:
        """Its name. A request whose answer is lost may have made it: it is looked for before another is made."""
        told_of = bodies.told_of(
            launch,
            rented,
            rank=rank,
            claim=word,
            storage=self.transport.endpoints.storage,
            time_scale=self._time_scale(),
            environ=self._containers_environ(),
            program=self.program,
        )
        now = launch.asked_at or self.clock.now()
        scale = self._time_scale()
        body = bodies.custom_job(launch, rented, told_of, rank=rank, claim=word, now=now, time_scale=scale)
        until = self.clock.monotonic() + CREATE_SECONDS_MAX
        wait, wait_max = LOOK_SECONDS
        while True:
            try:
                return str(client.create(body).get("name", ""))
            except (ApiError, NoAnswer) as error:
                lost = error.sent if isinstance(error, NoAnswer) else not untouched(error.answer)
                if isinstance(error, ApiError) and not passing(error.answer):
                    raise
                if self.clock.monotonic() >= until or (isinstance(error, NoAnswer) and error.trust):
                    raise
            self.clock.sleep(wait)
            wait = min(wait_max, wait * 2)
            if lost:
                for one in of_rank(self._jobs(launch), rank):
                    if one.claim == word:
                        return one.name

    def _twins(self, launch: Launch, rank: int, word: str) -> list[CustomJob]:
        """All but the oldest that a lost answer has made of one claim."""
        jobs = [one for one in of_rank(self._jobs(launch), rank) if one.claim == word and one.phase.alive]
        return jobs[1:]

    def _cancel(self, client: VertexClient, name: str) -> None:
        try:
            client.cancel(name)
        except ApiError as error:
            if error.status not in (400, 404):  # it has ended by itself, or is gone
                raise

    def _containers_environ(self) -> dict[str, str]:
        """Where Google is, for its containers: they are on the emulator's side when we are."""
        endpoints = self.transport.endpoints
        return {"OUTLAST_EMULATOR": endpoints.storage} if endpoints.emulated else {}

    def _time_scale(self) -> float:
        return float(self.environ.get(TIME_SCALE) or 1.0) if self.transport.endpoints.emulated else 1.0

    # State.

    def state(self, launch: Launch) -> LaunchState:
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            everything = self._jobs(launch)
            ours = [one for rank in names.ranks(launch) if (one := current(of_rank(everything, rank))) is not None]
            living = [one for one in ours if one.phase.alive]
            if not living:
                return self._ended(launch, ours, everything)
            lost = [one for one in ours if one.phase is Phase.FAILED]
            running = any(one.phase is Phase.RUNNING for one in living)
            boots = self._boots(launch) if running else Boots({}, frozenset(), failed=False)
        machines = []
        for one in living:
            for rank in self._replicas(launch, one):
                machine = f"{launch.id}-{rank}-{boots.newest.get(rank, 0)}"
                up = boots.is_up(rank) and not boots.is_idle(rank)
                if one.phase is Phase.RUNNING and up and machine not in self._taken:
                    machines.append(machine)
        wanted = sum(len(self._replicas(launch, one)) for one in living)
        why = _used_up(everything, living)
        if len(machines) == wanted or (launch.independent and machines):
            return LaunchState(Condition.RUNNING, why, machines=tuple(machines), lacks_workers=bool(lost))
        if running:
            why = "; ".join(part for part in (self._silent(launch, living, boots), why) if part)
            return LaunchState(Condition.STARTING, why, machines=tuple(machines), lacks_workers=bool(lost))
        message = next((one.message for one in living if one.message), "")
        waits = f"for a machine of Vertex AI's{f': {message}' if message else ''}"
        return LaunchState(
            Condition.WAITING,
            f"{waits}; {why}" if why else waits,
            lacks_workers=bool(lost),
            lacks_capacity=any(one.phase is Phase.FAILED and one.code == EXHAUSTED for one in everything),
        )

    def _silent(self, launch: Launch, living: list[CustomJob], boots: Boots) -> str:
        """What keeps a container from counting its boot in the home, by what Cloud Logging has of it: it cannot tell us otherwise."""
        for one in living:
            quiet_seconds = self.transport.now() - one.started_at
            patience_seconds = max(QUIET_SECONDS * self._time_scale(), QUIET_SECONDS_MIN)
            if one.phase is Phase.RUNNING and one.rank not in boots.newest and quiet_seconds > patience_seconds:
                return last_words(self.transport, rented_of(launch).project, one, lines=1)
        return ""

    def _replicas(self, launch: Launch, job: CustomJob) -> range:
        return range(launch.workers) if rented_of(launch).pools else range(job.rank, job.rank + 1)

    def _ended(self, launch: Launch, jobs: list[CustomJob], everything: list[CustomJob]) -> LaunchState:
        if not jobs:
            return LaunchState(Condition.ABSENT)
        bucket = bucket_of(launch.home)
        why = read_failed(self._storage(bucket.name), bucket, launch.boots)
        if why is not None:
            return LaunchState(Condition.BOOT_FAILED, why or "it left no word")
        failed = [one for one in jobs if one.phase is Phase.FAILED]
        if not failed:
            return LaunchState(Condition.ABSENT)
        boots, claims = self._boots(launch), self._claims(launch)
        for one in failed:
            if claims.up(one.rank, boots.newest.get(one.rank, 0)) == one.claim:
                continue
            silent = not one.document.get("error")
            if silent and self.transport.now() - one.ended_at < ERROR_SECONDS * self._time_scale():
                return LaunchState(Condition.WAITING, "for word from Vertex AI why it has given up")
            internal = [other for other in everything if other.phase is Phase.FAILED and other.code == INTERNAL]
            hopeless = not boots.up and len(internal) >= INTERNAL_MAX
            if one.code not in LATER or hopeless:
                words = last_words(self.transport, rented_of(launch).project, one)
                return LaunchState(Condition.BOOT_FAILED, words)
            left = one.ended_at + AGAIN_SECONDS * self._time_scale() - self.transport.now()
            if left > 0:
                said = f"for capacity in `{region_of(launch)}`: {one.message}; Vertex AI is asked again in {left:.0f} s"
                return LaunchState(Condition.WAITING, said, lacks_capacity=True)
        return LaunchState(Condition.ABSENT, f"Vertex AI has used up its restarts: {failed[0].message}")

    # Stop.

    def stop(self, launch: Launch) -> None:
        """The word first: whoever is about to start it finds it, before or after the custom job is made."""
        rented = rented_of(launch)
        client = self._client(rented)
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            self._claims(launch).stop()
            until = self.clock.monotonic() + STOP_SECONDS_MAX
            wait, wait_max = LOOK_SECONDS
            asked: dict[str, float] = {}
            while living := [one for one in self._jobs(launch) if one.phase.alive]:
                now = self.clock.monotonic()
                if now >= until:
                    raise OutlastError(
                        f"custom job `{living[0].number}` in `{region_of(launch)}` is still there",
                        state="its machines may be paid for",
                        hint=f"`gcloud ai custom-jobs cancel {living[0].number} --region {region_of(launch)}`",
                    )
                for one in living:
                    if now >= asked.get(one.name, 0.0):
                        self._cancel(client, one.name)
                        asked[one.name] = now + 30.0
                self.clock.sleep(wait)
                wait = min(wait_max, wait * 1.5)

    # People.

    def enter(
        self, launch: Launch, command: tuple[str, ...], ports: tuple[int, ...], worker: int | None = None
    ) -> list[str] | None:
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            living = [one for one in self._jobs(launch) if one.phase is Phase.RUNNING]
        if not living:
            return None
        raise NotFound(
            "nobody gets into a container of Vertex AI's by ssh",
            state=f"custom job `{living[0].number}` runs in `{region_of(launch)}`",
            hint=shell_url(living[0]) or "`--on compute` rents a machine that one can get into",
        )

    def custom_jobs(self, launch: Launch) -> list[CustomJob]:
        """For people: all that it has had, the oldest first."""
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            return sorted(self._jobs(launch), key=lambda one: (one.made_at, one.name))

    def lines(self, launch: Launch) -> Iterator[Line]:
        """What its containers have said, by Cloud Logging, one custom job after the other."""
        for job in self.custom_jobs(launch):
            with told(f"the log of custom job `{job.number}`"):
                yield from lines_of(self.transport, rented_of(launch).project, job)

    # Drills.

    def preempt(self, launch: Launch, *, notice_seconds: float) -> bool:
        """Only an emulator takes containers away when it is asked to: Vertex AI has no such request."""
        with told(f"launch `{launch.id}` in `{region_of(launch)}`"):
            running = [one for one in self._jobs(launch) if one.phase is Phase.RUNNING]
            boots = self._boots(launch) if running else Boots({}, frozenset(), failed=False)
            for one in running:
                for rank in self._replicas(launch, one):
                    self._taken.add(f"{launch.id}-{rank}-{boots.newest.get(rank, 0)}")
            scale = self._time_scale()
            taken = [
                take_away(self.transport, self.clock, one, notice_seconds=notice_seconds, time_scale=scale)
                for one in running
            ]
        return any(taken)

    # The parts of that.

    def _client(self, rented: Rented) -> VertexClient:
        return VertexClient(self.transport, rented.project, rented.regions[0])

    def _storage(self, bucket: str) -> StorageClient:
        return StorageClient(self.transport, bucket)

    def _claims(self, launch: Launch) -> Claims:
        bucket = bucket_of(launch.home)
        return Claims(self._storage(bucket.name), bucket, launch.boots)

    def _boots(self, launch: Launch) -> Boots:
        bucket = bucket_of(launch.home)
        return read_boots(self._storage(bucket.name), bucket, launch.boots)

    def _jobs(self, launch: Launch) -> list[CustomJob]:
        """Never one of somebody else's home."""
        client = self._client(rented_of(launch))
        found: list[Mapping[str, Any]] = []
        try:
            found += client.list(names.filter_of(launch))
        except ApiError as error:
            if error.status != 404:  # there is no such project any more: nothing can be in it
                raise
        return [custom_job(one) for one in found if is_of(one.get("labels", {}), launch)]


def _used_up(everything: list[CustomJob], living: list[CustomJob]) -> str:
    """What became of the custom jobs before these, if anything worth saying did."""
    names_living = {one.name for one in living}
    before = [one for one in everything if one.phase is Phase.FAILED and one.name not in names_living]
    if not before:
        return ""
    last = max(before, key=lambda one: one.made_at)
    times = "once" if len(before) == 1 else f"{len(before)} times"
    return f"Vertex AI had given up {times} before ({last.message or 'without a word'}), and was asked again"
