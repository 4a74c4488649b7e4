"""What the local engine leaves on disk, and who may see it."""

from __future__ import annotations

import errno
import os
import signal
import stat
from functools import partial
from pathlib import Path

import pytest

from outlast.clock import SYSTEM
from outlast.engines.engine import Condition
from outlast.errors import OutlastError
from outlast.host import files
from outlast.testing.engine_place import Place, ended, running, until
from tests.engines.conftest import supervisor_of
from tests.engines.local_parts import local_dir, machine_of, start_running, supervisor


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
    half, young = (paths.incoming / f".{launch.id}.json.{number}" for number in (1, 2))
    half.touch()
    young.touch()
    for old in (paths.ended / launch.id, half):
        os.utime(old, (0, 0))
    other = place.launch("finish")
    engine.start(other)
    until(lambda: ended(engine, other), "it ended")
    until(lambda: os.listdir(paths.ended) == [other.id], "only the newer one is remembered")
    until(lambda: os.listdir(paths.incoming) == [young.name], "nor is a start that was killed, except of late")
    until(lambda: supervisor_of(place.scratch / "user") is None, "the supervisor went")


def test_an_idle_supervisor_ends_and_the_next_launch_starts_another(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTLAST_SUPERVISOR_IDLE_SECONDS", "0.05")
    engine = place.engine()
    for _ in range(10):
        launch = place.launch("finish")
        engine.start(launch)
        until(partial(ended, engine, launch), "it ended")
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


def test_a_supervisor_that_was_told_otherwise_what_there_is_hands_its_machines_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, launch = start_running(place)
    before = supervisor(place)
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "66")
    other = place.launch("wait", cpus=64)
    engine.start(other)
    until(lambda: running(engine, other) and running(engine, launch), "both run, since there are as many as was said")
    assert not before.alive() and len(place.events(launch, "boot")) == 1
    after = supervisor(place)
    monkeypatch.delenv("OUTLAST_LOCAL_CPUS")
    engine.start(third := place.launch("finish"))
    until(lambda: ended(engine, third), "it ended")
    assert supervisor(place) == after, "who says nothing takes what there is"
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


def test_many_may_wait_and_the_state_of_each_is_found_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking does not read the others: the number of system calls is the same."""
    monkeypatch.setenv("OUTLAST_LOCAL_CPUS", "1")
    engine, first = start_running(place)
    launches = [place.launch("wait") for _ in range(300)]
    for launch in launches:
        engine.start(launch)
    until(lambda: not os.listdir(local_dir(place).incoming), "all are queued")
    listed: list[object] = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path=".": listed.append(path) or listdir(path))
    assert all(engine.state(launch).condition is Condition.WAITING for launch in launches[::15])
    assert {Path(str(path)).name for path in listed} <= {launch.id for launch in launches}
    monkeypatch.undo()
    for launch in launches:
        files.put(local_dir(place).stopped / launch.id, b"")
        files.create(local_dir(place).incoming_stop(launch.id))
    engine.stop(launches[-1])
    engine.stop(first)
    until(lambda: not os.listdir(local_dir(place).launches), "all are gone")


def test_a_machine_whose_agent_does_not_stay_says_why_in_the_agents_last_words(place: Place) -> None:
    engine, launch = start_running(place, "ail")
    until(lambda: "without an agent that stays" in engine.state(launch).why, "it says so")
    why = engine.state(launch).why
    assert os.strerror(errno.EIO) in why and str(machine_of(place, launch).log) in why
    assert machine_of(place, launch).init_process(), "and the machine lives"
    engine.stop(launch)
