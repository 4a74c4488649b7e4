"""The trainer's directories, its environment, and its streams, as the agent works with them."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.host import files, system
from outlast.host.machine_dir import Assignment
from outlast.machine import command
from outlast.machine.furnish import Furnished
from outlast.spec.spec import Drill, Target, TargetKind
from outlast.testing.engine_place import until
from tests.machine.conftest import Bench, log, start_of, wait_for_exit

PRINT_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


def test_the_trainer_gets_what_is_listed_and_nothing_else(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not leak")
    bench.files["train.py"] = PRINT_ENVIRONMENT
    child = bench.child()
    child.clear("")
    child.start(start_of(3, env={"MINE": "1", "PYTHONPATH": "/my/own", "OUTLAST_JOB": "not me", "AIP_MODEL_DIR": "x"}))
    wait_for_exit(child)
    environ = json.loads(log(child))
    run = str(bench.paths.run)
    environ.pop("LC_CTYPE", None)  # Python's own, where there is no locale
    assert environ.pop("PYTHONPATH").endswith("src:/my/own")
    assert environ == {
        "PATH": os.environ["PATH"],
        "HOME": "/nowhere",
        "MINE": "1",
        "AIP_CHECKPOINT_DIR": f"{run}/checkpoint",
        "AIP_MODEL_DIR": "x",
        "OUTLAST_JOB": "job-1",
        "OUTLAST_ATTEMPT": "3",
        "OUTLAST_RUN_DIR": run,
        "OUTLAST_CHECKPOINT_DIR": f"{run}/checkpoint",
        "OUTLAST_OUTPUT_DIR": f"{run}/output",
        "OUTLAST_MACHINE": "launch-0-1",
        "PYTHONUNBUFFERED": "1",
        "WANDB_RUN_ID": "job-1",
        "WANDB_RESUME": "allow",
    }


def test_several_workers_are_told_where_to_meet_and_one_is_not(bench: Bench) -> None:
    paths = {"run": "r", "checkpoint": "c", "output": "o", "trainer_root": "t"}
    one = command.environment(bench.assignment, start_of(1), Furnished(""), **paths)
    many = command.environment(bench.assignment, replace(start_of(1), rank=1, workers=2), Furnished(""), **paths)
    assert "RANK" not in one and "MASTER_PORT" not in one
    assert (many["RANK"], many["WORLD_SIZE"], many["LOCAL_RANK"], many["MASTER_ADDR"]) == ("1", "2", "0", "127.0.0.1")
    assert 20000 <= int(many["MASTER_PORT"]) < 32000
    tensorflow = json.loads(many["TF_CONFIG"])
    assert tensorflow["task"] == {"type": "worker", "index": 1} and len(set(tensorflow["cluster"]["worker"])) == 2
    assert "TF_CONFIG" not in one
    other = replace(bench.assignment, rank=1, boot=7)
    again = command.environment(other, replace(start_of(1), workers=2), Furnished(""), **paths)
    assert again["MASTER_PORT"] == many["MASTER_PORT"], "all ranks of a launch meet at the same port"


@pytest.mark.parametrize(("gpus", "said"), [(None, None), ((), ""), (("2", "5"), "2,5")])
def test_devices_are_those_of_the_slots(bench: Bench, gpus: tuple[str, ...] | None, said: str | None) -> None:
    told: Assignment = replace(bench.assignment, gpus=gpus)
    start = start_of(1, env={"CUDA_VISIBLE_DEVICES": "7"}) if gpus is not None else start_of(1)
    environ = command.environment(told, start, Furnished(""), run="r", checkpoint="c", output="o", trainer_root="t")
    assert environ.get("CUDA_VISIBLE_DEVICES") == said


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (TargetKind.SCRIPT, "sub/train.py", "import sys, helper; print('ran', sys.argv[1:])"),
        (TargetKind.MODULE, "sub.train", "import sys; print('ran', sys.argv[1:])"),
        (TargetKind.SHELL, "sub/train.py", "echo \"ran ['$1']\""),
        (TargetKind.SHELL, "sub/train.py", f"#!{sys.executable}\nimport sys\nprint('ran', sys.argv[1:])"),
        (TargetKind.SHELL, "sub/train.py", "#!/usr/bin/env sh\necho \"ran ['$1']\""),
    ],
)
def test_scripts_modules_and_shell_scripts_run_in_the_working_directory(
    bench: Bench, kind: TargetKind, value: str, text: str
) -> None:
    bench.files |= {"sub/train.py": text, "sub/helper.py": "", "sub/__init__.py": ""}
    child = bench.child(target=Target(kind, value))
    child.clear("")
    child.start(start_of(1, "x"))
    assert wait_for_exit(child).code == 0, log(child)
    assert log(child) == "ran ['x']\n"


def test_the_library_is_told_about_its_attempt(bench: Bench) -> None:
    child = bench.run("pass", attempt=2, resumed_step=40, drill=Drill(steps_max=9, pauses={"2": "step:57"}))
    wait_for_exit(child)
    said = json.loads((Path(bench.paths.run) / "attempt.json").read_text())
    assert said == {
        "job": "job-1",
        "attempt": 2,
        "rank": 0,
        "workers": 1,
        "resumed_step": 40,
        "adopted": False,
        "evaluation": False,
        "continue_steps": False,
        "allow_changed": False,
        "steps_max": 9,
        "save_steps": None,
        "pause": "step:57",
        "machine_life_seconds": None,
    }
    files.put_json(Path(bench.paths.run) / "paused", {"at": "step:57"})
    assert child.paused() == "step:57"


# From attempt to attempt.


def test_every_attempt_begins_with_fresh_directories(bench: Bench) -> None:
    dirty = (
        "import os\n"
        "assert os.listdir('.') == ['train.py'], os.listdir('.')\n"
        "for name in ('OUTLAST_RUN_DIR', 'OUTLAST_CHECKPOINT_DIR', 'OUTLAST_OUTPUT_DIR'):\n"
        "    path = os.environ[name] + '/dirt'\n"
        "    assert not os.path.exists(path)\n"
        "    open(path, 'w').close()\n"
        "os.mkdir('locked'); open('locked/x', 'w').close(); os.chmod('locked', 0o500)\n"
    )
    for attempt in (1, 2, 3):
        child, exit = bench.finish(dirty, attempt=attempt)
        assert exit.code == 0, log(child)
        assert log(child) == "", "and with a log of its own"


def test_clear_ends_what_runs(bench: Bench) -> None:
    child = bench.run("import time; print('here', flush=True); time.sleep(60)")
    until(lambda: log(child), "it runs")
    child.clear("")
    assert child.exit() is None and not child.started(1)
    assert len(system.descendants(bench.pid)) == 1


def test_a_checkpoint_is_restored_as_it_was(bench: Bench) -> None:
    bench.files |= {"out/from-bundle": "b", "train.py": "print(open('out/a/log.csv').read(), end='')"}
    child = bench.child(output_dir="out")
    child.clear("")
    child.restore("checkpoint/step-000000000007/state.json", 0o640, [b"{", b"}"])
    child.restore("output/a/log.csv", 0o644, iter([b"row 1\n"]))
    child.restore("output/run.sh", 0o755, [])
    assert (Path(child.places.checkpoint) / "step-000000000007" / "state.json").read_bytes() == b"{}"
    out = Path(bench.paths.work) / "out"
    assert sorted(path.name for path in out.iterdir()) == ["a", "run.sh"], (
        "what the bundle had there was not there then"
    )
    assert [os.stat(out / name).st_mode & 0o777 for name in ("a/log.csv", "run.sh")] == [0o644, 0o755]
    child.start(start_of(2, resumed_step=7))
    assert wait_for_exit(child).code == 0
    assert log(child) == "row 1\n"


@pytest.mark.parametrize(
    "path", ["other/x", "checkpoint/", "checkpoint", "checkpoint/../x", "output//x", "output/./x", "/etc/x", ""]
)
def test_a_file_that_would_lead_elsewhere_is_refused(bench: Bench, path: str) -> None:
    child = bench.child()
    child.clear("")
    with pytest.raises(ValueError, match="neither a checkpoint's file nor an output"):
        child.restore(path, 0o644, [b"x"])


@pytest.mark.parametrize("name", ["/tmp/x", "../x", "a/../../x"])
def test_a_directory_of_the_users_must_be_inside_the_working_directory(bench: Bench, name: str) -> None:
    with pytest.raises(UsageError, match="not inside"):
        bench.child(checkpoint_dir=name)


def test_a_full_disk_while_restoring_is_told_as_such(bench: Bench) -> None:
    child = bench.child()
    child.clear("")

    def chunks() -> object:
        yield b"12345"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="disk was full after 5 bytes of `output/x`") as caught:
        child.restore("output/x", 0o644, chunks())  # type: ignore[arg-type]
    assert caught.value.errno == errno.ENOSPC


def test_a_trainer_that_fills_the_disk_does_not_hide_its_own_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    put = files.put

    def full(path: str, data: bytes, *, durable: bool = False) -> None:
        if os.path.basename(path).startswith("exit-") and Path(bench.paths.reserve).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        put(path, data, durable=durable)

    monkeypatch.setattr(files, "put", full)
    _, exit = bench.finish("raise SystemExit(1)")
    assert exit.code == 1


# Streams.


def test_streams_are_read_by_offset_and_what_is_sealed_is_given_back(bench: Bench) -> None:
    child, _ = bench.finish(
        "import os, sys\n"
        "os.write(1, b'a' * (3 << 20)); os.write(1, b'\\xff\\x00\\r end')\n"
        "open(os.environ['OUTLAST_RUN_DIR'] + '/metrics', 'w').write('{}\\n')\n"
    )
    assert child.stream_bytes("log") == (3 << 20) + 7
    assert child.stream_read("log", (3 << 20) - 1, 100) == b"a\xff\x00\r end"
    assert child.stream_read("metrics", 0, 100) == b"{}\n"
    spool = Path(bench.paths.spool) / "log"
    before = spool.stat().st_blocks
    child.stream_drop("log", (2 << 20) + 5)
    child.stream_drop("log", (2 << 20) + 6)
    assert child.stream_bytes("log") == (3 << 20) + 7, "offsets stay"
    assert child.stream_read("log", 2 << 20, 2) == b"aa"
    assert spool.stat().st_blocks <= before - (2 << 20) // 512
    child.stream_drop("metrics", 3)
    assert child.stream_read("metrics", 0, 100) == b"{}\n"


def test_before_it_is_started_there_is_nothing(bench: Bench) -> None:
    child = bench.child()
    assert (child.stream_bytes("log"), child.stream_read("metrics", 0, 9), child.step()) == (0, b"", None)
    assert (child.exit(), child.saved(0, last=False), child.timings(), child.paused()) == (None, None, {}, "")
    assert child.recall() is None
    child.end()


def test_what_the_library_measured_is_read(bench: Bench) -> None:
    child, _ = bench.finish(
        "import json, os\n"
        "run = os.environ['OUTLAST_RUN_DIR']\n"
        "open(run + '/progress', 'w').write('%020d\\n' % 57)\n"
        "open(run + '/timings.json', 'w').write(json.dumps({'saving': 1.5, 'restoring': 2}))\n"
    )
    assert child.step() == 57
    assert child.timings() == {"saving": 1.5, "restoring": 2.0}


def test_waiting_ends_when_the_trainer_does(bench: Bench) -> None:
    child = bench.run("import sys; sys.stdin.read()")
    child.wait(30)  # as long as this test may take, if it were not woken
    until(lambda: child.exit() is not None, "it ended")
