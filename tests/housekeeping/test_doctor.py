"""`outlast doctor`: real full disks, real limits, real processes that were left; and the command that it names mends each."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlast.clock import SYSTEM
from outlast.folder.layout import index
from outlast.host import health
from tests.bad_input.surroundings import SmallDisk, obey_modes
from tests.cli.user import User as Typist
from tests.cli.user import stop_everything


@pytest.fixture
def typist(tmp_path: Path) -> Iterator[Typist]:
    typist = Typist(tmp_path, {"OUTLAST_SUPERVISOR_IDLE_SECONDS": "0.2"})
    typist.work.mkdir()
    typist.outlast_dir.mkdir(mode=0o700)
    typist.write("train.py", "print('hello')\n")
    yield typist
    stop_everything(typist)


def found(typist: Typist, check: str, **changes: str) -> dict[str, Any]:
    said = typist.outlast("doctor", "--json", **changes)
    assert said.code in (0, 1), said.err
    one = next(one for one in said.json if one["check"].startswith(check))
    assert said.code == 1 or one["health"] != "bad"
    return dict(one)


def limited(files: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, 4000))


def test_a_computer_that_is_fit_is_told_so(typist: Typist) -> None:
    assert typist.outlast("run", "train.py").code == 0
    said = typist.outlast("doctor")
    assert said.code == 0, said.out
    assert "bad  " not in said.out and "python: 3." in said.out and "0 bad" in said.err
    assert found(typist, "clock")["health"] == "good"
    assert not list(typist.home.glob("doctor/*")), "its probe is gone"


def test_a_full_disk_is_bad(typist: Typist) -> None:
    disk = SmallDisk(typist.outlast_dir, "150m")
    try:
        typist.become = disk.enter
        (disk.seen / "home").mkdir()
        assert found(typist, "disk")["health"] == "good"
        disk.fill()
        one = found(typist, "disk")
        assert one["health"] == "bad" and "0 MB of" in one["fact"] and "outlast prune" in one["mend"]
        assert found(typist, "home")["health"] == "bad"
    finally:
        disk.close()


def test_a_directory_that_others_can_read_is_bad_and_its_command_mends_it(typist: Typist) -> None:
    typist.outlast_dir.chmod(0o755)
    one = found(typist, "directory")
    assert one["health"] == "bad" and "mode 755" in one["fact"]
    subprocess.run(["sh", "-c", one["mend"]], check=True)
    assert found(typist, "directory")["health"] == "good"


def test_files_that_others_can_write_are_bad_and_the_command_mends_it(typist: Typist) -> None:
    (typist.outlast_dir / "config.toml").write_text("")
    (typist.outlast_dir / "config.toml").chmod(0o666)
    one = found(typist, "files of yours")
    assert "config.toml" in one["fact"]
    subprocess.run(["sh", "-c", one["mend"]], check=True)
    assert "files of yours" not in typist.outlast("doctor").out


def test_few_open_files_are_told_with_a_limit_that_may_be_had(typist: Typist) -> None:
    typist.become = limited(100)
    one = found(typist, "files")
    assert one["health"] == "bad" and one["mend"] == "ulimit -n 4000"
    typist.become = limited(500)
    assert found(typist, "files")["health"] == "warning"
    typist.become = limited(4000)
    assert found(typist, "files")["health"] == "good"


def test_a_limit_without_end_is_one_however_the_system_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = (1 << 63) - 1
    monkeypatch.setattr(resource, "RLIM_INFINITY", endless)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, endless))
    assert health.limits() == {"files": (256, -1), "processes": (256, -1)}


def test_a_process_that_was_left_is_named_and_its_command_ends_it(typist: Typist) -> None:
    assert typist.outlast("run", "train.py").code == 0
    run = typist.outlast_dir / "local" / "machines" / "gone" / "0-1" / "run"
    code = "import time; print(1, flush=True); time.sleep(600)"
    left = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "OUTLAST_RUN_DIR": str(run)}, stdout=subprocess.PIPE
    )
    try:
        assert left.stdout is not None and left.stdout.readline() == b"1\n"
        one = found(typist, "processes")
        assert one["health"] == "bad" and one["mend"] == f"kill {left.pid}"
        subprocess.run(["sh", "-c", one["mend"]], check=True)
        left.wait(60)
        assert found(typist, "processes")["health"] == "good"
    finally:
        left.kill()
        left.wait()
        assert left.stdout is not None
        left.stdout.close()


def test_a_running_job_is_no_stray(typist: Typist) -> None:
    typist.write("slow.py", "import time; print('up', flush=True); time.sleep(600)\n")
    assert typist.outlast("run", "--detach", "--job-id", "slow", "slow.py").code == 0
    for _ in range(600):
        if "up" in typist.outlast("logs", "slow").out:
            break
        SYSTEM.sleep(0.1)
    assert found(typist, "processes")["health"] == "good"
    assert found(typist, "supervisor")["fact"].startswith("of `local` runs as process")
    assert typist.outlast("stop", "slow").code == 0


def test_directories_of_dead_machines_are_told_and_prune_removes_them(typist: Typist) -> None:
    dead = typist.outlast_dir / "local" / "machines" / "gone" / "0-1"
    dead.mkdir(parents=True)
    (dead / "machine.log").write_text("x")
    one = found(typist, "machines")
    assert one["health"] == "warning" and one["mend"] == "outlast prune --keep-jobs"
    assert typist.outlast("prune", "--keep-jobs", "--yes").code == 0
    assert found(typist, "machines")["health"] == "good"


def test_launches_without_a_supervisor_are_told(typist: Typist) -> None:
    launches = typist.outlast_dir / "local" / "launches"
    launches.mkdir(parents=True)
    (launches / "abc.json").write_text("{}")
    one = found(typist, "supervisor")
    assert one["health"] == "warning" and "1 launches" in one["fact"] and one["mend"] == "outlast jobs"


def test_a_home_that_cannot_be_written_is_bad(typist: Typist) -> None:
    typist.home.mkdir()
    typist.home.chmod(0o500)
    typist.become = obey_modes
    one = found(typist, "home")
    assert one["health"] == "bad" and one["mend"]


def test_programs_that_are_lacking_are_told(typist: Typist, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert found(typist, "git", PATH=str(empty))["health"] == "warning"
    one = found(typist, "python", PATH=str(empty), VIRTUAL_ENV="")
    assert one["health"] == "bad" and one["mend"]


def test_every_home_that_was_used_is_looked_at(typist: Typist, tmp_path: Path) -> None:
    other = tmp_path / "other home"
    assert typist.outlast("run", "--home", str(other), "train.py").code == 0
    assert found(typist, f"home {other}")["health"] == "good"


def test_a_clock_that_is_behind_what_was_submitted_is_said_with_what_sets_it(typist: Typist) -> None:
    assert typist.outlast("run", "train.py").code == 0
    later = index(SYSTEM.now() + 3600, "train-later", 1)
    (typist.home / later).write_bytes(b"")
    one = found(typist, "clock")
    assert one["health"] == "warning" and "`train-later`" in one["fact"] and "timedatectl" in one["mend"]


def test_a_damaged_list_of_homes_is_told_and_kept_when_the_next_one_begins(typist: Typist) -> None:
    path = typist.outlast_dir / "homes.json"
    path.write_text('["/somewhere/else"')
    one = found(typist, "homes")
    assert one["health"] == "warning" and str(path) in one["mend"]
    assert typist.outlast("run", "train.py").code == 0
    assert json.loads(path.read_text()) == [str(typist.home)]
    assert path.with_suffix(".damaged").read_text() == '["/somewhere/else"'
