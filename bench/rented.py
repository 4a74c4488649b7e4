"""Rented machines on the emulator: how fast they react and come back, what an hour asks of Google, and how much work is kept.

Google's own times (boots, notices, repairs) are shortened as `TIME_SCALE` says; what outlast does in them is real.
By itself: `python -m bench.bench rented`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.measure import Row, ratio_row
from outlast_emulator.testing import Running, running

TIME_SCALE = 0.05
TRIALS = 3
FIRST_STEPS_SECONDS = 3.0
PATIENCE_SECONDS = 180.0

NOTICE_SECONDS_MAX = 10.0
"""Of the 30 that Google gives at the least."""
AGAIN_SECONDS_MAX = 15.0

QUIET_SECONDS = 60.0
"""An hour's calls are those of a minute of training, sixty times, and those around it."""
CALLS_MAX = 5000
USD_MAX = 0.02
USD_PER_CLASS_A, USD_PER_CLASS_B = 0.005 / 1000, 0.0004 / 1000
"""Cloud Storage, Standard, in one region."""

TRAINED_SECONDS = 1200.0 * TIME_SCALE
EVERY_SECONDS = 600.0 * TIME_SCALE
STEP_SECONDS = 0.25
TRACE: Mapping[str, Any] = {"name": "rough", "seed": 5}
LOST_RATIO_MAX = 0.8

OURS = f"""
import time
import outlast

state, told = outlast.State(count=0), False
for step in outlast.steps(100_000, stateSAVING):
    if not told:
        told = not print("first", time.time(), flush=True)
    state.count += 1
    time.sleep({STEP_SECONDS})
"""
FIXED = f"""
import json, os, pathlib, time

kept = pathlib.Path("kept")
kept.mkdir(exist_ok=True)
place = kept / "step.json"
step = json.loads(place.read_text())["step"] if place.exists() else 0
saved_at = time.monotonic()
while True:
    time.sleep({STEP_SECONDS})
    step += 1
    if time.monotonic() - saved_at >= {EVERY_SECONDS}:
        saved_at = time.monotonic()
        (kept / "new").write_text(json.dumps({{"step": step}}))
        os.replace(kept / "new", place)
        print("saved", step, flush=True)
"""


def rows(scratch: Path) -> Iterator[Row]:
    before = dict(os.environ)
    os.environ.update({"HOME": str(scratch), "OUTLAST_DIR": str(scratch / "outlast")})
    try:
        with running(scratch / "google", time_scale=TIME_SCALE, process=True) as emulator:
            os.environ.update(emulator.variables)
            yield from Bench(scratch, emulator).rows()
    finally:
        os.environ.clear()
        os.environ.update(before)


