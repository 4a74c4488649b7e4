"""Init: how the trainer is started, how its end is written down, and what happens when something is killed."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from outlast.agent import agent_process, init
from outlast.clock import SYSTEM
from outlast.host import files, system
from outlast.host.machine_dir import MachineDir
from outlast.host.process import Process
from outlast.testing.engine_place import alive, until
from tests.machine.conftest import Bench, idle, log, start_of, wait_for_exit

WAIT = "import sys, time\nprint('here', flush=True)\ntime.sleep(60)\n"


def read_int(path: Path) -> int:
    return int(path.read_text())


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit(75)", 75),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
        ("import os; os.abort()", 134),
    ],
)
def test_the_exit_code_is_on_disk_as_a_shell_would_say_it(bench: Bench, script: str, code: int) -> None:
    child, exit = bench.finish(script)
    assert (exit.code, exit.out_of_memory, exit.disk_full, exit.killed) == (code, False, False, code == 137)
    assert json.loads(Path(bench.paths.exit(1)).read_text())["code"] == code
    assert child.saved(0, last=True) is None


def test_stdout_and_stderr_go_to_one_spool_in_order(bench: Bench) -> None:
    child, _ = bench.finish("import sys\nfor i in range(3): print(i); print('e', i, file=sys.stderr)")
    assert log(child) == "0\ne 0\n1\ne 1\n2\ne 2\n"


def test_the_trainer_has_clean_signals_no_input_and_a_group_of_its_own(bench: Bench) -> None:
    child, exit = bench.finish(
        "import os, signal, sys\n"
        "print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, sys.stdin.read() == '', os.getpgid(0) == os.getpid())\n"
        "print(oct(os.umask(0)), sorted(int(name) for name in os.listdir('/proc/self/fd')) [:3])\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []), len(os.listdir('/proc/self/fd')))\n"
    )
    assert exit.code == 0
    assert log(child).splitlines() == ["True True True", "0o22 [0, 1, 2]", "set() 4"]


def test_a_trainer_that_cannot_be_started_says_why_in_its_log(bench: Bench) -> None:
    child, exit = bench.finish("pass", python="/nowhere/python")
    assert exit.code == 127
    assert "cannot start `/nowhere/python`" in log(child)


def test_a_hostile_argument_is_an_argument(bench: Bench) -> None:
    words = ["a b", "$(touch C)", "`x`", "'\"", "new\nline", "ünïcode 🙂", ";", "--", ""]
    child, _ = bench.finish("import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    assert json.loads(log(child)) == words


def test_the_trainer_is_started_once_per_attempt(bench: Bench) -> None:
    child = bench.run("import os; print('began'); open('go').close()")
    for _ in range(5):
        child.start(start_of(1))
    wait_for_exit(child)
    again = bench.child()
    assert again.started(1) and not again.started(2)
    again.start(start_of(1))
    other = bench.run("print('second')", attempt=2)
    wait_for_exit(other)
    assert log(other) == "second\n"
    assert again.exit() is not None


# Ends.


def test_end_takes_everything_along_that_the_trainer_started(bench: Bench) -> None:
    """A child, a grandchild, a daemon in a session of its own, and one that has cleared its environment."""
    child = bench.run(
        "import os, subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        "def daemon():\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            os.execve(sys.executable, sleep, {})\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "subprocess.Popen(sleep)\n"
        "subprocess.Popen([sys.executable, '-c', 'import subprocess, sys; subprocess.run(' + repr(sleep) + ')'])\n"
        "subprocess.Popen(sleep, start_new_session=True)\n"
        "daemon()\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    until(lambda: log(child) == "ready\n", "it runs")
    until(lambda: len(system.descendants(bench.pid)) >= 7, "agent, trainer, and five more")
    child.end()
    assert child.exit() is not None and child.exit().code == 137  # type: ignore[union-attr]
    agent = Process.read(files.read_json(bench.paths.agent))
    assert agent is not None
    assert system.descendants(bench.pid) == [agent.pid]
    child.end()


def test_what_a_trainer_leaves_behind_ends_with_it(bench: Bench) -> None:
    child, exit = bench.finish(
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "print(p.pid)\n"
    )
    assert exit.code == 0
    assert not alive(int(log(child))), "before its exit was told"


def test_tell_asks_the_whole_group_once_and_not_a_loop_of_the_library(bench: Bench) -> None:
    from outlast.agent.child import Notice, Reason

    script = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('asked', flush=True), sys.exit(75)))\n"
        "if sys.argv[1:]: open(os.environ['OUTLAST_RUN_DIR'] + '/loop', 'w').close()\n"
        "print('here', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "print('still here', flush=True)\n"
    )
    child = bench.run(script)
    until(lambda: "here\n" in log(child), "it runs")
    child.tell(Notice(Reason.PREEMPTED, 20.0))
    assert wait_for_exit(child).code == 75
    assert log(child) == "here\nasked\n"
    looping = bench.run(script, "loop", attempt=2)
    until(lambda: "here\n" in log(looping), "it runs")
    looping.tell(Notice(Reason.STOP, 20.0))
    said = json.loads((Path(bench.paths.run) / "notice.json").read_text())
    assert said["reason"] == "stop" and 0 < said["leave_by_monotonic"] - SYSTEM.monotonic() <= 20
    looping.start(start_of(2))  # an order after the others: whatever was asked of init before has been done
    (Path(bench.paths.work) / "go").touch()
    assert wait_for_exit(looping).code == 0
    assert log(looping) == "here\nstill here\n"


def test_memory_that_ran_out_is_told_from_a_kill_by_us(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = tmp_path / "kills"
    kills.write_text("7")
    monkeypatch.setattr(system, "oom_kills", lambda: read_int(kills))
    child = bench.run(WAIT)
    until(lambda: log(child), "it runs")
    trainer = Process.read(files.read_json(bench.paths.trainer_process(1)))
    assert trainer is not None
    kills.write_text("8")
    trainer.send(signal.SIGKILL)
    exit = wait_for_exit(child)
    assert exit.code == 137 and exit.out_of_memory and not exit.killed
    child = bench.run(WAIT, attempt=2)
    until(lambda: log(child), "it runs")
    kills.write_text("9")
    child.end()
    ended = child.exit()
    assert ended is not None and ended.code == 137 and not ended.out_of_memory and not ended.killed


def test_a_full_disk_is_told_from_other_failures(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from outlast.agent import trainer_process

    monkeypatch.setattr(trainer_process, "DISK_FULL_BYTES", 1 << 62)
    _, exit = bench.finish("raise SystemExit(1)")
    assert exit.disk_full
    _, exit = bench.finish("pass", attempt=2)
    assert not exit.disk_full


def test_the_trainer_ends_at_the_deadline_even_if_the_agent_hangs(bench: Bench) -> None:
    def hangs(directory: str) -> int:
        files.create(MachineDir(directory).up)
        SYSTEM.sleep(60)
        return 1

    bench.boot(hangs, seconds=1.0)
    child = bench.run(WAIT)
    assert wait_for_exit(child).code == 137


# Parts that are killed.


def test_a_new_agent_finds_the_trainer_running_and_its_note(bench: Bench) -> None:
    child = bench.run(WAIT)
    child.remember(b"nonce")
    until(lambda: log(child), "it runs")
    for _ in range(3):
        agent = Process.read(files.read_json(bench.paths.agent))
        assert agent is not None and agent.send(signal.SIGKILL)
        until(partial(_another, bench, agent), "another agent came")
    after = bench.child()
    assert after.recall() == b"nonce" and after.started(1) and after.exit() is None
    assert log(after) == "here\n"
    after.end()


def _another(bench: Bench, before: Process) -> bool:
    now = Process.read(files.read_json(bench.paths.agent))
    return now is not None and now != before and now.alive()


def test_an_order_whose_agent_died_before_it_rang_is_carried_out(bench: Bench) -> None:
    bench.files["train.py"] = "print('ran')"
    child = bench.child()
    child.clear("")
    child._order = lambda order: None  # type: ignore[method-assign]
    child.start(start_of(1))
    agent = Process.read(files.read_json(bench.paths.agent))
    assert agent is not None and agent.send(signal.SIGKILL)
    assert wait_for_exit(bench.child()).code == 0


def test_everything_dies_with_init(bench: Bench) -> None:
    child = bench.run(WAIT)
    until(lambda: log(child), "it runs")
    pids = system.descendants(bench.pid)
    assert len(pids) == 2
    os.kill(bench.pid, signal.SIGKILL)
    bench.reap()
    until(lambda: not any(alive(pid) for pid in pids), "agent and trainer are dead")
    with pytest.raises(SystemExit):
        child.wait(30)


def test_an_agent_that_never_comes_up_ends_the_machine(bench: Bench) -> None:
    def fails(directory: str) -> int:
        raise ValueError("no home for it")

    bench.boot(fails)
    assert bench.reap() == init.EXIT_DIED
    assert bench.paths.left_done() is None
    assert "no home for it" in Path(bench.paths.log).read_text()


def test_a_trainer_is_not_left_without_an_agent_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(directory: str) -> int:
        files.create(MachineDir(directory).up)
        until(lambda: os.path.exists(f"{directory}/trainer-1.pid.json"), "the trainer runs")
        return 1

    monkeypatch.setattr(init, "ORPHAN_SECONDS_MAX", 0.7)
    bench.boot(dies)
    bench.run(WAIT)
    assert bench.reap() == init.EXIT_DIED
    assert bench.paths.given_up()
    trainer = Process.read(files.read_json(bench.paths.trainer_process(1)))
    assert trainer is not None and not trainer.alive()


# Leaving.


@pytest.mark.parametrize(
    ("code", "done"), [(agent_process.EXIT_AGENT_DONE, True), (agent_process.EXIT_AGENT_AGAIN, False)]
)
def test_a_machine_that_leaves_says_so_and_ends_what_it_ran(bench: Bench, code: int, done: bool) -> None:
    child = bench.run(WAIT)
    until(lambda: log(child), "it runs")
    trainer = Process.read(files.read_json(bench.paths.trainer_process(1)))
    assert trainer is not None
    assert bench.leave(code) == init.EXIT_LEFT
    assert bench.paths.left_done() is done
    assert not trainer.alive()
    assert not Path(bench.paths.work).exists() and not Path(bench.paths.run).exists()


def test_sigterm_is_a_notice_and_wakes_the_agent(bench: Bench) -> None:
    child = bench.run(WAIT)
    assert child.notice() is None
    os.kill(bench.pid, signal.SIGTERM)
    until(lambda: child.wait(5) or child.notice() is not None, "it is told")
    left = child.notice()
    assert left is not None and 20 < left <= 30
    child.end()


def test_a_machine_that_was_given_up_never_begins(tmp_path: Path) -> None:
    """A supervisor that found no init has taken its name."""
    bench = Bench(tmp_path / "local" / "machines" / "launch" / "0-1")
    Path(bench.paths.path).mkdir(parents=True)
    bench.paths.write_assignment(bench.assignment)
    files.create(bench.paths.init)
    pid = os.fork()
    if pid == 0:
        os._exit(init.run(bench.paths.path, idle))
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == init.EXIT_DIED
    assert not Path(bench.paths.up).exists() and not Path(bench.paths.orders).exists()
