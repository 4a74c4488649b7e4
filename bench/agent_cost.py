"""What the agent takes from a machine while the trainer trains: memory and CPU between checkpoints."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, clean_environment, command, limit_row

SECONDS = 30
OUTLAST = str(Path(sys.executable).with_name("outlast"))
SLEEPER = "import time\nfor _ in range(600):\n    print('.', flush=True)\n    time.sleep(1)\n"


def rows(scratch: Path) -> Iterator[Row]:
    environment = clean_environment(scratch)
    work = scratch / "work"
    work.mkdir()
    (work / "sleeper.py").write_text(SLEEPER)
    command([OUTLAST, "run", "--detach", "--job-id", "sleeper", "sleeper.py"], cwd=work, env=environment)()
    try:
        agents = _wait_for_machine(scratch)
        before = sum(_cpu_seconds(pid) for pid in agents)
        time.sleep(SECONDS)
        share = (sum(_cpu_seconds(pid) for pid in agents) - before) / SECONDS
        memory = sum(_own_bytes(pid) for pid in agents)
    finally:
        subprocess.run([OUTLAST, "stop", "sleeper"], env=environment, check=True, capture_output=True)
    yield limit_row(
        "agent and init between checkpoints: memory of their own", memory / 2**20, 40, lambda one: f"{one:.1f} MB"
    )
    yield limit_row("agent and init between checkpoints: CPU", share * 100, 1, lambda one: f"{one:.2f}% of a core")


def _wait_for_machine(scratch: Path) -> list[int]:
    """Init and agent: the processes of the machine that are not the trainer."""
    for _ in range(300):
        trainers = [pid for pid in _processes() if "sleeper.py" in _command(pid) and str(scratch) in _environment(pid)]
        if trainers:
            init = _parent(trainers[0])
            return [init, *(pid for pid in _processes() if _parent(pid) == init and pid not in trainers)]
        time.sleep(0.1)
    raise SystemExit("the job did not start")


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _command(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline")


def _environment(pid: int) -> str:
    return _read(f"/proc/{pid}/environ")


def _parent(pid: int) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else 0


def _cpu_seconds(pid: int) -> float:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _own_bytes(pid: int) -> int:
    """Proportional set size: pages shared with the supervisor by the fork count by their share."""
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
