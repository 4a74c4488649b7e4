"""Logs of any size and any bytes: kept within their limits, shown with their gaps, and harmless on a terminal."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from outlast.agent.streams import FIRST_BYTES_KEPT, NEWEST_BYTES_KEPT
from tests.bad_input.surroundings import assert_nothing_runs
from tests.cli.user import OUTLAST, User
from tests.waiting import until

FLOOD = """
import sys
line = b"%015d " + b"x" * 1007 + b"\\n"
out = sys.stdout.buffer
for number in range(0, int(sys.argv[1]), 1024):
    out.write(b"".join(line % (number + one) for one in range(1024)))
"""
LINE_BYTES = 1024
TERMINAL_BYTES_MAX = 5_000_000
AGENT_BYTES_MAX = 150 << 20
"""A bite of a backlog is 8 MiB; the whole log is many times this."""


def agent_pids(user: User) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "outlast-agent\n" and bytes(user.root) in (
                (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            ):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


KEPT_BYTES = FIRST_BYTES_KEPT + NEWEST_BYTES_KEPT


@pytest.mark.parametrize("size", [200 << 20, pytest.param(KEPT_BYTES + (200 << 20), marks=pytest.mark.soak)])
def test_a_flood_keeps_its_beginning_and_its_newest_part_and_costs_no_memory(user: User, size: int) -> None:
    """As fast as a disk takes it."""
    lines = size // LINE_BYTES // 1024 * 1024
    user.write("train.py", FLOOD)
    job = user.start("run", "--job-id", "flood", "train.py", "--", str(lines), stdout=subprocess.DEVNULL)
    peak = 0

    def ended() -> bool:
        nonlocal peak
        peak = max([peak, *map(peak_bytes, agent_pids(user))])
        return job.poll() is not None

    until(ended, "the end of the flood")
    assert job.returncode == 0 and 0 < peak < AGENT_BYTES_MAX, peak
    with subprocess.Popen(
        [*OUTLAST, "logs", "flood"],
        cwd=user.work,
        env=user.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as logs:
        assert logs.stdout is not None and logs.stderr is not None
        kept = 0
        while data := logs.stdout.read(1 << 20):
            kept += len(data)
        said = logs.stderr.read().decode()
    gap = re.search(r"… ([\d,]+) bytes missing …", said)
    assert (gap is not None) == (size > KEPT_BYTES), said
    assert kept + (int(gap[1].replace(",", "")) if gap else 0) == lines * LINE_BYTES
    assert gap is None or abs(kept - KEPT_BYTES) < 16 << 20


@pytest.mark.parametrize(
    "writes",
    [
        "out.write(b'x' * 50_000_000)",
        "[out.write(b'\\r%3d%%' % (number % 101)) for number in range(100_000)]",
        "out.write(bytes(range(256)) * 4000)",
        "out.write(b'\\xff\\xfe\\xc3(\\xe2\\x82' * 10_000 + b'\\n')",
        "out.write(b'\\x1b[2J\\x1b]0;title\\x07\\x1b[31mred\\x1b[0m\\x9b2J\\x1bP$q\\x1b\\\\\\x1b[6n\\n' * 1000)",
    ],
)
def test_any_bytes_are_kept_to_the_byte_and_harmless_on_a_terminal(user: User, writes: str) -> None:
    user.write("train.py", f"import sys\nout = sys.stdout.buffer\n{writes}\nout.flush()")
    expected = subprocess.run(["python3", user.work / "train.py"], capture_output=True, check=True).stdout
    said = user.outlast("run", "--job-id", "bytes", "train.py")
    assert said.code == 0 and hashlib.sha256(said.raw).digest() == hashlib.sha256(expected).digest()
    assert_nothing_runs(user)
    logged = user.outlast("logs", "bytes")
    assert logged.code == 0 and hashlib.sha256(logged.raw).digest() == hashlib.sha256(expected).digest()
    if len(expected) > TERMINAL_BYTES_MAX:
        return  # a terminal takes minutes for it
    seen = user.on_terminal("logs", "bytes")
    assert seen.code == 0
    text = re.sub(rb"\x1b\[[0-9;]*m|\x1b\[K", b"", seen.raw)  # colours, and our own erasing of a folded line
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", text)
    text.decode()  # what reaches a terminal is text


def test_a_trainer_that_truncates_or_replaces_its_log_ends_all_the_same(user: User) -> None:
    """It finds its spool by its own descriptor."""
    user.write(
        "train.py",
        "import os, sys, time\nprint('before', flush=True)\ntime.sleep(1)\n"
        "spool = os.readlink('/proc/self/fd/1')\nos.truncate(spool, 0)\nos.unlink(spool)\nos.mkfifo(spool)\n"
        "print('after', flush=True)",
    )
    said = user.outlast("run", "--job-id", "own", "train.py")
    assert said.code == 0 and "Traceback" not in said.err, said.err
    assert user.outlast("logs", "own").code == 0
    assert_nothing_runs(user)
