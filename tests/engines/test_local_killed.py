"""The local engine's parts may be killed at any moment, and its callers too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import pytest

from outlast.agent.init import begin
from outlast.clock import SYSTEM
from outlast.dataclass import replace
from outlast.engines.engine import Condition, Launch
from outlast.engines.local import machines
from outlast.engines.local.bell import Bell
from outlast.engines.local.capacity import Capacity
from outlast.engines.local.engine import LocalEngine
from outlast.engines.local.layout import LocalDir, Order, encode_order
from outlast.engines.local.life import FAILED_BOOTS_MAX, Life
from outlast.engines.local.machines import Machines
from outlast.engines.local.supervisor import Supervisor
from outlast.host import files
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.spec.spec import Machine
from outlast.testing.engine_place import PROGRAM, Place, alive, ended, running, until
from tests.engines.conftest import supervisor_of
from tests.engines.local_parts import (
    arrive,
    dying_place,
    local_dir,
    machine_of,
    standing_still,
    start_running,
    supervisor,
)

# Starts and stops that come late, or were cut off.


def test_a_start_that_was_on_its_way_while_the_launch_ran_or_ended_starts_nothing(place: Place) -> None:
    engine, runs = start_running(place)
    gone = place.launch("finish")
    engine.start(gone)
    until(lambda: ended(engine, gone), "it ended")
    with standing_still(supervisor(place)):
        arrive(place, runs)
        arrive(place, gone)
        other = place.launch("finish")
        engine.start(other)
    until(lambda: ended(engine, other), "the next one ended")
    assert len(place.events(runs, "boot")) == len(place.events(gone, "boot")) == 1
    assert running(engine, runs) and ended(engine, gone)
    engine.stop(runs)


def test_a_wish_whose_caller_was_killed_before_it_rang_is_obeyed(place: Place) -> None:
    engine, runs = start_running(place)
    unwanted = place.launch("wait")
    files.create(local_dir(place).stopped / unwanted.id)
    arrive(place, unwanted)
    other = place.launch("finish")
    engine.start(other)
    until(lambda: ended(engine, other) and ended(engine, unwanted), "both are over")
    assert place.events(unwanted, "boot") == []
    engine.stop(runs)


def test_who_rings_while_an_idle_supervisor_goes_is_heard(tmp_path: Path) -> None:
    """It had written before it rang, and the bell was closed after that: the last look finds it."""
    paths = LocalDir(tmp_path / "local")
    paths.create()
    launch = Launch(str(tmp_path), "job", 1, "late", 1, Machine(), SYSTEM.now() + 600)
    pid = os.fork()
    if pid == 0:
        goes = Supervisor(paths, lambda path, follower: 0, SYSTEM, Capacity(1, ()))
        assert goes.ears.lock(SYSTEM)
        goes.ears.open()
        files.put(paths.incoming_order("late"), encode_order(Order(launch, 0.0)))
        stays = not goes.goes() and "late" in goes.queue and Bell(paths, "", "").heard()
        os._exit(0 if stays else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_machine_that_has_not_begun_when_it_is_looked_for_never_does(tmp_path: Path) -> None:
    directory = MachineDir(tmp_path)
    assert machines.adopt(directory, 0.0) is None
    assert not begin(directory), "its name is taken: init ends when it comes"
    files.remove_tree(tmp_path)
    assert not begin(directory), "also when it comes very late, without a word in the supervisor's log"


@pytest.mark.parametrize("given_up", [True, False])
def test_machines_without_an_agent_that_stays_are_counted_like_those_that_never_came_up(
    place: Place, given_up: bool
) -> None:
    paths, launch = local_dir(place), place.launch("wait")
    paths.create()
    life = Life(paths, Order(launch, SYSTEM.now()), Machines(lambda path, follower: 0), SYSTEM)
    told = replace(life._assignment(0, None), boot=3, failed_boots=FAILED_BOOTS_MAX - 1)
    directory = paths.machine(launch.id, 0, told.boot)
    os.makedirs(directory.path)
    directory.write_assignment(told)
    files.create(directory.up)
    files.put_json(directory.losses, {"losses": 70, "at_monotonic": 0.0, **({"given_up": True} if given_up else {})})
    files.put(directory.log, b"OSError: it is broken\n")
    assert life.adopt()
    if given_up:
        assert life.end is not None and life.end.condition is Condition.BOOT_FAILED
        assert "without an agent that stayed" in life.end.why and "it is broken" in life.end.why
    else:
        assert life.end is None and life.ranks[0].next.failed_boots == 0


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


def test_the_machine_after_one_that_was_taken_away_does_not_wait_as_after_one_that_died_young(place: Place) -> None:
    """A drill with many kills waited longer and longer for the next machine."""
    engine, launch = start_running(place)

    def taken() -> None:
        assert engine.preempt(launch, notice_seconds=0)

    def dead() -> None:
        init = machine_of(place, launch).init_process()
        assert init is not None and init.send(signal.SIGKILL)

    def booted(times: int) -> bool:
        return len(place.events(launch, "boot")) == times and running(engine, launch)

    for times, (end, short_lives) in enumerate(((dead, 1), (dead, 2), (taken, 0), (taken, 0), (dead, 1)), 2):
        end()
        until(partial(booted, times), "the next machine runs")
        assert machine_of(place, launch).read_assignment().short_lives == short_lives
    engine.stop(launch)


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
    """Supervisors, inits and agents, one after another, while twelve launches wait for a word.

    A launch of which three machines were killed may have ended for that: none of them was up.
    """
    random = Random(seed)
    engine = place.engine()
    launches = [place.launch("wait") for _ in range(12)]
    for launch in launches:
        engine.start(launch)
    paths = local_dir(place)
    struck: Counter[str] = Counter()
    for _ in range(12):
        SYSTEM.sleep(random.uniform(0.0, 0.05))  # a random moment, not a synchronisation
        kind = random.choice(["supervisor", "init", "agent"])
        machines = [(launch.id, one) for launch in launches for one in paths.newest_machines(launch.id).values()]
        if kind == "supervisor":
            victim = supervisor_of(place.scratch / "user")
        elif machines:
            launch_id, machine = random.choice(machines)
            victim = Process.read(files.read_json(machine.init if kind == "init" else machine.agent))
            struck[launch_id] += victim is not None
        else:
            victim = None
        if victim is not None:
            victim.send(signal.SIGKILL)
        engine.state(random.choice(launches))
        for launch in launches:
            there = {machine for machine, pid in place.events(launch, "boot") if alive(pid)}
            assert len(there) <= 1, "two machines of one rank"
    for launch in launches:
        place.let_go(launch)
    until(lambda: all(ended(engine, launch) for launch in launches), "all ended")
    for launch in launches:
        state = engine.state(launch)
        if state.condition is Condition.BOOT_FAILED:
            assert struck[launch.id] >= FAILED_BOOTS_MAX, (state, struck)
        else:
            assert state.condition is Condition.ABSENT and place.events(launch, "done"), (state, struck)


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
        until(partial(running, engine, launch), "it runs")
        living = [pid for _, pid in place.events(launch, "boot") if alive(pid)]
        assert len(living) == 1
        engine.stop(launch)


def test_a_machine_that_never_began_since_its_supervisor_was_killed_is_no_failed_boot(tmp_path: Path) -> None:
    with dying_place(tmp_path, *["forking"] * FAILED_BOOTS_MAX) as place:
        engine, launch = place.engine(), place.launch("wait")
        engine.start(launch)
        until(lambda: running(engine, launch) or ended(engine, launch), "it runs")
        assert running(engine, launch), engine.state(launch)
        ((machine, _),) = place.events(launch, "boot")
        assert machine == f"{launch.id}-0-{FAILED_BOOTS_MAX + 1}"
        engine.stop(launch)


def test_a_killed_agent_is_started_again_on_the_same_machine(place: Place) -> None:
    engine, launch = start_running(place)
    until(Path(machine_of(place, launch).agent).exists, "init has written down who it is")
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
        Path(directory.init).write_text(json.dumps({**there.document(), "boot": "of another boot"}))
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
        Path(directory.init).write_text(json.dumps({**init.document(), "pid": stranger.pid}))
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
    (Path(directory.path) / torn).write_bytes(b"")
    until(lambda: running(engine, launch), "it runs again")
    engine.stop(launch)


@pytest.mark.parametrize("left", [b"", bytes(100)], ids=["nothing", "zeros"])
def test_a_launch_of_which_a_power_cut_left_an_empty_file_can_be_started_again(place: Place, left: bytes) -> None:
    engine, launch = start_running(place)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    Path(local_dir(place).order(launch.id)).write_bytes(left)
    until(lambda: engine.state(launch).condition is Condition.ABSENT, "it is not there")
    until(lambda: not any(alive(pid) for _, pid in place.events(launch, "boot")), "and nothing of it runs")
    engine.start(launch)
    until(lambda: running(engine, launch), "it runs again")
    engine.stop(launch)


def test_a_launch_that_a_power_cut_tore_is_reported(place: Place) -> None:
    engine, launch = start_running(place)
    process = supervisor(place)
    process.send(signal.SIGKILL)
    until(lambda: not process.alive(), "the supervisor is dead")
    Path(local_dir(place).order(launch.id)).write_bytes(b'{"form')
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
    until(lambda: not os.path.exists(local_dir(place).order(launch.id)), "the supervisor tidies up")
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


def test_a_supervisor_that_cannot_start_is_reported(place: Place) -> None:
    broken = LocalEngine(place.scratch / "user", SYSTEM, boot=PROGRAM, supervise="outlast.no_such_module")
    launch = place.launch("finish")
    broken.start(launch)
    until(lambda: "No module named outlast.no_such_module" in broken.state(launch).why, "it is said why")
    engine = place.engine()
    until(lambda: ended(engine, launch), "a supervisor that can start goes on with it")
    assert len(place.events(launch, "boot")) == 1
