"""Where machines wait in a row, the processes of one that has left become the next one's; and nobody can tell."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from outlast.agent.init import begin
from outlast.engines.engine import Launch
from outlast.engines.local.engine import LocalEngine
from outlast.engines.local.machines import LINGER_SECONDS, Machine, Machines
from outlast.host import files
from outlast.host.machine_dir import Assignment, MachineDir
from outlast.host.process import Process
from outlast.host.series import pair
from outlast.testing.engine_place import Place, alive, ended, running, until
from tests.engines.local_parts import machine_of, supervisor

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


def test_directories_of_a_row_of_machines_are_removed_when_nobody_waits_any_more(narrow: Place) -> None:
    engine, first, rest = queue(narrow, "wait", 2)
    gone = machine_of(narrow, first)
    narrow.let_go(first)
    until(lambda: running(engine, rest[0]), "the second one runs")
    assert ended(engine, first) and gone.left_done(), "one waits: the first one's last files are not urgent"
    narrow.let_go(rest[0])
    until(lambda: running(engine, rest[1]), "the last one runs")
    until(lambda: os.listdir(Path(gone.path).parent.parent) == [rest[1].id], "nobody waits, and nothing but it is left")
    narrow.let_go(rest[1])
    until(lambda: ended(engine, rest[1]), "it is over")
    until(lambda: not os.listdir(Path(gone.path).parent.parent), "nothing is left")


@pytest.mark.parametrize("size", [100, 2 * files.SMALL_BYTES_MAX])
def test_what_a_machine_leaves_is_removed_at_once_if_it_is_large_and_later_if_it_is_not(
    narrow: Place, size: int
) -> None:
    engine, first, rest = queue(narrow, "wait", 2)
    gone = machine_of(narrow, first)
    Path(gone.work).mkdir(exist_ok=True)
    (Path(gone.work) / "model").write_bytes(bytes(size))
    narrow.let_go(first)
    until(lambda: running(engine, rest[0]), "the second one runs, and a third one waits")
    assert (Path(gone.work) / "model").exists() is (size == 100)
    for launch in rest:
        until(partial(running, engine, launch), "its turn")
        narrow.let_go(launch)
    until(lambda: not os.listdir(Path(gone.path).parent.parent), "nothing is left")


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


def test_a_machine_takes_over_what_is_the_same_and_nothing_that_was_said_or_can_be_used_up(tmp_path: Path) -> None:
    before, after = MachineDir(tmp_path / "0-1"), MachineDir(tmp_path / "0-2")
    for paths in (before, after):
        Path(paths.path).mkdir()
    Path(before.init).write_bytes(Process.me().encode())
    Path(before.log).write_text("init: the agent ended with 1\n")
    Path(before.reserve).write_bytes(b"space")
    os.mkfifo(before.orders)
    assert begin(after, before)
    assert after.init_process() == Process.me()
    assert Path(after.orders).is_fifo()
    assert not Path(after.log).exists()
    # Under one name alone: removing it gives the space back.
    assert Path(after.reserve).stat().st_nlink == 1
    assert not begin(after, before), "somebody has begun it, or given it up"
