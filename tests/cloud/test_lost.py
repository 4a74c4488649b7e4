"""Machines that never came up: how long they have lived, by the times of what they have left in the home."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from outlast.engines.compute.lost import LIFE_SECONDS_MAX, Lost, lost_at_end, lost_before
from outlast.folder.cost import BOOT_SECONDS
from outlast.google.connect import connect
from outlast.jobs.asked import Asked
from outlast.jobs.look import look
from outlast.jobs.plan import plan
from outlast.jobs.stop import stop
from outlast.jobs.submit import carry_out
from outlast.jobs.world import system_world
from outlast_emulator.testing import Running
from tests.compute.records import RUNNER
from tests.waiting import until

HOME, BOOTS = "gs://boots/some/place", "jobs/one/launches/000001/boots/"


def leave(emulator: Running, at: float, *names: str) -> None:
    assert emulator.call("POST", "/_emulator/clock", {"skew_seconds": at}).status == 200
    for name in names:
        assert emulator.put("boots", f"some/place/{BOOTS}{name}", b"").status == 200


def since(began_at: float) -> float:
    """The emulator's clock is ours, put forward: so much it may have gone on between two records."""
    return time.monotonic() - began_at + 0.1


def test_the_lives_of_those_in_a_row_before_one_that_came_up_are_counted(emulator: Running) -> None:
    began_at = time.monotonic()
    emulator.make_bucket("boots")
    leave(emulator, 0, "0-1", "1-1")
    leave(emulator, 40, "0-1-up", "1-1-log")
    leave(emulator, 1000, "0-2", "1-2")
    leave(emulator, 1100, "0-2-log")
    leave(emulator, 5000, "0-3", "1-3")
    leave(emulator, 5060, "0-4")
    transport = connect()
    assert lost_before(transport, HOME, BOOTS, 0, 1) == Lost()
    assert lost_before(transport, HOME, BOOTS, 0, 2) == Lost(), "the one before came up"
    found = lost_before(transport, HOME, BOOTS, 0, 4)
    assert found.machines == 2
    assert 0 <= found.seconds - (100 + 60) <= 2 * since(began_at), "to its last word, or to its successor's first"
    found = lost_before(transport, HOME, BOOTS, 1, 3)
    assert found.machines == 2
    assert 0 <= found.seconds - (40 + LIFE_SECONDS_MAX) <= since(began_at), "nobody lives for ever without a word"


def test_at_the_end_of_a_launch_all_ranks_count_and_what_cannot_be_read_does_not(emulator: Running) -> None:
    began_at = time.monotonic()
    emulator.make_bucket("boots")
    leave(emulator, 0, "0-1", "0-1-up", "1-1")
    leave(emulator, 30, "1-1-log", "0-2")
    leave(emulator, 90, "0-2-log")
    found = lost_at_end(connect(), HOME, BOOTS)
    assert found.machines == 2 and 0 <= found.seconds - (30 + 60) <= 2 * since(began_at)
    assert lost_at_end(connect(), "gs://no-such-bucket", BOOTS) == Lost()


def test_one_that_is_still_there_at_the_end_without_a_word_has_lived_until_then(emulator: Running) -> None:
    emulator.make_bucket("boots")
    leave(emulator, 0, "0-1", "0-1-up", "1-1")
    leave(emulator, 30, "1-1-log", "0-2")
    made = emulator.get("boots", f"some/place/{BOOTS}0-2").json()["timeCreated"]
    began_at = datetime.fromisoformat(made.replace("Z", "+00:00")).timestamp()
    gone, there = lost_at_end(connect(), HOME, BOOTS), lost_at_end(connect(), HOME, BOOTS, began_at + 600)
    assert gone.machines == there.machines == 2
    assert there.seconds - gone.seconds == pytest.approx(600, abs=0.01)
    late = lost_at_end(connect(), HOME, BOOTS, began_at + 10 * LIFE_SECONDS_MAX)
    assert late.seconds - gone.seconds == pytest.approx(LIFE_SECONDS_MAX, abs=0.01)


@pytest.mark.parametrize("grace_seconds", [0.0, 60.0], ids=["past-its-grace", "within-it"])
def test_a_job_that_is_stopped_while_its_machine_does_not_come_up_has_paid_for_it(
    emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grace_seconds: float
) -> None:
    emulator.switch(machines=False)
    emulator.make_bucket("boots")
    emulator.call(
        "POST",
        "/_emulator/apis",
        {"enabled": ["storage.googleapis.com", "compute.googleapis.com", "iam.googleapis.com"]},
    )
    emulator.call("POST", "/_emulator/iam/service-accounts", RUNNER)
    for name, value in {**emulator.variables, "OUTLAST_DIR": str(tmp_path / "outlast")}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "train.py").write_text("pass")
    monkeypatch.chdir(tmp_path)
    world = system_world()
    asked = Asked(target="train.py", directory=str(tmp_path), on="compute", home="gs://boots")
    job = carry_out(world, plan(world, asked)).job
    until(lambda: look(world, job).state == "starting")
    assert emulator.put("boots", f"jobs/{job.id}/launches/000001/boots/0-1", b"").status == 200
    stopped = stop(world, job, grace_seconds=grace_seconds)
    assert stopped.state == "stopped" and not stopped.attempts
    assert stopped.cost_usd >= round(BOOT_SECONDS * stopped.launch.usd_per_hour / 3600, 4) > 0
