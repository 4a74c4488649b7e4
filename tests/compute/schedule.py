"""What happens to one job on rented machines, drawn from a seed; nobody looks after the job meanwhile."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from outlast.folder.records import Head
from outlast.jobs.asked import Asked
from outlast.jobs.job import Job, as_launch
from outlast.jobs.resume import resume
from outlast.jobs.stop import stop
from outlast.jobs.submit import submit
from outlast.jobs.world import World
from outlast.results.logs import PieceKind, read_log
from outlast.spec.spec import Drill
from outlast_emulator.testing import Running
from tests.waiting import until

RUNNER = "outlast-runner@emulated.iam.gserviceaccount.com"
STEPS = 60
TRAINER = f"""
import hashlib, os, pathlib, time
import outlast

state = outlast.State(chain="")
for step in outlast.steps({STEPS}, state):
    time.sleep(0.03)
    state.chain = hashlib.sha256(f"{{state.chain}}{{step}}".encode()).hexdigest()
    print(f"step {{step}}", flush=True)
pathlib.Path(os.environ["OUTLAST_OUTPUT_DIR"], "model").write_text(state.chain)
"""

SWITCHES: dict[str, tuple[Any, ...]] = {
    "status_lag_seconds": (0.0, 210.0),
    "delete_seconds": (2.0, 120.0),
    "group_takes_spot_delete": (True, False),
    "group_shrinks_at_deadline": (True, False),
    "past_termination_refused": (True, False),
    "notice_in_templates": (True, False),
    "zone_change": (True, False),
    "stockout_refused_at_once": (False, True),
    "stockout_with_details": (False, True),
}
"""What is not settled about Google, both ways."""

BY_TURNS: dict[str, tuple[object, object]] = {
    "iam_delay_seconds": (0.0, 120.0),
    "serial_after_stop": (True, False),
    "quota_refused_at_once": (False, True),
    "zone_change_with_flexibility": (True, False),
    "notice_with_gpus": (True, False),
    "instance_admin_manages_groups": (True, False),
}
"""The others, by the digits in base two of thirty seeds, which have five."""

FAULTS: tuple[dict[str, Any], ...] = (
    {"method": "compute.regionInstanceGroupManagers.insert", "kind": "error", "status": 503, "times": 2},
    {"method": "compute.regionInstanceGroupManagers.insert", "kind": "lost", "times": 1},
    {"method": "compute.regionInstanceTemplates.insert", "kind": "lost", "times": 1},
    {"method": "compute.regionInstanceGroupManagers.delete", "kind": "error", "status": 503, "times": 2},
    {"method": "compute.regionInstanceGroupManagers.delete", "kind": "lost", "times": 1},
    {"method": "storage.objects.insert", "kind": "lost", "times": 3},
    {"method": "storage.objects.insert", "kind": "error", "status": 503, "times": 3},
    {"method": "storage.objects.get", "kind": "error", "status": 500, "times": 3},
)


def model() -> str:
    """What the uninterrupted training makes."""
    chain = ""
    for step in range(STEPS):
        chain = hashlib.sha256(f"{chain}{step}".encode()).hexdigest()
    return chain


@dataclass
class Schedule:
    seed: int
    random: Random = field(init=False)
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def run(self, emulator: Running, world: World, directory: Path) -> Job:
        chosen = {name: self.random.choice(values) for name, values in SWITCHES.items()}
        chosen |= {name: values[self.seed >> place % 5 & 1] for place, (name, values) in enumerate(BY_TURNS.items())}
        emulator.switch(**chosen)
        self.happened.append(f"switches {chosen}")
        runner = {"email": RUNNER, "roles": ["roles/owner"]}  # known to Google as late as the switch says
        assert emulator.call("POST", "/_emulator/iam/service-accounts", runner).status == 200
        for fault in self.random.sample(FAULTS, 2):
            emulator.fault(**fault)
            self.happened.append(f"fault {fault}")
        (directory / "train.py").write_text(TRAINER)
        asked = Asked(
            "train.py",
            directory=str(directory),
            on="compute",
            home="gs://schedules",
            job_id=f"job-{self.seed}",
            drill=Drill(save_steps=4),
        )
        job = submit(world, asked).job
        events: list[Callable[[Emulated], None]] = self.random.choices(EVENTS, k=self.random.randint(1, 3))
        for event in events:
            it = Emulated(emulator, world, job, self.random)
            it.wait_for_steps(self.random.randint(0, STEPS // 3))
            if it.head().state.final:
                break
            self.happened.append(event.__name__)
            event(it)
        return job


class Emulated:
    """A running job, and what may happen to it."""

    def __init__(self, emulator: Running, world: World, job: Job, random: Random) -> None:
        self.emulator = emulator
        self.world = world
        self.job = job
        self.random = random

    def head(self) -> Head:
        return self.job.folder.read_head().head

    def post(self, path: str, **body: Any) -> bool:
        return self.emulator.call("POST", f"/_emulator/{path}", body).status == 200

    def machine(self) -> str:
        return f"outlast-{self.head().launch_id}-0"

    def wait_for_steps(self, steps: int) -> None:
        """Until the newest attempt has committed so many of its own, or the job has ended."""

        def reached() -> bool:
            head = self.head()
            return head.state.final or (head.attempt > 0 and self._steps(head) >= steps)

        until(reached, f"{steps} steps")

    def _steps(self, head: Head) -> int:
        """By what it has committed: the heartbeat comes once a minute in a bucket."""
        found = head.attempts.get(str(head.attempt))
        if found is None:
            return -1
        return (found.committed_step or found.resumed_from_step or 0) - (found.resumed_from_step or 0)


# What may happen.


def preempted_with_two_minutes(it: Emulated) -> None:
    it.post("preempt", instance=it.machine(), notice_seconds=150)


def preempted_with_half_a_minute(it: Emulated) -> None:
    it.post("preempt", instance=it.machine(), notice_seconds=30)


def preempted_without_notice(it: Emulated) -> None:
    it.post("preempt", instance=it.machine(), notice_seconds=0)


def crashed(it: Emulated) -> None:
    it.post("machines/kill", instance=it.machine())


def no_capacity(it: Emulated) -> None:
    """In all zones but one, or in all for a while."""
    zone = it.random.choice(("us-central1-a", "us-central1-*"))
    it.post("capacity", zone=zone, machines=0)
    preempted_without_notice(it)
    time.sleep(2.0)
    it.emulator.call("DELETE", "/_emulator/capacity")


def network_cut(it: Emulated) -> None:
    """Of the machine, for a while; it may be taken away meanwhile."""
    if it.post("machines/cut", instance=it.machine(), cut=True):
        time.sleep(it.random.uniform(0.2, 2.0))
        if it.random.random() < 0.5:
            preempted_without_notice(it)
        it.post("machines/cut", instance=it.machine(), cut=False)


def zombie(it: Emulated) -> None:
    """Dead to Google, it wakes after its successor has begun."""
    it.post("machines/lose", instance=it.machine(), frozen_seconds=it.random.choice((0, 300)), seconds=600)


def stopped_and_started_late(it: Emulated) -> None:
    """A start that was on its way when the job was stopped must come to nothing; then the job is resumed, perhaps elsewhere."""
    record = it.job.folder.read_launch(it.head().launch)
    spec = it.job.spec()
    stop(it.world, it.job)
    if it.head().state.value == "succeeded":
        return
    it.world.engine("compute").start(as_launch(it.job, record, spec))
    assert not it.world.engine("compute").state(as_launch(it.job, record, spec)).alive
    changes = {"region": "us-east1"} if it.random.random() < 0.5 else {}
    resume(it.world, it.job, changes=changes)


def two_laptops_start_it(it: Emulated) -> None:
    """While its machine is taken away: whoever looks starts what is gone, and it is one launch all the same."""
    record = it.job.folder.read_launch(it.head().launch)
    preempted_without_notice(it)
    for _ in range(2):
        it.world.engine("compute").start(as_launch(it.job, record, it.job.spec()))


EVENTS = (
    preempted_with_two_minutes,
    preempted_with_half_a_minute,
    preempted_without_notice,
    crashed,
    no_capacity,
    network_cut,
    zombie,
    stopped_and_started_late,
    two_laptops_start_it,
)


def log_of(job: Job) -> tuple[list[str], int]:
    """Its lines, and how many gaps it shows."""
    pieces = list(read_log(job.folder))
    text = b"".join(piece.data for piece in pieces if piece.kind is PieceKind.BYTES).decode(errors="replace")
    return text.splitlines(), sum(1 for piece in pieces if piece.kind is PieceKind.GAP)
