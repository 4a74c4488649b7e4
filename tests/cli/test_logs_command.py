"""`outlast logs`, for real: hostile, large, live, and with no machine alive."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.cli.test_clean import ALLOWED, HOSTILE
from tests.cli.user import OUTLAST, SECONDS_MAX, User

HOSTILE_BYTES = b"".join(f"[{i}]{one}\n".encode() for i, one in enumerate(HOSTILE)) + b"\xff\xfe\r50%\r\x80the end\n"
WRITES = "import sys, pathlib\nsys.stdout.buffer.write(pathlib.Path('bytes.bin').read_bytes())\n"
OURS = re.compile(rb"\r\x1b\[K|\r\n")


@pytest.fixture
def hostile(user: User) -> User:
    user.write("train.py", WRITES)
    (user.work / "bytes.bin").write_bytes(HOSTILE_BYTES)
    assert user.outlast("run", "--job-id", "hostile", "train.py").raw == HOSTILE_BYTES
    return user


def test_in_a_pipe_hostile_bytes_are_bytes(hostile: User) -> None:
    assert hostile.outlast("logs").raw == HOSTILE_BYTES
    for also in ([], ["-f"]):
        assert hostile.outlast("logs", "-n", "1", *also).raw == HOSTILE_BYTES.split(b"\n")[-2] + b"\n"


@pytest.mark.parametrize(
    "command", [["logs", "hostile"], ["logs", "-f", "hostile"], ["run", "--job-id", "again", "train.py"]]
)
def test_on_a_terminal_nothing_hostile_is_obeyed(hostile: User, command: list[str]) -> None:
    said = hostile.on_terminal(*command)
    assert said.code == 0
    left = ALLOWED.sub("", OURS.sub(b"", said.raw).decode())
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", left) == []
    for number in range(len(HOSTILE)):
        assert f"[{number}]" in left
    assert "the end" in left


def test_show_and_errors_obey_nothing_either(hostile: User) -> None:
    hostile.write("train.py", WRITES + "sys.exit(1)\n")
    hostile.outlast("run", "--job-id", "failed", "train.py")
    raw = hostile.on_terminal("show", "failed", NO_COLOR="1").raw
    assert re.findall(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", raw) == []


def test_objects_one_per_line(hostile: User) -> None:
    import json

    pieces = [json.loads(line) for line in hostile.outlast("logs", "--json").out.splitlines()]
    assert pieces[0] == {"kind": "begin", "attempt": 1, "resumed_from_step": None}
    assert pieces[-1] == {"kind": "end", "attempt": 1, "cause": "succeeded"}
    assert "".join(one["text"] for one in pieces[1:-1]) == HOSTILE_BYTES.decode(errors="replace")


def test_a_line_of_the_trainer_is_seen_while_it_goes_on(user: User) -> None:
    """The trainer waits after each line until the reader has seen it: nothing is held back, and nothing ends to set it free.

    How quickly that is belongs to `make bench`.
    """
    user.write(
        "train.py",
        "import pathlib, time\n"
        "for number in range(20):\n"
        "    print('line', number, flush=True)\n"
        f"    while not pathlib.Path({str(user.root)!r}, f'seen-{{number}}').exists(): time.sleep(0.005)\n",
    )
    running = user.start("run", "train.py", stderr=subprocess.DEVNULL)
    assert running.stdout is not None
    for number in range(20):
        assert running.stdout.readline() == b"line %d\n" % number
        (user.root / f"seen-{number}").touch()
    assert running.wait(SECONDS_MAX) == 0


def test_a_hundred_megabytes_arrive_whole(user: User) -> None:
    user.write(
        "train.py",
        "import sys\nblock = bytes(range(256)) * 4096\nfor _ in range(100): sys.stdout.buffer.write(block)\n",
    )
    running = user.start("run", "train.py", stderr=subprocess.DEVNULL)
    assert running.stdout is not None
    expected, received = bytes(range(256)) * 4096, 0
    while block := running.stdout.read(1 << 20):
        assert block == expected[: len(block)]
        received += len(block)
    assert running.wait(SECONDS_MAX) == 0 and received == 100 << 20


def test_a_line_without_end_is_shown_in_constant_memory(user: User) -> None:
    user.write("train.py", "import sys\nfor _ in range(64): sys.stdout.write('x' * (1 << 20))\n")
    assert user.outlast("run", "--detach", "--job-id", "endless", "train.py").code == 0
    reader = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "print(len(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    import sys

    from tests.cli.user import OUTLAST

    done = subprocess.run(
        [sys.executable, "-c", reader, *OUTLAST, "logs", "-f", "endless"],
        env=user.environ(), cwd=user.work, capture_output=True, text=True, check=True,
    )  # fmt: skip
    size_bytes, peak_kilobytes = (int(word) for word in done.stdout.split())
    assert size_bytes == 64 << 20 and peak_kilobytes < 120_000


def test_a_reader_that_has_seen_enough_ends_it_quietly(hostile: User) -> None:
    hostile.write("train.py", "for i in range(200000): print('line', i)")
    hostile.outlast("run", "--job-id", "long", "--detach", "train.py")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", '"$@" | head -n 2', "-", *OUTLAST, "logs", "-f", "long"],
        env=hostile.environ(), cwd=hostile.work, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"line 0\nline 1\n", b"")


def test_following_ends_as_the_job_does(user: User) -> None:
    user.write("train.py", "print('x'); raise SystemExit(5)")
    user.outlast("run", "--detach", "--job-id", "fails", "train.py")
    said = user.outlast("logs", "-f", "--polling-interval", "0.01")
    assert (said.code, said.out) == (1, "x\n")
    assert user.outlast("logs").code == 0


def test_a_log_needs_no_machine_and_no_supervisor(hostile: User) -> None:
    os.rename(hostile.outlast_dir / "local", hostile.outlast_dir / "gone")
    assert hostile.outlast("logs", "hostile").raw == HOSTILE_BYTES
    os.rename(hostile.outlast_dir / "gone", hostile.outlast_dir / "local")


def test_a_gap_is_shown_on_a_terminal_and_told_beside_a_pipe(hostile: User) -> None:
    """As if the first 1,204 bytes of the log had never been sealed."""
    folder = hostile.home / "jobs/hostile/attempts/000001/log/0"
    (segment,) = folder.iterdir()
    segment.rename(folder / segment.name.replace("0" * 15, f"{1204:015d}"))
    said = hostile.outlast("logs", "hostile")
    assert said.raw == HOSTILE_BYTES and "… 1,204 bytes missing …" in said.err
    assert "… 1,204 bytes missing …" in hostile.on_terminal("logs", "hostile", NO_COLOR="1").out