class Bench:
    def __init__(self, scratch: Path, emulator: Running) -> None:
        from outlast.jobs.world import system_world

        self.emulator = emulator
        self.scratch = scratch
        self.bucket = "bench-rented"
        os.environ["OUTLAST_HOME"] = f"gs://{self.bucket}"
        emulator.make_bucket(self.bucket)
        account = "outlast-runner@emulated.iam.gserviceaccount.com"
        emulator.call("POST", "/_emulator/iam/service-accounts", {"email": account, "roles": ["roles/owner"]})
        self.world = system_world()

    def rows(self) -> Iterator[Row]:
        yield from self.taken_away()
        yield from self.an_hour()
        yield from self.goodput()

    def taken_away(self) -> Iterator[Row]:
        """The script saves by itself never: what is committed is what the notice was used for."""
        job = self.submit("away", OURS.replace("SAVING", ', save_every="1000h"'))
        commits = []
        for trial in range(1, TRIALS + 2):
            self.wait_for_attempt(job, trial)
            if trial > TRIALS:
                break
            noticed_at = time.time()
            self.preempt(job, notice_seconds=150)
            self.wait_for_attempt(job, trial + 1)
            commits.append(self.head(job).checkpoints[-1].committed_at - noticed_at)
        self.stop(job)
        begun = [float(line.split()[1]) for line in self.lines(job, "first")]
        agains = [begun[boot - 1] - self.boot_at(job, boot) for boot in range(2, TRIALS + 2)]
        yield _slowest("rented: notice to last commit", commits, NOTICE_SECONDS_MAX)
        yield _slowest("rented: machine's boot to the first step again", agains, AGAIN_SECONDS_MAX)

    def an_hour(self) -> Iterator[Row]:
        before = self.operations()
        job = self.submit("hour", OURS.replace("SAVING", ""))
        self.wait_for_attempt(job, 1)
        begun = self.operations()
        time.sleep(QUIET_SECONDS)
        quiet = self.operations()
        self.stop(job)
        ended = self.operations()
        hour = {
            kind: ended[kind] - before[kind] + (3600 / QUIET_SECONDS - 1) * (quiet[kind] - begun[kind])
            for kind in ended
        }
        usd = hour["class_a"] * USD_PER_CLASS_A + hour["class_b"] * USD_PER_CLASS_B
        calls = hour["calls"]
        words = f"{calls:,.0f}, of them {hour['compute']:,.0f} to Compute Engine"
        yield Row(
            "rented: API calls of an hour's job that saves as it likes",
            words,
            "",
            "",
            f"{CALLS_MAX:,}",
            calls <= CALLS_MAX,
        )
        yield Row("rented: what they cost", f"${usd:.4f}", "", "", f"${USD_MAX}", usd <= USD_MAX)

    def goodput(self) -> Iterator[Row]:
        """Two jobs side by side under one trace: the same zones lose their room at the same moments."""
        jobs = {
            "ours": self.submit("ours", OURS.replace("SAVING", "")),
            "fixed": self.submit("fixed", FIXED, checkpoint_dir="kept"),
        }
        for job in jobs.values():
            self.wait_for_attempt(job, 1)
        self.emulator.call("POST", "/_emulator/trace", dict(TRACE))
        time.sleep(TRAINED_SECONDS)
        ours = max(0, int(self.head(jobs["ours"]).best_step))  # committed: what another attempt would begin with
        attempts = {name: len(self.head(job).attempts) for name, job in jobs.items()}
        self.emulator.call("DELETE", "/_emulator/trace")
        self.emulator.call("DELETE", "/_emulator/capacity")
        for job in jobs.values():
            self.stop(job)
        saved = [int(line.split()[1]) for line in self.lines(jobs["fixed"], "saved")]
        kept = {"ours": ours, "fixed": max(saved, default=0)}
        lost = {name: 1 - steps * STEP_SECONDS / TRAINED_SECONDS for name, steps in kept.items()}
        yield ratio_row(
            f"rented: time lost of 20 minutes (time-scaled) under trace `{TRACE['name']}`, {attempts['ours']} attempts",
            lost["ours"],
            lost["fixed"],
            f"checkpoints every 10 minutes, {attempts['fixed']} attempts",
            LOST_RATIO_MAX,
            lambda share: f"{share:.0%}",
        )

    # Its parts.

    def submit(self, name: str, script: str, **more: Any) -> Any:
        from outlast.jobs.asked import Asked
        from outlast.jobs.submit import submit

        directory = self.scratch / name
        directory.mkdir()
        (directory / "train.py").write_text(script)
        asked = Asked("train.py", directory=str(directory), on="compute", job_id=name, **more)
        return submit(self.world, asked).job

    def stop(self, job: Any) -> None:
        from outlast.jobs.stop import stop

        stop(self.world, job)

    def head(self, job: Any) -> Any:
        return job.folder.read_head().head

    def preempt(self, job: Any, notice_seconds: float) -> None:
        body = {"instance": f"outlast-{self.head(job).launch_id}-0", "notice_seconds": notice_seconds}
        answer = self.emulator.call("POST", "/_emulator/preempt", body)
        assert answer.status == 200, answer.body

    def lines(self, job: Any, word: str) -> list[str]:
        """Of its log, which is whole when the job has ended."""
        from outlast.results.logs import PieceKind, read_log

        data = b"".join(piece.data for piece in read_log(job.folder) if piece.kind is PieceKind.BYTES)
        return [line for line in data.decode(errors="replace").splitlines() if line.startswith(f"{word} ")]

    def wait_for_attempt(self, job: Any, number: int) -> None:
        """Until it trains: the first step follows within a moment."""
        self.until(lambda: str(number) in self.head(job).attempts, f"attempt {number}")
        time.sleep(FIRST_STEPS_SECONDS)

    def boot_at(self, job: Any, boot: int) -> float:
        key = f"{job.folder.keys.boots(1)}0-{boot}"
        found = json.loads(self.emulator.get(self.bucket, key).body)
        from datetime import datetime

        return datetime.fromisoformat(str(found["timeCreated"]).replace("Z", "+00:00")).timestamp()

    def operations(self) -> dict[str, float]:
        found = self.emulator.call("GET", "/_emulator/operations").json()
        calls = found["by_method"]
        google = {name: count for name, count in calls.items() if not name.startswith("emulator.")}
        return {
            "calls": sum(google.values()),
            "compute": sum(count for name, count in google.items() if name.startswith("compute.")),
            "class_a": found["class_a"],
            "class_b": found["class_b"],
        }

    def until(self, condition: Callable[[], object], what: str) -> None:
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > give_up_at:
                raise SystemExit(f"in vain: {what}")
            time.sleep(0.2)


def _slowest(what: str, seconds: list[float], limit: float) -> Row:
    slowest = max(seconds)
    return Row(f"{what}, the slowest of {TRIALS}", f"{slowest:.1f} s", "", "", f"{limit:g} s", slowest <= limit)
