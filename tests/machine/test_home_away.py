"""How long a machine waits for its home; a rented one that has no right to begin ends its launch, and leaves word why."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from outlast.agent.agent_process import EXIT_AGENT_DONE
from outlast.agent.standing import OFFLINE_SECONDS_MAX
from outlast.errors import Denied
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.machine import boot as booting
from tests.agent.by_hand import LAUNCH, Job

WORDS = "cannot write `head.json`: storage.objects.delete"


def refuse(*, denied_seconds_max: float, **_: object) -> bool:
    assert denied_seconds_max == booting.DENIED_SECONDS_MAX
    raise Denied(WORDS)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MachineDir:
    paths = MachineDir(tmp_path / "local" / "machines" / LAUNCH / "0-1")
    Path(paths.path).mkdir(parents=True)
    os.mkfifo(paths.tidings)  # as its init does
    monkeypatch.setattr(booting, "become", lambda *_: None)
    monkeypatch.setattr(booting, "_opened", [])
    return paths


def assign(paths: MachineDir, *, rented: bool) -> None:
    paths.write_assignment(
        Assignment("memory:", "job", 1, LAUNCH, rank=0, workers=1, boot=1, deadline_at=1e12, rented=rented)
    )


def test_what_was_refused_stands_where_failed_boots_do_and_the_launch_is_over(
    paths: MachineDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job()
    assign(paths, rented=True)
    monkeypatch.setattr(booting, "serve", refuse)
    assert booting.boot(paths.path, open_store=lambda url: job.store) == EXIT_AGENT_DONE
    assert job.store.get(f"{job.folder.keys.boots(1)}failed").data.decode() == WORDS


@pytest.mark.parametrize(("rented", "seconds"), [(True, OFFLINE_SECONDS_MAX), (False, math.inf)])
def test_a_rented_machine_leaves_a_home_that_stays_away_and_this_computer_waits_for_it(
    rented: bool, seconds: float, paths: MachineDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job()
    assign(paths, rented=rented)
    waits: list[float] = []

    def served(*, offline_seconds_max: float, **_: object) -> bool:
        waits.append(offline_seconds_max)
        return True

    monkeypatch.setattr(booting, "serve", served)
    assert booting.boot(paths.path, open_store=lambda url: job.store) == EXIT_AGENT_DONE
    assert waits == [seconds]
