"""The local engine's own promises: its parts may be killed at any moment, and its state does not grow."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from outlast.clock import SYSTEM
from outlast.engines.engine import Condition, Launch
from outlast.engines.local.engine import LocalEngine
from outlast.engines.local.layout import LocalDir
from outlast.errors import NoCapacity, OutlastError, UsageError
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.testing.engine_contract import PROGRAM, Place, alive, ended, running, until
from tests.engines.conftest import supervisor_of


def local_dir(place: Place) -> LocalDir:
    return LocalDir(place.scratch / "user" / "local")


def supervisor(place: Place) -> Process:
    until(lambda: supervisor_of(place.scratch / "user"), "a supervisor is there")
    process = supervisor_of(place.scratch / "user")
    assert process is not None
    return process


def machine_of(place: Place, launch: Launch) -> MachineDir:
    return local_dir(place).newest_machines(launch.id)[0]


def start_running(place: Place, do: str = "wait") -> tuple[LocalEngine, Launch]:
    engine, launch = place.engine(), place.launch(do)
    assert isinstance(engine, LocalEngine)
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs")
    return engine, launch


# Parts that are killed.


def test_machines_go_on_without_their_supervisor_and_the_next_one_takes_them_up(place: Place) -> None:
    engine, launch = start_running(place)
    before = supervisor(place)
    before.send(signal.SIGKILL)
    until(lambda: not before.alive(), "the supervisor is dead")
    assert running(engine, launch), "and the machine is not"
    after = supervisor(place)
    assert after.pid != before.pid, "asking for the state has started another one"
    assert len(place.events(launch, "boot")) == 1
    engine.preempt(launch, notice_seconds=0)
    until(lambda: len(place.events(launch, "boot")) == 2, "it replaces the machine that it found")
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")


def test_a_machine_that_ended_while_there_was_no_supervisor_is_replaced(place: Place) -> None:
    engine, launch = start_running(place)
    before = supervisor(place)
    before.send(signal.SIGKILL)
    until(lambda: not before.alive(), "the supervisor is dead")
    init = machine_of(place, launch).init_process()
    assert init is not None and init.send(signal.SIGKILL)
    until(lambda: not init.alive(), "the machine is dead")
    until(lambda: running(engine, launch), "the next command has it replaced")
    assert len(place.events(launch, "boot")) == 2
    engine.stop(launch)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_killed_at_random_moments_all_launches_end(place: Place, seed: int) -> None:
    """Supervisors, inits and agents, one after another, while twelve launches wait for a word."""
    random = Random(seed)
    engine = place.engine()
    launches = [place.launch("wait") for _ in range(12)]
    for launch in launches:
        engine.start(launch)
    paths = local_dir(place)
    for _ in range(12):
        SYSTEM.sleep(random.uniform(0.0, 0.05))  # a random moment, not a synchronisation
        kind = random.choice(["supervisor", "init", "agent"])
        machines = [one for launch in launches for one in paths.newest_machines(launch.id).values()]
        if kind == "supervisor":
            victim = supervisor_of(place.scratch / "user")
        else:
            documents = [files.read_json(one.init if kind == "init" else one.agent) for one in machines]
            victim = Process.read(random.choice(documents)) if documents else None
        if victim is not None:
            victim.send(signal.SIGKILL)
        engine.state(random.choice(launches))
        for launch in launches:
            there = {machine for machine, pid in place.events(launch, "boot") if alive(pid)}
            assert len(there) <= 1, "two machines of one rank"
    for launch in launches:
        place.let_go(launch)
    until(lambda: all(ended(engine, launch) for launch in launches), "all ended")
    assert all(engine.state(launch).condition is Condition.ABSENT for launch in launches)
    assert all(place.events(launch, "done") for launch in launches)


def test_a_supervisor_that_is_killed_while_it_starts_a_machine_starts_it_once(place: Place) -> None:
    """At random moments of the first milliseconds; a machine that was given up never begins."""
    random = Random(3)
    engine = place.engine()
    for _ in range(10):
        launch = place.launch("wait")
        engine.start(launch)
        SYSTEM.sleep(random.uniform(0.0, 0.01))  # a random moment, not a synchronisation
        process = supervisor_of(place.scratch / "user")
        if process is not None:
            process.send(signal.SIGKILL)
        until(lambda launch=launch: running(engine, launch), "it runs")  # type: ignore[misc]
        living = [pid for _, pid in place.events(launch, "boot") if alive(pid)]
        assert len(living) == 1
        engine.stop(launch)


def test_a_killed_agent_is_started_again_on_the_same_machine(place: Place) -> None:
    engine, launch = start_running(place)
    until(machine_of(place, launch).agent.exists, "init has written down who it is")
    agent = Process.read(files.read_json(machine_of(place, launch).agent))
    assert agent is not None and agent.send(signal.SIGKILL)
    until(lambda: len(place.events(launch, "boot")) == 2, "another agent came")
    (first, one), (second, other) = place.events(launch, "boot")
    assert first == second and one != other
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")


def test_a_killed_init_takes_its_agent_along(place: Place) -> None:
    engine, launch = start_running(place)
    ((_, agent),) = place.events(launch, "boot")
    init = machine_of(place, launch).init_process()
    assert init is not None and init.send(signal.SIGKILL)
    until(lambda: not alive(agent), "the agent is gone")
    until(lambda: len(place.events(launch, "boot")) == 2, "another machine came")
    engine.stop(launch)


def test_after_a_reboot_the_next_command_goes_on(place: Place) -> None:
    """Everything is dead, and a stranger has the machine's process number."""
    engine, launch = start_running(place)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    directory = machine_of(place, launch)
    init = directory.init_process()
    assert init is not None and init.send(signal.SIGKILL)
    until(lambda: not init.alive() and not process.alive(), "all is dead")
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        there = Process.of(stranger.pid)
        assert there is not None
        directory.init.write_text(json.dumps({**there.document(), "boot": "of another boot"}))
        until(lambda: running(engine, launch), "it runs again")
        assert len(place.events(launch, "boot")) == 2
        engine.stop(launch)
        assert stranger.poll() is None, "the stranger was left alone"
    finally:
        stranger.communicate(b"\n")


