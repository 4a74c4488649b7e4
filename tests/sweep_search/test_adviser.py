"""The adviser as a real process: with a real Optuna, without one, killed, hung, talking nonsense."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from outlast.clock import SYSTEM
from outlast.machine import study_process
from outlast.machine.study_process import Python, StudyProcess
from tests.sweep_search.parts import HandClock

SECONDS_MAX = 120.0
HERE = Python(sys.executable, {"PATH": os.defpath})
QUESTION = {
    "want": "choose",
    "seed": 1,
    "direction": "minimize",
    "dimensions": [{"kind": "float", "low": 0, "high": 1}],
    "trials": [{"values": [number / 10], "state": "complete", "value": abs(number - 7)} for number in range(11)],
}
Adviser = Callable[..., StudyProcess]


@pytest.fixture
def adviser() -> Iterator[Adviser]:
    made: list[StudyProcess] = []

    def make(*pythons: Python) -> StudyProcess:
        made.append(StudyProcess(lambda: pythons, SYSTEM))
        return made[-1]

    yield make
    for one in made:
        one.close()


def answer_of(adviser: StudyProcess) -> Mapping[str, Any]:
    give_up_at = time.monotonic() + SECONDS_MAX
    while (answer := adviser.answer()) is None:
        assert time.monotonic() < give_up_at, "it neither answers nor gives up"
        time.sleep(0.005)
    return answer


def python(tmp_path: Path, name: str, text: str) -> Python:
    """A program in the place of an interpreter."""
    path = tmp_path / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o700)
    return Python(str(path), {"PATH": os.defpath})


def pid_of(adviser: StudyProcess) -> int:
    process = adviser._process
    assert process is not None
    return process.pid


def test_it_answers_one_question_after_another(adviser: Adviser) -> None:
    one = adviser(HERE)
    one.ask(QUESTION)
    values = answer_of(one)["values"]
    assert 0 <= values[0] <= 1
    pid = pid_of(one)
    one.ask(QUESTION)
    assert answer_of(one)["values"] == values, "the same question has the same answer: nothing is kept in between"
    assert pid_of(one) == pid


def test_one_that_was_killed_is_replaced_and_asked_again(adviser: Adviser) -> None:
    one = adviser(HERE)
    one.ask(QUESTION)
    values = answer_of(one)["values"]
    os.kill(pid_of(one), signal.SIGKILL)
    one.ask(QUESTION)
    assert answer_of(one)["values"] == values
    one.ask(QUESTION)
    os.kill(pid_of(one), signal.SIGKILL)
    assert answer_of(one)["values"] == values, "also in the middle of a question"


def test_one_that_hangs_is_given_up_and_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    hangs = python(
        tmp_path,
        "hangs",
        f"import os, sys, time\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        'print(\'{"ready": "1"}\', flush=True)\nwhile True: time.sleep(1)\n',
    )
    clock = HandClock()
    one = StudyProcess(lambda: [hangs], clock)
    one.ask({**QUESTION, "more": "x" * (1 << 20)})  # more than a pipe holds: nobody waits for it to be read
    started: list[int] = []
    for number in range(1, study_process.TRIES_MAX + 1):
        give_up_at = time.monotonic() + SECONDS_MAX
        while len(started) < number:
            assert time.monotonic() < give_up_at and one.answer() is None
            time.sleep(0.01)
            started = [int(line) for line in pids.read_text().splitlines()] if pids.exists() else []
        while not one._ready:
            assert time.monotonic() < give_up_at and one.answer() is None
            time.sleep(0.01)
        clock.sleep(study_process.ANSWER_SECONDS_MAX)
        assert one.answer() == (None if number < study_process.TRIES_MAX else {})
    assert "has not answered for 40 s" in one.problem
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    one.ask(QUESTION)
    assert one.answer() == {}, "for a while nobody is asked"
    assert one._process is None


def test_one_that_takes_its_time_to_come_up_is_not_begun_anew_meanwhile(tmp_path: Path) -> None:
    """As on a computer that is overloaded; its answers are waited for from then on."""
    go = tmp_path / "go"
    slow = python(
        tmp_path,
        "slow",
        f"import os, sys, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        'print(\'{"ready": "1"}\', flush=True)\nsys.stdin.readline()\n'
        'print(\'{"id": 1, "values": [0.5]}\', flush=True)\nsys.stdin.read()\n',
    )
    clock = HandClock()
    one = StudyProcess(lambda: [slow], clock)
    one.prepare()
    pid = pid_of(one)
    one.ask(QUESTION)
    clock.sleep(study_process.READY_SECONDS_MAX - 1)
    assert one.answer() is None and pid_of(one) == pid
    go.touch()
    assert answer_of(one)["values"] == [0.5] and pid_of(one) == pid
    one.close()


def test_one_that_never_comes_up_is_given_up(tmp_path: Path) -> None:
    clock = HandClock()
    one = StudyProcess(lambda: [python(tmp_path, "never", "import time\nwhile True: time.sleep(1)\n")], clock)
    one.ask(QUESTION)
    for number in range(1, study_process.TRIES_MAX + 1):
        clock.sleep(study_process.READY_SECONDS_MAX)
        assert one.answer() == (None if number < study_process.TRIES_MAX else {})
    assert "it did not come up" in one.problem and one._process is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("print('hello')", "cannot be read"),
        ("print('[1]')", "cannot be read"),
        ('import sys; print(\'{"ready": "1"}\', flush=True); sys.stdin.readline()', "it has ended"),
        ("raise SystemExit(3)", "it has ended"),
    ],
)
def test_one_that_talks_nonsense_or_leaves_has_no_answer(
    adviser: Adviser, tmp_path: Path, text: str, problem: str
) -> None:
    one = adviser(python(tmp_path, "odd", text))
    one.ask(QUESTION)
    assert answer_of(one) == {} and problem in one.problem


def test_without_optuna_the_next_python_is_tried(adviser: Adviser, tmp_path: Path) -> None:
    without = python(
        tmp_path,
        "without",
        f"import os, sys\nos.execv({sys.executable!r}, [{sys.executable!r}, '-S', *sys.argv[1:]])\n",
    )
    broken = python(tmp_path, "broken", "raise SystemExit(1)")
    one = adviser(Python(str(tmp_path / "nowhere"), {}), broken, without, HERE)
    one.ask(QUESTION)
    assert "values" in answer_of(one)
    alone = adviser(without)
    alone.ask(QUESTION)
    assert answer_of(alone) == {}
    assert "has no Optuna (ModuleNotFoundError" in alone.problem


def test_a_question_that_it_cannot_answer_does_not_end_it(adviser: Adviser) -> None:
    one = adviser(HERE)
    one.ask({"want": "choose", "dimensions": []})
    assert answer_of(one) == {} and "KeyError" in one.problem
    one.ask(QUESTION)
    assert "values" in answer_of(one)


def test_it_does_not_outlive_the_agent_that_asks_it(tmp_path: Path) -> None:
    text = f"""
