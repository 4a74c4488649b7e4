"""Saving: behind the training, whole or not at all, within the memory and on the disk that there are."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlast
from outlast.errors import OutlastError
from outlast.training import cadence, memory, outputs
from outlast.training.cadence import Cadence, Cost, best_interval_seconds
from tests.training.lives import Killed, life, live, newest, notice, run_script, settle, steps_on_disk


def test_only_the_newest_two_stay_on_disk(tmp_path: Path) -> None:
    with life(tmp_path):
        for step in outlast.steps(6, outlast.State(a=1), save_steps=1):
            settle()
            assert steps_on_disk(tmp_path) == [s for s in (step, step - 1) if s > 0]
    assert steps_on_disk(tmp_path) == [6, 5]


def test_a_step_that_is_saved_twice_has_a_second_folder_and_the_newest_counts(tmp_path: Path) -> None:
    with life(tmp_path):
        loop = outlast.steps(3, outlast.State(a=1), save_steps=1)
        for _ in loop:
            settle()
            if loop._loop.step == 2:
                loop.stop()
        names = sorted(path.name for path in (tmp_path / "checkpoint").iterdir())
    assert names == ["step-000000000002", "step-000000000003"]
    live(tmp_path, lambda: list(outlast.steps(3, outlast.State(a=1), name="again")))
    with life(tmp_path):
        loop = outlast.steps(9, outlast.State(a=1), name="x", save_steps=1)
        next(loop)
        loop.stop()
        list(loop)
    with life(tmp_path, attempt=9):
        with outlast.checkpoint(1, wait=True) as folder:
            (folder / "mine").write_text("1")
        with outlast.checkpoint(1, wait=True) as folder:
            (folder / "mine").write_text("2")
    assert newest(tmp_path).path.name == "step-000000000001.3" and (newest(tmp_path).path / "mine").read_text() == "2"


def test_the_record_says_what_the_contract_says(tmp_path: Path) -> None:
    def script() -> None:
        (outlast.output_dir() / "sub").mkdir()
        (outlast.output_dir() / "sub" / "a.txt").write_text("hello")
        for _ in outlast.steps(2, outlast.State(w=np.zeros(3))):
            outlast.log(loss=0.5, bad=float("nan"))

    before = time.time()
    live(tmp_path, script, attempt=3)
    record = json.loads((newest(tmp_path).path / "checkpoint.json").read_text())
    assert {key: record[key] for key in ("format", "step", "complete", "attempt", "number", "metrics")} == {
        "format": 1,
        "step": 2,
        "complete": True,
        "attempt": 3,
        "number": 1,
        "metrics": {"loss": 0.5},
    }
    assert before <= record["created_at"] <= time.time()
    (output,) = record["outputs"]
    assert output["path"] == "sub/a.txt" and output["bytes"] == 5 and output["mode"] == 0o644 & ~umask()
    assert (tmp_path / "kept" / output["kept"]).read_text() == "hello"
    seconds = json.loads((tmp_path / "timings.json").read_text())
    assert set(seconds) == {"saving", "restoring", "writing"} and seconds["saving"] > 0
    assert (tmp_path / "progress").read_bytes() == b"%020d\n%020d\n" % (2, 2)
    assert not (tmp_path / "loop").exists()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_in_the_state_depends_on_who_saved_it_and_when(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> None:
        np.random.seed(1)
        state = outlast.State(w=np.zeros(5), b={"x": 1})
        for step in outlast.steps(6, state, save_steps=2):
            state.w = state.w + np.random.random(5)
            state.late = step
            settle()
            if step == kill_at:
                raise Killed

    live(tmp_path / "a", lambda: script(None))
    live(tmp_path / "b", lambda: script(3))
    live(tmp_path / "b", lambda: script(None))
    for name in ("state.json", "tensors.safetensors"):
        assert (newest(tmp_path / "a").path / name).read_bytes() == (newest(tmp_path / "b").path / name).read_bytes()


# --------------------------------------------------------------------------------------------------------- outputs


def test_outputs_are_kept_as_they_were_at_the_save(tmp_path: Path) -> None:
    with life(tmp_path):
        log = outlast.output_dir() / "log.csv"
        same = outlast.output_dir() / "same.bin"
        same.write_bytes(b"x" * 1000)
        seen = {}
        for step in outlast.steps(4, outlast.State(a=1), save_steps=1):
            settle()
            if step:
                found = newest(tmp_path)
                kept = {o["path"]: (tmp_path / "kept" / o["kept"]) for o in found.record["outputs"]}
                assert kept["log.csv"].read_text() == "row\n" * step
                seen[step] = kept["same.bin"].stat().st_ino
            with log.open("a") as file:
                file.write("row\n")
        assert len(set(seen.values())) == 1, "what has not changed is not copied again"
    needed = {
        o["kept"]
        for folder in (tmp_path / "checkpoint").iterdir()
        for o in json.loads((folder / "checkpoint.json").read_text())["outputs"]
    }
    assert {path.name for path in (tmp_path / "kept").iterdir()} == needed


def test_large_outputs_are_linked_and_links_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "COPY_BYTES_MAX", 10)
    out, kept = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    (out / "large").write_bytes(b"x" * 11)
    (out / "small").write_bytes(b"x" * 10)
    (out / "link").symlink_to("/etc/passwd")
    (out / "loop").symlink_to(out)
    records = {item.path: item for item in outputs.keep_outputs(out, kept)}
    assert set(records) == {"large", "small"}
    assert (kept / records["large"].kept).samefile(out / "large")
    assert not (kept / records["small"].kept).samefile(out / "small")
    (out / "large").open("ab").write(b"more")
    assert (kept / records["large"].kept).read_bytes()[: records["large"].bytes] == b"x" * 11


def test_standing_alone_the_outputs_go_back_to_the_checkpoint(tmp_path: Path) -> None:
    def script(kill_at: int | None) -> str:
        log = outlast.output_dir() / "log.csv"
        with log.open("a") as file:
            for step in outlast.steps(8, outlast.State(a=1), save_steps=3):
                file.write(f"{step}\n")
                file.flush()
                settle()
                if step == kill_at:
                    raise Killed
        return log.read_text()

    live(tmp_path, lambda: script(5))
    assert (tmp_path / "output" / "log.csv").read_text() == "0\n1\n2\n3\n4\n5\n"
    assert live(tmp_path, lambda: script(None)) == "".join(f"{step}\n" for step in range(8))


# ---------------------------------------------------------------------------------------------- memory and disk


SCRIPT = """
import resource, sys, numpy as np, outlast
{before}
state = outlast.State(w=np.zeros({size} // 8), n=0)
for step in outlast.steps({steps}, state, save_steps=1):
    state.w = state.w + 1
    state.n += 1
    {body}
print("below", state.n)
"""


def test_short_of_memory_it_saves_without_a_copy_and_says_so_once(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    limit = (
        "pages = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "limit = pages + 300 * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))"
    )
    script.write_text(
        SCRIPT.format(before=limit, size=200 << 20, steps=4, body="").replace("state.w + 1", "state.w; state.w += 1")
    )
    code, out, err = run_script(script, tmp_path / "run")
    assert (code, out) == (0, "below 4\n"), err
    assert err.count("not enough memory for a copy of the state (200 MiB)") == 1
    assert newest(tmp_path / "run").step == 4


SETTLED = "outlast.training.context.current().saver.wait_for_memory(); outlast.training.context.current().saver.wait()"
"""A body that lasts until what was begun at the boundary before it is done: on a busy machine a save takes longer than any fixed time."""


def test_a_full_disk_never_ends_the_training_but_the_last_save_must_succeed(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk without room: the error comes in the middle of a write."""
    script = tmp_path / "train.py"
    body = f"{SETTLED}\n    if step == 3: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))"
    script.write_text(SCRIPT.format(before="", size=8 << 20, steps=12, body=body))
    code, out, err = run_script(script, tmp_path / "run")
    assert code == 1 and out == "", "nothing below the loop has run"
    assert (
        "warning: the checkpoint of step" in err
        and "training goes on, the last checkpoint in place is that of step" in err
    )
    assert "OutlastError: the checkpoint could not be written: [Errno 27] File too large" in err
    run_dir = tmp_path / "run"
    assert steps_on_disk(run_dir)[0] == 3
    assert not list((run_dir / "checkpoint").glob(".saving-*")), "half a save is not left behind"


def test_a_disk_that_has_room_again_is_used_again(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    body = (
        f"{SETTLED}\n"
        "    if step == 3: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))\n"
        "    if step == 6: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    )
    script.write_text(SCRIPT.format(before="", size=8 << 20, steps=12, body=body))
    code, out, err = run_script(script, tmp_path / "run")
    assert (code, out) == (0, "below 12\n") and "could not be written" in err
    assert newest(tmp_path / "run").complete


def test_memory_is_what_the_control_group_allows(tmp_path: Path) -> None:
    def put(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    assert memory.system_bytes(tmp_path) == (None, None) and memory.fits(1 << 60, tmp_path)
    put("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  800 kB\n")
    assert memory.system_bytes(tmp_path) == (1000 << 10, 800 << 10)
    assert memory.fits(700 << 10, tmp_path) and not memory.fits(701 << 10, tmp_path), "a tenth is left free"
    put("proc/self/cgroup", "0::/job\n")
    put("sys/fs/cgroup/job/memory.max", "409600\n")
    put("sys/fs/cgroup/job/memory.current", "309600\n")
    put("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 1000\n")
    assert memory.system_bytes(tmp_path) == (409600, 101000)
    put("sys/fs/cgroup/job/memory.max", "max\n")
    put("proc/self/cgroup", "5:cpu,memory:/old\n")
    put("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "500000\n")
    put("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "100000\n")
    assert memory.system_bytes(tmp_path) == (500000, 400000)


MAC = """\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               10000.
Pages active:                            400000.
Pages inactive:                           30000.
Pages speculative:                         2000.
Pages throttled:                              0.
Pages wired down:                        120000.
"Translation faults":                 987654321.
File-backed pages:                       150000.
"""


def test_memory_on_a_mac_is_what_its_vm_stat_tells(tmp_path: Path) -> None:
    program = tmp_path / "usr" / "bin" / "vm_stat"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{MAC}END\n")
    program.chmod(0o755)
    assert memory.system_bytes(tmp_path)[1] == 42000 * 16384
    assert not memory.fits(42001 * 16384, tmp_path)
    for broken in ("#!/bin/sh\necho nothing of the kind\n", "#!/bin/sh\nexit 1\n"):
        program.write_text(broken)
        assert memory.system_bytes(tmp_path) == (None, None) and memory.fits(1 << 60, tmp_path)


def test_a_growing_state_gets_more_memory(tmp_path: Path) -> None:
    with life(tmp_path):
        state = outlast.State(w=np.zeros(10))
        for step in outlast.steps(40, state, save_steps=1):
            state.w = np.full(1 + step * 200_000, step)
            outlast.training.context.current().saver._arena.wait()
            settle()
    with life(tmp_path):
        state = outlast.State()
        list(outlast.steps(40, state))
        assert state.w.shape == (39 * 200_000 + 1,) and set(np.unique(state.w)) == {39}


# ----------------------------------------------------------------------------------------------------- how often


def test_the_interval_is_young_and_dalys_within_its_bounds() -> None:
    assert best_interval_seconds(Cost(2.0, 0.0), 3600 * 24) == pytest.approx(math.sqrt(2 * 2.0 * 3600 * 24))
    assert best_interval_seconds(Cost(0.0, 5.0), 3600) == pytest.approx(math.sqrt(2 * 0.5 * 3600))
    assert best_interval_seconds(Cost(100.0, 0.0), 60) == 100 / cadence.STALL_SHARE_MAX, (
        "never more than 1% of the time"
    )
    assert best_interval_seconds(Cost(0.0, 60.0), 60) == 60 / cadence.WRITING_SHARE_MAX
    assert best_interval_seconds(Cost(0.0, 0.0), None) == cadence.INTERVAL_SECONDS_MIN


def test_the_first_save_comes_early_and_later_ones_as_often_as_pays() -> None:
    plan = Cadence()
    plan.begin(100.0, 0)
    assert not plan.due(100.1, 1, None) and plan.due(100.3, 1, None)
    plan.saved(100.3, 1)
    assert not plan.due(500.0, 1, Cost(0, 0)), "the same step is not saved again"
    interval = best_interval_seconds(Cost(0.01, 0.1), None)
    assert not plan.due(100.3 + interval - 0.1, 2, Cost(0.01, 0.1)) and plan.due(100.4 + interval, 2, Cost(0.01, 0.1))


def test_steps_and_seconds_that_are_set_are_kept_to() -> None:
    plan = Cadence(every_steps=10)
    plan.begin(0.0, 7)
    assert [step for step in range(8, 41) if plan.due(1e9, step, None) and not plan.saved(0.0, step)] == [
        10,
        20,
        30,
        40,
    ]
    plan = Cadence(every_seconds=60.0)
    plan.begin(0.0, 0)
    assert not plan.due(59.0, 5, None) and plan.due(60.0, 5, None)


def test_even_a_short_job_has_a_checkpoint_before_its_end(tmp_path: Path) -> None:
    with life(tmp_path):
        for _ in outlast.steps(200, outlast.State(w=np.zeros(1000))):
            time.sleep(0.01)
            if steps_on_disk(tmp_path):
                return
    raise AssertionError("never saved")


def test_a_save_that_is_due_while_one_is_written_waits_for_a_later_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with life(tmp_path) as here:
        loop = outlast.steps(100, outlast.State(a=1), save_steps=1)
        next(loop)
        monkeypatch.setattr(type(here.saver), "busy", lambda self: True)
        for _ in range(5):
            next(loop)
        assert steps_on_disk(tmp_path) == []
        monkeypatch.undo()
        next(loop)
        settle()
        assert steps_on_disk(tmp_path) == [6]


def test_a_notice_that_leaves_time_saves_even_if_nothing_was_due(tmp_path: Path) -> None:
    with life(tmp_path):
        loop = outlast.steps(100, outlast.State(a=1), save_every="1h")
        next(loop)
        next(loop)
        notice(tmp_path, 60)
        assert outlast.should_stop() and 50 < outlast.seconds_left() <= 60
        with pytest.raises(outlast.Interrupted) as caught:
            next(loop)
        assert caught.value.code == 75 and isinstance(caught.value, SystemExit)
        assert list(loop) == []
    assert steps_on_disk(tmp_path) == [2]


def test_a_notice_that_comes_with_the_last_step_does_not_keep_the_loop_from_its_end(tmp_path: Path) -> None:
    def script() -> str:
        for step in outlast.steps(3, outlast.State(a=1)):
            if step == 2:
                notice(tmp_path, 60)
        return "below"

    assert live(tmp_path, script) == "below" and newest(tmp_path).complete


def test_a_last_save_that_fails_still_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with life(tmp_path):
        loop = outlast.steps(100, outlast.State(a=1), save_every="1h")
        next(loop)
        monkeypatch.setattr("outlast.training.save.disk.write_file", full)
        notice(tmp_path, 60)
        with pytest.raises(outlast.Interrupted):
            next(loop)
        assert "No space left" in capsys.readouterr().err
        monkeypatch.undo()
    assert steps_on_disk(tmp_path) == []


def test_an_unreadable_attempt_is_named(tmp_path: Path) -> None:
    (tmp_path / "attempt.json").write_text("{")
    with pytest.raises(OutlastError, match=r"attempt\.json.* is not JSON"), life(tmp_path):
        pass