def test_a_stranger_with_a_dead_machines_number_is_never_killed(place: Place) -> None:
    engine, launch = start_running(place)
    directory = machine_of(place, launch)
    init = directory.init_process()
    assert init is not None
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        directory.init.write_text(json.dumps({**init.document(), "pid": stranger.pid}))
        assert engine.state(launch).condition is Condition.STARTING, "who that is, is no machine"
        assert not engine.preempt(launch, notice_seconds=0)
        engine.stop(launch)
        assert stranger.poll() is None
    finally:
        stranger.communicate(b"\n")


@pytest.mark.parametrize("torn", ["machine.json", "init.json", "left.json"])
def test_a_machines_directory_that_a_power_cut_tore_is_a_dead_machine(place: Place, torn: str) -> None:
    engine, launch = start_running(place)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    directory = machine_of(place, launch)
    init = directory.init_process()
    assert init is not None and init.send(signal.SIGKILL)
    until(lambda: not init.alive() and not process.alive(), "all is dead")
    (directory.path / torn).write_bytes(b"")
    until(lambda: running(engine, launch), "it runs again")
    engine.stop(launch)


def test_a_launch_that_a_power_cut_tore_is_reported(place: Place) -> None:
    engine, launch = start_running(place)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    local_dir(place).order(launch.id).write_bytes(b'{"form')
    until(lambda: ended(engine, launch), "it was given up")
    assert engine.state(launch).condition is Condition.BOOT_FAILED
    until(lambda: not any(alive(pid) for _, pid in place.events(launch, "boot")), "and nothing of it runs")


# Stop, without help.


def test_stop_works_while_the_supervisor_hangs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.engines.local.engine.STOP_SECONDS", 0.2)
    engine, launch = start_running(place, "stray")
    until(lambda: place.events(launch, "stray"), "it started another process")
    pids = [pid for what in ("boot", "stray") for _, pid in place.events(launch, what)]
    process = supervisor(place)
    process.send(signal.SIGSTOP)
    try:
        engine.stop(launch)
        assert not any(alive(pid) for pid in pids)
        assert engine.state(launch).condition is Condition.ABSENT
        engine.start(launch)
        assert engine.state(launch).condition is Condition.ABSENT
    finally:
        process.send(signal.SIGCONT)
    until(lambda: not local_dir(place).order(launch.id).exists(), "the supervisor tidies up")
    assert len(place.events(launch, "boot")) == 1


