"""Real processes, killed with -9 in mid-step, in mid-save and wherever they happen to be: the end is always the same, bit for bit."""

from __future__ import annotations

import functools
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.lives import (
    Trainer,
    newest,
    next_machine,
    notice,
    progress,
    run_script,
    steps_on_disk,
    write_attempt,
)

SCRIPTS = Path(__file__).parent / "scripts"
REBINDING, PICTURES = SCRIPTS / "rebinding.py", SCRIPTS / "pictures.py"


def outputs(run_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run_dir / "output").iterdir())}


@pytest.fixture(scope="module")
def rebinding_reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    run_dir = tmp_path_factory.mktemp("reference")
    assert run_script(REBINDING, run_dir, "120", "0")[0] == 0
    return outputs(run_dir)


@pytest.mark.parametrize("seed", range(4))
def test_a_rebinding_loop_killed_at_random_moments_on_ever_new_machines(
    tmp_path: Path, rebinding_reference: dict[str, bytes], seed: int
) -> None:
    chance = random.Random(seed)
    machine = tmp_path / "0"
    write_attempt(machine, attempt=1)
    for life in range(1, 6):
        trainer = Trainer(REBINDING, machine, "120", "0.005")
        begun = steps_on_disk(machine)[0] if steps_on_disk(machine) else 0
        target = min(115, begun + chance.randrange(0, 30))
        trainer.wait_for(lambda: progress(machine) >= target)  # noqa: B023
        trainer.kill()
        next_machine(machine, tmp_path / str(life), tmp_path / "home")
        machine = tmp_path / str(life)
    code, out, err = run_script(REBINDING, machine, "120", "0")
    assert code == 0 and out == "done\n", err
    assert outputs(machine) == rebinding_reference, "also log.csv has every row once"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_killed_in_the_middle_of_a_save(tmp_path: Path, rebinding_reference: dict[str, bytes], number: int) -> None:
    write_attempt(tmp_path, attempt=1, pause=f"save:{number}")
    trainer = Trainer(REBINDING, tmp_path, "120", "0.005")
    trainer.wait_for(lambda: (tmp_path / "paused").exists())
    half = [path for path in (tmp_path / "checkpoint").iterdir() if path.name.startswith(".saving-")]
    assert len(half) == 1 and sum(path.stat().st_size for path in half[0].iterdir()) > 0
    assert len(steps_on_disk(tmp_path)) == min(2, number - 1)
    trainer.kill()
    (tmp_path / "attempt.json").unlink()
    assert run_script(REBINDING, tmp_path, "120", "0")[0] == 0
    assert outputs(tmp_path)["model.npz"] == rebinding_reference["model.npz"]
    if number > 1:
        assert outputs(tmp_path) == rebinding_reference, (
            "the outputs were brought back to what they were at the checkpoint"
        )
    assert not list((tmp_path / "checkpoint").glob(".saving-*"))


def test_paused_at_a_step_it_waits_to_be_killed(tmp_path: Path) -> None:
    write_attempt(tmp_path, attempt=1, pause="step:40")
    trainer = Trainer(REBINDING, tmp_path, "120", "0")
    trainer.wait_for(lambda: (tmp_path / "paused").exists())
    assert progress(tmp_path) == 40 and '"step:40"' in (tmp_path / "paused").read_text()
    trainer.kill()


@pytest.fixture(scope="module")
def pictures_reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], bytes]:
    """What it ends with in peace, by how many batches are accumulated; made when a test of this process asks for it."""

    @functools.cache
    def made(accumulate: int) -> bytes:
        run_dir = tmp_path_factory.mktemp("reference")
        assert run_script(PICTURES, run_dir, str(accumulate))[0] == 0
        return outputs(run_dir)["model.bin"]

    return made


@pytest.mark.parametrize(("accumulate", "kills"), [(1, [5, 17, 33]), (3, [8])])
def test_shuffled_worker_processes_killed_in_mid_epoch(
    tmp_path: Path, pictures_reference: Callable[[int], bytes], accumulate: int, kills: list[int]
) -> None:
    for attempt, step in enumerate(kills, 1):
        write_attempt(tmp_path, attempt=attempt, pause=f"step:{step}")
        trainer = Trainer(PICTURES, tmp_path, str(accumulate))
        trainer.wait_for(lambda: (tmp_path / "paused").exists())
        trainer.kill()
        assert steps_on_disk(tmp_path)[0] > 0
    write_attempt(tmp_path, attempt=len(kills) + 1)
    code, _, err = run_script(PICTURES, tmp_path, str(accumulate))
    assert code == 0 and "resumed the loop" in err, err
    assert outputs(tmp_path)["model.bin"] == pictures_reference(accumulate)


