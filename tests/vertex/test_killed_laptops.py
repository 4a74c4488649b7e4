"""The laptop dies before or after any request of run and stop at Vertex AI, or loses an answer: one custom job, and in the end none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outlast.engines.vertex.claims import Claims
from outlast.google.vertex import VertexClient
from outlast.jobs.asked import Asked
from outlast.jobs.find import find
from outlast.jobs.look import look
from outlast.jobs.world import World, system_world
from outlast.spec.containing import Containing
from outlast.testing.crash import Counting, forked
from outlast_emulator.testing import Running, running
from tests.compute import laptop as laptops
from tests.compute.laptop import each
from tests.vertex.place import TIME_SCALE
from tests.vertex.trainer import REGION, RUNNER
from tests.waiting import until

POINTS = {"run": 4, "stop": 4}
"""Before and after each write of the engine's: claim and custom job; the word that it was stopped, and the end of the custom job."""

OVER = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("google"), time_scale=TIME_SCALE, process=True) as found:
        found.switch(write_limit=False)
        found.call("POST", "/_emulator/iam/service-accounts", {"email": RUNNER, "roles": ["roles/owner"]})
        yield found


class Laptop(laptops.Laptop):
    def asked(self) -> Asked:
        image = f"{self.emulator.url.partition('://')[2]}/library/python:3.11-slim"
        return replace(super().asked(), on="vertex", container=Containing(image_tag=image))

    def custom_jobs(self) -> list[dict[str, Any]]:
        path = f"/v1/projects/emulated/locations/{REGION}/customJobs"
        found = self.emulator.call("GET", path).json().get("customJobs", [])
        return [one for one in found if one["displayName"] == self.bucket]

    def living(self) -> list[dict[str, Any]]:
        return [one for one in self.custom_jobs() if one["state"] not in OVER]

    def check(self, name: str, *, trains: bool = True) -> None:
        """One custom job and nothing else; and after a stop none."""
        job = find(system_world(), self.bucket)
        if name == "run":
            until(lambda: len(self.living()) == 1, f"there is one: {self.custom_jobs()}")
            if trains:
                until(lambda: look(system_world(), job).head.attempt == 1, "it trains")
            assert len(self.living()) == 1
            self.verb("stop")(system_world())
        until(lambda: not self.living(), "none is left")
        assert look(system_world(), job).state == "stopped"
        assert not self.living(), "to look starts nothing"
        assert len(job.folder.read_head().head.attempts) <= 1


@pytest.fixture
def laptop(emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laptop]:
    yield Laptop(emulator, *laptops.new_home(emulator, tmp_path, monkeypatch, "import time\ntime.sleep(300)\n"))
    emulator.clear_faults()


def killed_at_write(verb: Callable[[World], object], point: int | None) -> int:
    """In a process of its own: how many there are, or -1: it was killed at that one."""
    hook = Counting(point)

    def mortal(what: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*words: Any, **more: Any) -> Any:
            hook(name, "")
            answer = what(*words, **more)
            hook(name, "")
            return answer

        return call

    def counted() -> None:
        for kind, name in ((VertexClient, "create"), (VertexClient, "cancel"), (Claims, "take"), (Claims, "stop")):
            setattr(kind, name, mortal(getattr(kind, name), name))
        verb(system_world())

    return forked(counted, hook)


def test_the_writes_are_counted(laptop: Laptop) -> None:
    """Of a stop it depends on how far the job has got; there are those four at least."""
    assert killed_at_write(laptop.verb("run"), None) == POINTS["run"]
    laptop.check("run", trains=False)


@pytest.mark.parametrize(("name", "point"), each(POINTS))
def test_a_command_killed_at_any_write_can_be_given_again(name: str, point: int, laptop: Laptop) -> None:
    laptop.prepare(name)
    assert killed_at_write(laptop.verb(name), point) == -1
    laptop.verb(name)(system_world())
    laptop.check(name)


@pytest.mark.parametrize("kind", ["lost", "error_after", "error"])
def test_a_lost_answer_makes_one_custom_job(kind: str, laptop: Laptop) -> None:
    """Create has no request id: whoever does not hear looks for what it may have made."""
    fault = laptop.emulator.fault("aiplatform.projects.locations.customJobs.create", kind)
    laptop.verb("run")(system_world())
    assert laptop.emulator.used_up(fault)
    laptop.check("run", trains=False)
    assert len(laptop.custom_jobs()) == 1


def test_too_many_submissions_are_waited_for(laptop: Laptop) -> None:
    fault = laptop.emulator.fault("aiplatform.projects.locations.customJobs.create", "error", status=429, times=2)
    laptop.verb("run")(system_world())
    assert laptop.emulator.used_up(fault)
    laptop.check("run", trains=False)