import sys, time
from outlast.clock import SYSTEM
from outlast.machine.study_process import Python, StudyProcess
one = StudyProcess(lambda: [Python(sys.executable, {{"PATH": "/bin", "MARK": {str(tmp_path)!r}}})], SYSTEM)
one.ask({QUESTION!r})
while not one.answer(): time.sleep(0.01)
print(one._process.pid, flush=True)
time.sleep(600)
"""
    agent = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    pid = int(agent.stdout.readline())
    agent.kill()
    agent.wait()
    agent.stdout.close()
    give_up_at = time.monotonic() + SECONDS_MAX
    while os.fsencode(tmp_path) in _environ(pid):
        assert time.monotonic() < give_up_at, "it is still there"
        time.sleep(0.02)


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def stops(
    adviser: StudyProcess, early: str, mine: list[list[float]], others: list[list[list[float]]], **more: Any
) -> Any:
    question = {"want": "stop", "early": early, "direction": "minimize", "first": 1, "since": 1, "mine": mine}
    adviser.ask({**question, "others": [{"points": points, "ended": True} for points in others], **more})
    return answer_of(adviser)["worse_at"]


def test_successive_halving_lets_the_best_quarter_go_on(adviser: Adviser) -> None:
    one = adviser(HERE)
    others = [[[1.0, number], [4.0, number], [16.0, number]] for number in range(1, 8)]
    assert stops(one, "asha", [[1, 1.5]], others) is None
    assert stops(one, "asha", [[1, 2.5]], others) == 1
    assert stops(one, "asha", [[1, 0.5], [2, 99.0]], others) is None, "2 is no rung"
    assert stops(one, "asha", [[1, 0.5], [2, 99.0], [4, 99.0]], others) == 4
    assert stops(one, "asha", [[1, 99.0], [4, 0.5]], others, since=4) is None, "what was decided stays so"
    assert stops(one, "asha", [[1, 2.5]], others, direction="maximize") == 1
    assert stops(one, "asha", [[1, 8.5]], others, direction="maximize") is None
    assert stops(one, "asha", [[1, float("nan")]], []) == 1


def test_the_median_ends_the_worse_half(adviser: Adviser) -> None:
    one = adviser(HERE)
    others = [[[1.0, number], [4.0, number]] for number in range(1, 8)]
    assert stops(one, "median", [[4, 3.5]], others) is None
    assert stops(one, "median", [[4, 4.5]], others) == 4
    assert stops(one, "median", [[4, 4.5]], others[:4]) is None, "too few have come to their end"
    assert stops(one, "median", [[8, 99.0]], others) is None, "nobody else was measured there"