def test_told_to_leave_it_saves_and_exits_with_75_and_nothing_below_the_loop_runs(
    tmp_path: Path, rebinding_reference: dict[str, bytes]
) -> None:
    trainer = Trainer(REBINDING, tmp_path, "120", "0.005")
    trainer.wait_for(lambda: progress(tmp_path) >= 30)
    assert (tmp_path / "loop").exists()
    notice(tmp_path, 30.0)
    code, out, err = trainer.end()
    assert (code, out) == (75, "") and "told to leave (preempted): saved step" in err
    assert newest(tmp_path).step == progress(tmp_path) + 1 or newest(tmp_path).step == progress(tmp_path)
    assert not newest(tmp_path).complete and not (tmp_path / "loop").exists()
    assert "model.npz" not in outputs(tmp_path)
    (tmp_path / "notice.json").unlink()
    assert run_script(REBINDING, tmp_path, "120", "0")[0] == 0
    assert outputs(tmp_path) == rebinding_reference


def test_told_to_leave_with_worker_processes_it_saves_and_ends(
    tmp_path: Path, pictures_reference: Callable[[int], bytes]
) -> None:
    write_attempt(tmp_path, attempt=1, pause="step:7")
    trainer = Trainer(PICTURES, tmp_path, "1")
    trainer.wait_for(lambda: (tmp_path / "paused").exists())
    notice(tmp_path, 60.0, "stop")
    code, out, err = trainer.end()
    assert (code, out) == (75, "") and "told to leave (stop): saved step 8" in err
    write_attempt(tmp_path, attempt=2)
    assert run_script(PICTURES, tmp_path, "1")[0] == 0
    assert outputs(tmp_path)["model.bin"] == pictures_reference(1)


def test_told_before_its_first_step_it_leaves_without_running_one(tmp_path: Path) -> None:
    notice(tmp_path, 60.0)
    code, _, err = run_script(REBINDING, tmp_path, "5", "0")
    assert code == 75 and "nothing new to save" in err and (tmp_path / "output" / "log.csv").read_text() == ""


def test_too_late_to_save_it_leaves_at_once(tmp_path: Path) -> None:
    trainer = Trainer(REBINDING, tmp_path, "500", "0.005")
    trainer.wait_for(lambda: len(steps_on_disk(tmp_path)) >= 2)  # by the second the first one's cost is known
    notice(tmp_path, 0.0, "deadline")
    code, _, err = trainer.end()
    assert code == 75 and "told to leave (deadline): 0.0 s are too short to save step" in err


def test_ctrl_c_is_an_ordinary_keyboard_interrupt_and_the_save_in_flight_is_finished(tmp_path: Path) -> None:
    trainer = Trainer(REBINDING, tmp_path, "5000", "0.005")
    trainer.wait_for(lambda: len(steps_on_disk(tmp_path)) >= 2)
    os.kill(trainer.process.pid, signal.SIGINT)
    code, _, err = trainer.end()
    assert code == -signal.SIGINT and "KeyboardInterrupt" in err
    assert not (tmp_path / "loop").exists() and not list((tmp_path / "checkpoint").glob(".saving-*"))


def test_two_processes_never_train_in_one_run_directory(tmp_path: Path) -> None:
    first = Trainer(REBINDING, tmp_path, "5000", "0.005")
    first.wait_for(lambda: progress(tmp_path) >= 1)
    code, _, err = run_script(REBINDING, tmp_path, "5", "0")
    assert code == 1 and "another process is training in" in err
    first.kill()
    assert run_script(REBINDING, tmp_path, "5", "0")[0] == 0, "and the dead one does not stand in the way"


SLOW_BODY = """
import os, sys, time, outlast
state = outlast.State(n=0)
for step in outlast.steps(3, state, save_steps=1):
    state.n += 1
    {body}
print("end", state.n)
"""


def test_a_script_may_fork_and_its_children_write_nothing(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import multiprocessing, os, sys, threading, outlast\n"
        "def child(queue):\n"
        "    outlast.log(from_child=1)\n"
        "    outlast.rank(), outlast.should_stop(), outlast.output_dir()\n"
        "    queue.put((threading.active_count(), sorted(os.listdir(os.environ['OUTLAST_RUN_DIR']))))\n"
        "def main():\n"
        "    state = outlast.State(n=0)\n"
        "    for step in outlast.steps(4, state, save_steps=1):\n"
        "        outlast.log(n=step)\n"
        "        for method in ('fork', 'spawn'):\n"
        "            context = multiprocessing.get_context(method)\n"
        "            queue = context.SimpleQueue()\n"
        "            process = context.Process(target=child, args=(queue,))\n"
        "            process.start()\n"
        "            threads, files = queue.get()\n"
        "            process.join()\n"
        "            assert process.exitcode == 0 and threads == 1, (process.exitcode, threads)\n"
        "    print('end')\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    code, out, err = run_script(script, tmp_path / "run")
    assert (code, out) == (0, "end\n"), err
    lines = (tmp_path / "run" / "metrics").read_text().splitlines()
    assert len(lines) == 4 and not any("from_child" in line for line in lines)
    assert newest(tmp_path / "run").complete


def test_a_child_that_ends_normally_does_not_end_its_parents_save(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    body = (
        "pid = os.fork()\n"
        "    if not pid: sys.exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "    assert os.path.exists(os.environ['OUTLAST_RUN_DIR'] + '/loop')"
    )
    script.write_text(SLOW_BODY.format(body=body))
    code, out, err = run_script(script, tmp_path / "run")
    assert (code, out) == (0, "end 3\n"), err
