"""Where machines wait in a row, the processes of one that has left become the next one's; and nobody can tell."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlast.agent.init import begin
from outlast.dataclass import replace
from outlast.engines.engine import Launch
from outlast.engines.local.engine import LocalEngine
from outlast.engines.local.machines import LINGER_SECONDS, Machine, Machines
from outlast.engines.local.moving import move
from outlast.host import files
from outlast.host.machine_dir import ENTERED, Assignment, MachineDir
from outlast.host.process import Process
from outlast.host.series import pair
from outlast.testing.engine_place import Place, alive, ended, running, until
from tests.engines.local_parts import dying_place, local_dir, machine_of, supervisor

COUNT = 6


@pytest.fixture
def narrow(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Room for one machine."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    return place


def queue(place: Place, do: str, count: int = COUNT) -> tuple[LocalEngine, Launch, list[Launch]]:
    """A first one that holds all the others up until it is let go."""
    engine = place.engine()
    assert isinstance(engine, LocalEngine)
    first = place.launch("wait")
    engine.start(first)
    until(lambda: running(engine, first), "the first one runs")
    rest = [place.launch(do) for _ in range(count)]
    for launch in rest:
        engine.start(launch)
    return engine, first, rest


def agents(place: Place, launches: list[Launch]) -> list[int]:
    return [pid for launch in launches for _, pid in place.events(launch, "boot")]


def test_launches_that_wait_in_a_row_share_their_processes(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "finish")
    narrow.let_go(first)
    until(lambda: all(ended(engine, launch) for launch in rest), "all are over")
    assert len(set(agents(narrow, [first, *rest]))) == 1
    assert all(len(narrow.events(launch, "boot")) == 1 for launch in rest)


def test_a_launch_that_nobody_waits_behind_takes_its_processes_with_it(narrow: Place) -> None:
    engine, first, _ = queue(narrow, "finish", 0)
    narrow.let_go(first)
    until(lambda: ended(engine, first), "it is over")
    until(lambda: not alive(agents(narrow, [first])[0]), "its agent is gone")


def test_what_an_agent_started_for_one_machine_does_not_outlive_it(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "stray", 2)
    narrow.let_go(first)
    until(lambda: narrow.events(rest[0], "stray"), "it started another process")
    narrow.let_go(rest[0])
    until(lambda: narrow.events(rest[1], "boot"), "the next one has begun")
    assert not alive(narrow.events(rest[0], "stray")[0][1])
    narrow.let_go(rest[1])
    until(lambda: all(ended(engine, launch) for launch in rest), "all are over")


@pytest.mark.parametrize("who", ["init", "agent", "supervisor"])
def test_whoever_is_killed_in_the_middle_of_a_row_ends_nothing_but_a_machine(narrow: Place, who: str) -> None:
    engine, first, rest = queue(narrow, "wait", 3)
    narrow.let_go(first)
    until(lambda: running(engine, rest[0]), "the second one runs, in the first one's processes")
    assert len(set(agents(narrow, [first, rest[0]]))) == 1
    init = machine_of(narrow, rest[0]).init_process()
    assert init is not None
    victim = {"init": init.pid, "agent": agents(narrow, [rest[0]])[-1], "supervisor": supervisor(narrow).pid}[who]
    os.kill(victim, signal.SIGKILL)
    for launch in rest:
        narrow.let_go(launch)
    until(lambda: all(ended(engine, launch) for launch in rest), "all are over")
    assert [len(narrow.events(launch, "done")) for launch in rest] == [1, 1, 1]


def test_taking_away_a_machine_that_has_left_does_not_touch_the_next_one(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "wait", 1)
    left = machine_of(narrow, first)
    kept = Path(left.init).read_bytes()
    narrow.let_go(first)
    until(lambda: running(engine, rest[0]), "the next one runs")
    # As whoever looked at the directory before it was removed would find it.
    Path(left.path).mkdir(parents=True, exist_ok=True)
    Path(left.init).write_bytes(kept)
    Path(left.left).write_text('{"done":true}')
    assert not engine.preempt(first, notice_seconds=0)
    engine.stop(first)
    assert running(engine, rest[0])
    narrow.let_go(rest[0])
    until(lambda: ended(engine, rest[0]), "it is over")
    assert len(narrow.events(rest[0], "boot")) == 1


def test_a_row_of_machines_leaves_no_descriptor_open(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "wait", 4)
    pid = agents(narrow, [first])[0]
    counts = []
    for done, following in zip([first, *rest], [*rest, None], strict=True):
        counts.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
        narrow.let_go(done)
        if following is not None:
            until(partial(running, engine, following), "the next one runs")
    until(lambda: all(ended(engine, launch) for launch in rest), "all are over")
    assert len(set(counts)) == 1


def test_who_comes_soon_after_finds_the_processes_free_and_who_has_been_free_for_long_goes() -> None:
    leader, follower = pair()
    machines = Machines(lambda directory, follower: 0)
    left = MachineDir("left")
    told = Assignment("home", "job", 1, "id", 0, 1, 1, 0.0, 1, ())
    machines.keep(Machine(left, told, Process(1, "", ""), 0.0, child=True, leader=leader), 10.0)
    assert machines.dismiss(10.0) == LINGER_SECONDS
    following = machines.start(MachineDir("next"), told, 10.0 + LINGER_SECONDS / 2)
    assert (following.process.pid, following.series, os.read(follower.listen, 100)) == (1, 2, b"next\n")
    assert machines.dismiss(100.0) is None, "nobody is free"
    machines.keep(following, 20.0)
    assert machines.dismiss(20.0 + LINGER_SECONDS) is None
    assert os.read(follower.listen, 100) == b"", "it is told to go"
    follower.close()


def test_a_row_of_machines_has_one_directory_which_is_removed_when_nobody_waits_any_more(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "wait", 2)
    machines = local_dir(narrow).machines
    seen = os.stat(machine_of(narrow, first).path).st_ino
    for done, following in zip([first, *rest], rest, strict=False):
        narrow.let_go(done)
        until(partial(running, engine, following), "the next one runs")
        assert ended(engine, done)
        assert os.listdir(machines) == [following.id], "nothing is left of the one before"
        assert os.stat(machine_of(narrow, following).path).st_ino == seen
    narrow.let_go(rest[1])
    until(lambda: ended(engine, rest[1]), "it is over")
    until(lambda: not os.listdir(machines), "nothing is left")


@pytest.mark.parametrize("size", [100, 2 * files.SMALL_BYTES_MAX])
def test_what_a_machine_leaves_goes_whether_it_is_large_or_little(narrow: Place, size: int) -> None:
    engine, first, rest = queue(narrow, "wait", 2)
    gone = machine_of(narrow, first)
    Path(gone.work).mkdir(exist_ok=True)
    Path(gone.work, "model").write_bytes(bytes(size))
    narrow.let_go(first)
    until(lambda: running(engine, rest[0]), "the second one runs, and a third one waits")
    assert not Path(gone.path).exists()
    for launch in rest:
        until(partial(running, engine, launch), "its turn")
        narrow.let_go(launch)
    until(lambda: not os.listdir(local_dir(narrow).machines), "nothing is left")


def test_much_is_many_files_or_large_ones_and_what_is_not_there_is_little(tmp_path: Path) -> None:
    some = tmp_path / "some"
    (some / "below").mkdir(parents=True)
    (some / "below" / "link").symlink_to("/")
    assert files.is_small([some, tmp_path / "none", some / "below" / "link"])
    for number in range(files.SMALL_ENTRIES_MAX):
        (some / "below" / str(number)).touch()
    assert not files.is_small([some])
    large = tmp_path / "large"
    large.mkdir()
    (large / "one").write_bytes(bytes(files.SMALL_BYTES_MAX + 1))
    assert not files.is_small([large])


def told(launch_id: str, **changes: Any) -> Assignment:
    return replace(Assignment("home", "job", 1, launch_id, 0, 1, 1, 0.0), **changes)


@pytest.fixture
def left(tmp_path: Path) -> MachineDir:
    """The directory of a machine that has left."""
    directory = MachineDir(tmp_path / "machines" / "before" / "0-1")
    os.makedirs(directory.work)
    directory.write_assignment(told("before"))
    for path in (directory.init, directory.agent, directory.up, directory.exit(1), directory.trainer_process(1)):
        Path(path).write_bytes(Process.me().encode())
    for path in (directory.note, directory.notice, directory.losses, directory.trainer, directory.trainer_secrets):
        Path(path).write_text("{}")
    Path(directory.path, "cell.json").write_text("{}")
    Path(directory.path, "a trainer's own").mkdir()
    Path(directory.left).write_text('{"done":true}')
    Path(directory.log).touch()
    os.mkfifo(directory.orders)
    return directory


def test_a_directory_that_becomes_the_next_ones_has_nothing_that_a_machine_was_told_or_did(left: MachineDir) -> None:
    after = MachineDir(left.path.replace("before", "after"))
    assert move(left, after, told("after"))
    assert sorted(os.listdir(after.path)) == [
        "agent.json",
        "init.json",
        "machine.json",
        "machine.log",
        "orders",
        "work",
    ]
    assert after.read_assignment() == told("after")
    assert after.init_process() == Process.me()
    assert os.listdir(Path(left.path).parents[1]) == ["after"]
    assert begin(after), "its init is who it was before"
    Path(after.init).write_bytes(Process(1, "", "").encode())
    assert not begin(after), "somebody else has begun it, or given it up"


def test_what_processes_have_said_is_not_the_next_machines(left: MachineDir) -> None:
    Path(left.log).write_text("init: the agent ended with 1\n")
    after = MachineDir(left.path.replace("before", "after"))
    assert not move(left, after, told("after"))
    assert not os.listdir(Path(left.path).parents[1]), "another one is made"


def test_a_directory_in_which_somebody_may_stand_is_not_the_next_machines(left: MachineDir) -> None:
    Path(left.path, ENTERED).mkdir()
    assert not move(left, MachineDir(left.path.replace("before", "after")), told("after"))


def test_a_directory_that_is_gone_is_made(left: MachineDir, tmp_path: Path) -> None:
    files.remove_tree(tmp_path / "machines" / "before")
    assert not move(left, MachineDir(tmp_path / "machines" / "after" / "0-1"), told("after"))
    assert not os.listdir(tmp_path / "machines")


@pytest.mark.parametrize("before", [told("before", workers=2), told("before", boot=2)])
def test_a_directory_that_a_launch_may_still_need_stays(left: MachineDir, before: Assignment) -> None:
    machines = Machines(lambda directory, follower: 0)
    leader, follower = pair()
    machines.keep(Machine(left, before, Process(1, "", ""), 0.0, child=True, leader=leader), 10.0)
    after = MachineDir(left.path.replace("before", "after"))
    assert machines.prepare(after, told("after")) is None
    assert os.path.exists(left.left)
    assert os.listdir(after.path) == ["machine.json"]
    follower.close()
    leader.close()


def test_a_directory_whose_processes_are_gone_names_nobody(left: MachineDir, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines(lambda directory, follower: 0)
    leader, follower = pair()
    machines.keep(Machine(left, told("before"), Process(1, "", ""), 0.0, child=True, leader=leader), 10.0)
    after = MachineDir(left.path.replace("before", "after"))
    assert machines.prepare(after, told("after")) == left
    follower.close()
    monkeypatch.setattr(os, "fork", lambda: 4321)
    assert machines.start(after, told("after"), 10.0).process.pid == 4321
    assert not os.path.exists(after.init) and not os.path.exists(after.agent)


@pytest.mark.parametrize("moment", ["cleared", "told", "handed over"])
def test_a_supervisor_that_dies_before_a_moved_directory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It is between two names, or has its new one and nobody was told: the next supervisor ends its processes and makes another one."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    with dying_place(tmp_path, moment) as place:
        engine, first, rest = queue(place, "finish", 2)
        before = supervisor(place).pid
        place.let_go(first)
        until(lambda: all(ended(engine, launch) for launch in rest), "all are over")
        assert supervisor(place).pid != before
        assert [len(place.events(launch, "boot")) for launch in rest] == [1, 1]
        until(lambda: not os.listdir(local_dir(place).machines), "nothing is left")