def test_stop_works_when_no_supervisor_can_be_started(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.engines.local.engine.STOP_SECONDS", 0.2)
    _, launch = start_running(place)
    ((_, pid),) = place.events(launch, "boot")
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    broken = LocalEngine(place.scratch / "user", SYSTEM, boot=PROGRAM, supervise="outlast.no_such_module")
    broken.stop(launch)
    assert not alive(pid)
    assert broken.state(launch).condition is Condition.ABSENT


# Limits.


def test_a_machine_past_its_deadline_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = place.engine()
    launch = place.launch("wait", seconds=-301.0)  # the margin has just passed
    engine.start(launch)
    until(lambda: ended(engine, launch), "it was ended")
    assert "deadline" in engine.state(launch).why
    assert not any(alive(pid) for _, pid in place.events(launch, "boot"))


def test_a_launch_whose_deadline_passes_while_it_waits_never_begins(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    engine, first = start_running(place)
    late = place.launch("wait", seconds=-300.0 + 0.5)
    engine.start(late)
    until(lambda: ended(engine, late), "it was given up")
    assert place.events(late, "boot") == []
    engine.stop(first)


def test_slots_are_given_in_the_order_of_coming(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that needs all is not overtaken by those that need little."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "2")
    engine, small = start_running(place)
    large = place.launch("wait", cpus=2)
    after = place.launch("finish")
    engine.start(large)
    engine.start(after)
    until(lambda: engine.state(after).condition is Condition.WAITING, "it waits")
    until(lambda: "2 CPUs: 1 of 2" in engine.state(large).why, "and it is said for what")
    assert not place.events(large, "boot") and not place.events(after, "boot")
    place.let_go(small)
    until(lambda: running(engine, large), "the large one has its turn")
    assert not place.events(after, "boot")
    place.let_go(large)
    until(lambda: ended(engine, after), "then the small one")


def test_each_launch_sees_gpus_of_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_LOCAL_GPUS", "0,2,5")
    from dataclasses import replace

    engine = place.engine()
    launches = []
    for gpus in (2, 1, 0):
        launch = place.launch("wait")
        launch = replace(launch, machine=replace(launch.machine, gpus=gpus))
        engine.start(launch)
        launches.append(launch)
    waits = replace(place.launch("wait"), machine=launches[1].machine)
    engine.start(waits)
    until(lambda: all(running(engine, launch) for launch in launches), "three run")
    given = [machine_of(place, launch).read_assignment().gpus for launch in launches]
    assert given == [("0", "2"), ("5",), ()]
    assert not running(engine, waits)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    engine.stop(launches[1])
    until(lambda: running(engine, waits), "what was freed is given to the next, by the next supervisor")
    assert machine_of(place, waits).read_assignment().gpus == ("5",)
    for launch in (*launches, waits):
        engine.stop(launch)


def test_more_gpus_than_there_are_is_refused_by_name(place: Place) -> None:
    from dataclasses import replace

    launch = place.launch("wait")
    launch = replace(launch, machine=replace(launch.machine, gpus=2))
    with pytest.raises(NoCapacity, match="2 GPUs asked for, this machine has none"):
        place.engine().start(launch)


@pytest.mark.parametrize("launch_id", ["", "../x", "a/b", "a b", "ä", ".", "x" * 101, "a\n"])
def test_an_id_that_is_no_file_name_is_refused(place: Place, launch_id: str) -> None:
    from dataclasses import replace

    launch = replace(place.launch("finish"), id=launch_id)
    for call in (place.engine().start, place.engine().state, place.engine().stop):
        with pytest.raises(UsageError):
            call(launch)


# What is left.


def test_finished_launches_leave_only_an_empty_file(place: Place) -> None:
    engine = place.engine()
    launches = [place.launch("finish") for _ in range(5)]
    for launch in launches:
        engine.start(launch)
    until(lambda: all(ended(engine, launch) for launch in launches), "all ended")
    paths = local_dir(place)
    until(lambda: not any(os.listdir(path) for path in (paths.incoming, paths.launches, paths.machines)), "all is gone")
    assert sorted(os.listdir(paths.ended)) == sorted(launch.id for launch in launches)
    assert all((paths.ended / launch.id).stat().st_size == 0 for launch in launches)


def test_what_ended_long_ago_is_forgotten(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.2")
    engine, launch = place.engine(), place.launch("finish")
    engine.start(launch)
    until(lambda: ended(engine, launch), "it ended")
    until(lambda: supervisor_of(place.scratch / "user") is None, "the supervisor went")
    paths = local_dir(place)
    os.utime(paths.ended / launch.id, (0, 0))
    other = place.launch("finish")
    engine.start(other)
    until(lambda: ended(engine, other), "it ended")
    until(lambda: os.listdir(paths.ended) == [other.id], "only the newer one is remembered")
    until(lambda: supervisor_of(place.scratch / "user") is None, "the supervisor went")


def test_an_idle_supervisor_ends_and_the_next_launch_starts_another(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.05")
    engine = place.engine()
    for _ in range(10):
        launch = place.launch("finish")
        engine.start(launch)
        until(lambda launch=launch: ended(engine, launch), "it ended")  # type: ignore[misc]
        SYSTEM.sleep(0.05)  # the moment at which it goes, more or less
    until(lambda: supervisor_of(place.scratch / "user") is None, "the last one went")


def test_all_state_is_private(place: Place) -> None:
    engine, launch = start_running(place)
    found = [Path(root) / name for root, dirs, names in os.walk(local_dir(place).path) for name in (*dirs, *names)]
    assert len(found) > 10
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found}
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}
    engine.stop(launch)


def test_only_what_is_listed_of_the_shells_environment_reaches_a_machine(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not leak")
    monkeypatch.setenv("LC_TIME", "C")
    engine, launch = start_running(place)
    environ = machine_of(place, launch).read_assignment().environ
    assert environ["LC_TIME"] == "C" and "PATH" in environ
    assert "SECRET_TOKEN" not in environ and not any(name.startswith("OUTLAST_") for name in environ)
    assert b"SECRET_TOKEN" not in Path(f"/proc/{supervisor(place).pid}/environ").read_bytes()
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    other = place.launch("wait")
    engine.start(other)
    until(lambda: running(engine, other), "it runs")
    assert machine_of(place, other).read_assignment().environ["LC_TIME"] == "C.UTF-8", "of the shell that started it"
    engine.stop(launch)
    engine.stop(other)


def test_the_supervisor_survives_the_terminal_of_the_shell_that_started_it(place: Place) -> None:
    engine, launch = start_running(place)
    process = supervisor(place)
    assert os.getsid(process.pid) != os.getsid(0)
    process.send(signal.SIGHUP)
    place.let_go(launch)
    until(lambda: ended(engine, launch), "it ended")
    assert process.alive()


def test_a_supervisor_of_another_version_hands_its_machines_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, launch = start_running(place)
    before = supervisor(place)
    path = local_dir(place).supervisor
    files.put_json(path, {**files.read_json(path), "version": "0.0.older"})
    other = place.launch("wait")
    engine.start(other)
    until(lambda: running(engine, other) and running(engine, launch), "both run")
    assert supervisor(place).pid != before.pid and not before.alive()
    assert len(place.events(launch, "boot")) == 1, "and its machine never noticed"
    engine.stop(launch)
    engine.stop(other)


def test_a_directory_that_cannot_be_written_is_told_as_such(place: Place) -> None:
    (place.scratch / "user").mkdir()
    (place.scratch / "user" / "local").write_text("in the way")
    launch = place.launch("finish")
    for call in (place.engine().start, place.engine().stop):
        with pytest.raises(OutlastError, match=r"user/local` cannot be written") as caught:
            call(launch)
        assert "OUTLAST_DIR" in caught.value.hint


def test_thousands_may_wait_and_the_state_of_each_is_found_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking does not read the others: the number of system calls is the same."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    engine, first = start_running(place)
    launches = [place.launch("wait") for _ in range(2000)]
    for launch in launches:
        engine.start(launch)
    until(lambda: not os.listdir(local_dir(place).incoming), "all are queued")
    listed: list[object] = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path=".": listed.append(path) or listdir(path))  # type: ignore[func-returns-value]
    assert all(engine.state(launch).condition is Condition.WAITING for launch in launches[::100])
    assert {Path(str(path)).name for path in listed} <= {launch.id for launch in launches}
    monkeypatch.undo()
    for launch in launches:
        files.put(local_dir(place).stopped / launch.id, b"")
        files.create(local_dir(place).incoming_stop(launch.id))
    engine.stop(launches[-1])
    engine.stop(first)
    until(lambda: not os.listdir(local_dir(place).launches), "all are gone")
