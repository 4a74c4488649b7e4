"""Lives of a trainer for tests: in this process where that is enough, as real processes where it is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outlast.training import context, disk, say

LIMIT_SECONDS = 120.0
"""For conditions that come about in far less on any machine."""


class Killed(BaseException):
    """Stands for kill -9 inside this process: nothing that the script does survives it."""


@contextmanager
def life(run_dir: Path | None, **attempt: Any) -> Iterator[context.Context]:
    """Everything that outlast does inside is done as by a process that was started in that run directory."""
    before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OUTLAST_")}
    say._said.clear()
    if run_dir is not None:
        os.environ["OUTLAST_RUN_DIR"] = str(run_dir)
        run_dir.mkdir(parents=True, exist_ok=True)
        if attempt:
            (run_dir / "attempt.json").write_text(json.dumps(attempt))
    context.forget()
    here = None
    try:
        here = context.current()
        yield here
    finally:
        if here is not None and here._saver is not None and not here._saver.paused:
            here._saver.finish()
        for name in list(os.environ):
            if name.startswith("OUTLAST_"):
                del os.environ[name]
        os.environ.update(before)
        context.forget()


def live(run_dir: Path | None, work: Callable[[], Any], **attempt: Any) -> Any:
    """One life; `Killed` ends it."""
    with life(run_dir, **attempt):
        try:
            return work()
        except Killed:
            return None


def settle() -> None:
    """Saves are written in the background: waits until nothing is being written."""
    here = context.current()
    if here.run_dir is not None:
        here.saver.wait()


def newest(run_dir: Path) -> disk.Found:
    return disk.list_checkpoints(run_dir / "checkpoint")[0]


def steps_on_disk(run_dir: Path) -> list[int]:
    return [found.step for found in disk.list_checkpoints(run_dir / "checkpoint")]


def notice(run_dir: Path, seconds: float, reason: str = "preempted") -> None:
    disk.write_json_in_place(
        run_dir / "notice.json", {"reason": reason, "leave_by_monotonic": time.monotonic() + seconds}
    )


# ------------------------------------------------------------------------------------------------- real processes


class Trainer:
    """A script as a real process, with its run directory."""

    def __init__(self, script: Path, run_dir: Path | None, *args: str, env: dict[str, str] | None = None) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OUTLAST_")}
        environ["PYTHONPATH"] = str(Path(context.__file__).parents[2])
        environ["OMP_NUM_THREADS"] = "1"
        if run_dir is not None:
            environ["OUTLAST_RUN_DIR"] = str(run_dir)
        environ.update(env or {})
        self.process = subprocess.Popen(
            [sys.executable, str(script), *args],
            env=environ,
            cwd=script.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=LIMIT_SECONDS)
        return self.process.returncode, out, err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=LIMIT_SECONDS)

    def wait_for(self, condition: Callable[[], Any]) -> None:
        """Until it holds; a trainer that ends before that is an error."""
        limit = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if self.process.poll() is not None and not condition():
                raise AssertionError(f"the trainer ended before it held: {self.end()}")
            if time.monotonic() > limit:
                self.process.kill()
                raise AssertionError(f"it never held: {self.end()}")
            time.sleep(0.005)


def run_script(
    script: Path, run_dir: Path | None, *args: str, env: dict[str, str] | None = None
) -> tuple[int, str, str]:
    return Trainer(script, run_dir, *args, env=env).end()


def progress(run_dir: Path) -> int:
    try:
        return int(((run_dir / "progress").read_text().split() or ["-1"])[0])
    except FileNotFoundError:
        return -1


def write_attempt(run_dir: Path, **attempt: Any) -> None:
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "attempt.json").write_text(json.dumps(attempt))
    (run_dir / "paused").unlink(missing_ok=True)
    (run_dir / "notice.json").unlink(missing_ok=True)


def next_machine(run_dir: Path, to: Path, home: Path) -> None:
    """What the agent does: commits the newest save of this attempt, and brings the newest commit to another machine."""
    attempt = json.loads((run_dir / "attempt.json").read_text())["attempt"]
    found = [one for one in disk.list_checkpoints(run_dir / "checkpoint") if one.attempt == attempt]
    if found:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(found[0].path, home / "checkpoint" / found[0].path.name)
        for output in found[0].record["outputs"]:
            place = home / "output" / output["path"]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((run_dir / "kept" / output["kept"]).read_bytes()[: output["bytes"]])
    if home.exists():
        shutil.copytree(home, to)
    write_attempt(to, attempt=attempt + 1)
