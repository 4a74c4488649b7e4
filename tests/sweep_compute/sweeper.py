"""Somebody who types commands that sweep on rented machines, and what the home and the emulator know of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from outlast.errors import KeyMissing
from outlast.folder.bills import Bills
from outlast.folder.folder import Folder
from outlast.folder.records import Head, LaunchRecord
from outlast.folder.sweep import SweepFolder
from outlast.folder.sweep_records import Row
from outlast.store.registry import open_store
from tests.cli.user import Said
from tests.compute.renter import BUCKET, Renter
from tests.waiting import until

TRAINS = """
import os, pathlib, sys, time
import outlast

def flag(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default

print("gpus", os.environ.get("CUDA_VISIBLE_DEVICES"), "cpus", len(os.sched_getaffinity(0)), flush=True)
state = outlast.State(chain=0)
for step in outlast.steps(int(flag("--steps", "8")), state, save_steps=2):
    state.chain = (state.chain * 31 + step + int(flag("--seed", "0"))) % 1_000_003
    outlast.log(step=step, loss=1 / (1 + step))
    time.sleep(float(flag("--pause", "0.05")))
while "--waits" in sys.argv and not pathlib.Path("/srv/flags/go").exists():
    outlast.log(step=step, loss=0.5)
    time.sleep(0.2)
(outlast.output_dir() / "chain").write_text(str(state.chain))
"""
"""With `--waits` it goes on until the test lets it go."""


def chain(seed: int, steps: int = 8) -> str:
    found = 0
    for step in range(steps):
        found = (found * 31 + step + seed) % 1_000_003
    return str(found)


@dataclass
class Sweeper(Renter):
    flags: Path

    def init(self) -> None:
        """Machines have the role that `outlast init` gives them, and no right beyond it."""
        self.user.env.update(self.emulator.variables)
        done = self.user.outlast("init", "--yes", "--no-check", "--bucket", BUCKET)
        assert done.code == 0, done.err
        self.user.env["OUTLAST_HOME"] = f"gs://{BUCKET}"

    def sweep(self, name: str, cells: Any, *words: str) -> Said:
        """Submitted; nobody waits for it."""
        self.user.write("train.py", TRAINS)
        self.user.write("cells.json", json.dumps(cells))
        options = ("--on", "compute", "--sweep", "cells.json", "--name", name, "--detach", "--yes")
        return self.user.outlast("run", *options, *words, "train.py")

    def let_go(self) -> None:
        (self.flags / "go").write_text("")

    def folder(self, job: str) -> Folder:
        return Folder(open_store(f"gs://{BUCKET}"), job, Random())

    def cell(self, name: str, number: int) -> Head:
        key = f"jobs/{name}/cells/{number:06d}/head.json"
        return self.folder(name).read(Head, key)

    def rows(self, name: str, turn: int = 1) -> dict[int, Row]:
        return SweepFolder(self.folder(name)).rows(turn)

    def claims(self, name: str, launch: int = 1) -> dict[int, int]:
        return SweepFolder(self.folder(name)).claims(launch)

    def launch(self, name: str, number: int = 1) -> LaunchRecord:
        return self.folder(name).read_launch(number)

    def output(self, name: str, number: int) -> str:
        key = f"jobs/{name}/cells/{number:06d}/outputs/chain"
        return self.folder(name).store.get(key).data.decode()

    def alive(self) -> list[str]:
        """Machines that are there now."""
        return sorted(one["instance"] for one in self.machines() if one["alive"])

    def has_saved(self, name: str, number: int) -> bool:
        try:
            return bool(self.cell(name, number).checkpoints)
        except KeyMissing:
            return False

    def who_has(self, name: str, number: int) -> str:
        """The machine that runs a cell, as Google calls it."""
        head = self.cell(name, number)
        return f"outlast-{head.attempts[str(head.attempt)].machine.rpartition('-')[0]}"

    def usd_of_machines(self) -> float:
        lines = self.emulator.call("GET", "/_emulator/usage").json()["lines"]
        return float(sum(one["usd"] for one in lines if one["kind"] in ("compute.instance", "compute.disk")))

    def billed_usd(self, name: str) -> float:
        """What the sweep's own machines say that they have cost."""
        folder = self.folder(name)
        return Bills(folder).spent_usd(folder.store.now())

    def wait_until_nothing_is_paid_for(self) -> None:
        until(lambda: not self.rented(), lambda: f"nothing is rented any more: {self.rented()}")

    def wait_for_rows(self, name: str, count: int) -> None:
        until(lambda: len(self.rows(name)) >= count or self.is_over(name), f"{count} cells have ended")

    def is_over(self, name: str) -> bool:
        return self.head(name)["state"] in ("succeeded", "failed", "stopped", "expired")

    def wait_for_end(self, name: str) -> dict[str, Any]:
        until(lambda: self.is_over(name), lambda: f"its end: {sorted(self.rows(name))}, {self.alive()}")
        return self.head(name)
