"""The laptop dies at any write of run, stop, resume, sync on rented machines: nothing leaks, and the same command works again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from outlast.bundle.unpack import unpack
from outlast.google.compute import ComputeClient
from outlast.jobs import sync
from outlast.jobs.audit import audit
from outlast.jobs.find import find
from outlast.jobs.look import look
from outlast.jobs.sync import Syncing
from outlast.jobs.world import World, system_world
from outlast.testing.crash import Counting, forked, killed_at
from outlast_emulator.testing import Running, running
from tests.compute import laptop as laptops
from tests.compute.laptop import each
from tests.compute.place import TIME_SCALE
from tests.compute.renter import RUNNER
from tests.waiting import until

KILL_POINTS = {"run": 16, "stop": 10, "resume": 11}
"""Of the home and the engine: more or fewer means that a command writes something else than before, and its order must be argued anew."""

SYNC_POINTS = 8
REQUEST_POINTS = {"run": 4, "stop": 6, "resume": 4}
"""Before and after each request that changes something at Compute Engine."""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Its machines are records: nobody but the laptop works on the job."""
    with running(tmp_path_factory.mktemp("google"), time_scale=TIME_SCALE, process=True) as found:
        found.switch(machines=False, write_limit=False)
        found.call("POST", "/_emulator/iam/service-accounts", {"email": RUNNER, "roles": ["roles/owner"]})
        yield found


@dataclass
class Laptop(laptops.Laptop):
    def groups(self) -> list[str]:
        path = "/compute/v1/projects/emulated/regions/us-central1/instanceGroupManagers"
        return [one["name"] for one in self.emulator.call("GET", path).json().get("items", [])]

    def rented(self) -> list[str]:
        alive = self.emulator.call("GET", "/_emulator/ledger").json()["alive"]
        return [one["name"] for one in alive if one["kind"].startswith("compute.")]

    def check(self, name: str) -> None:
        """One launch's machine and nothing else; and after a stop nothing."""
        job = find(system_world(), self.bucket)
        if name != "stop":
            until(self.rented, "its machine is rented")
            assert self.groups() == [f"outlast-{job.folder.read_head().head.launch_id}"]
            until(lambda: look(system_world(), job).state == "starting", "it starts")
            self.verb("stop")(system_world())
        until(lambda: not self.rented(), "nothing is rented any more")
        assert self.groups() == []
        assert look(system_world(), job).state == "stopped"
        assert not self.groups(), "to look starts nothing"
        assert not audit(system_world(), "", None, fix=False).leaks


@pytest.fixture
def laptop(emulator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    return Laptop(emulator, *laptops.new_home(emulator, tmp_path, monkeypatch, "print(1)\n"))


def killed_at_request(verb: Callable[[World], object], point: int | None) -> int:
    """As `killed_at`, before and after each request that changes something at Compute Engine."""
    hook = Counting(point)
    call = ComputeClient._call

    def mortal(self: ComputeClient, verb: str, url: str, *words: Any, **more: Any) -> Any:
        if verb == "GET" or url.partition("?")[0].endswith(("/wait", "/listManagedInstances")):
            return call(self, verb, url, *words, **more)
        hook(verb, "")
        answer = call(self, verb, url, *words, **more)
        hook(verb, "")
        return answer

    def counted(world: World) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ComputeClient, "_call", mortal)
            verb(world)

    return forked(lambda: counted(system_world()), hook)


@pytest.mark.parametrize("name", KILL_POINTS)
def test_the_kill_points_are_counted(name: str, laptop: Laptop) -> None:
    laptop.prepare(name)
    assert killed_at(system_world(), laptop.verb(name), None) == KILL_POINTS[name]
    laptop.check(name)


@pytest.mark.parametrize("name", REQUEST_POINTS)
def test_the_requests_are_counted(name: str, laptop: Laptop) -> None:
    laptop.prepare(name)
    assert killed_at_request(laptop.verb(name), None) == REQUEST_POINTS[name]
    laptop.check(name)


@pytest.mark.parametrize(("name", "point"), each(KILL_POINTS))
def test_a_command_killed_at_any_write_can_be_given_again(name: str, point: int, laptop: Laptop) -> None:
    laptop.prepare(name)
    assert killed_at(system_world(), laptop.verb(name), point) == -1
    laptop.verb(name)(system_world())
    laptop.check(name)


@pytest.mark.parametrize(("name", "point"), each(REQUEST_POINTS))
def test_a_command_killed_at_any_request_can_be_given_again(name: str, point: int, laptop: Laptop) -> None:
    laptop.prepare(name)
    assert killed_at_request(laptop.verb(name), point) == -1
    laptop.verb(name)(system_world())
    laptop.check(name)


def test_a_sync_killed_at_any_write_can_be_given_again(
    laptop: Laptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the newest wish names is whole, for nobody else looks at it before a trainer runs it. Point 1 is the code that was
    submitted: it is wished for again, since another wish has come between."""
    monkeypatch.setattr(sync, "HEAR_SECONDS_MAX", 0.0)  # its machines are records: nobody answers
    laptop.verb("run")(system_world())
    folder = find(system_world(), laptop.bucket).folder

    def carry(world: World) -> None:
        Syncing(world, find(world, laptop.bucket), laptop.directory, restart=True).once()

    def wished() -> str:
        launch = folder.existing_head().head.launch
        edit = folder.wished(launch).edit
        to = tmp_path / "unpacked" / edit
        if not to.exists():
            unpack(folder.store, folder.read_edit(launch, edit).bundle, to)
        return (to / "train.py").read_text()

    script = laptop.directory / "train.py"
    script.write_text("print('counted')\n")
    assert killed_at(system_world(), carry, None) == SYNC_POINTS
    for point in range(SYNC_POINTS):
        before = script.read_text()
        script.write_text(f"print({point})\n")
        assert killed_at(system_world(), carry, point) == -1
        assert wished() in (before, script.read_text()), point
        carry(system_world())
        assert wished() == script.read_text(), point
    laptop.check("run")
