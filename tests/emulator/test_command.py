"""`outlast emulator`, and the fixture."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from outlast_emulator.testing import Running, running

OUTLAST = [sys.executable, "-m", "outlast.cli"]
ASK = """
import json, os, sys, urllib.request
url = os.environ["OUTLAST_EMULATOR"]
with urllib.request.urlopen(url + "/storage/v1/b?project=" + os.environ["GOOGLE_CLOUD_PROJECT"]) as answer:
    print(json.load(answer)["kind"])
sys.exit(7)
"""


def test_a_command_gets_the_variables_and_its_exit_code_is_passed_on(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*OUTLAST, "emulator", "--data", str(tmp_path), "--", sys.executable, "-c", ASK], capture_output=True, text=True
    )

    assert (ended.returncode, ended.stdout) == (7, "storage#buckets\n")


def test_options_behind_the_dashes_belong_to_the_command() -> None:
    ended = subprocess.run(
        [*OUTLAST, "emulator", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--data", "--json"],
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, ended.stdout) == (0, "['--data', '--json']\n")


def test_a_command_that_a_signal_ended_counts_as_a_shell_counts_it() -> None:
    kill = "import os; os.kill(os.getpid(), 15)"
    ended = subprocess.run([*OUTLAST, "emulator", "--", sys.executable, "-c", kill], capture_output=True)

    assert ended.returncode == 128 + 15


def test_a_command_that_is_not_there_is_127_and_named() -> None:
    ended = subprocess.run([*OUTLAST, "emulator", "--", "no-such-program"], capture_output=True, text=True)

    assert ended.returncode == 127
    assert "`no-such-program`" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("as_json", [True, False], ids=["json", "words"])
def test_without_a_command_it_serves_until_a_signal_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, as_json: bool
) -> None:
    options = ["--json"] if as_json else []
    child = subprocess.Popen(
        [*OUTLAST, "emulator", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    if as_json:
        document = json.loads(line)
        assert set(document) == {"url", "pid", "variables"}
        assert document["variables"]["OUTLAST_EMULATOR"] == document["url"]
        url = document["url"]
    else:
        name, url = line.strip().split("=", 1)
        assert name == "export OUTLAST_EMULATOR"
    assert Running(url, tmp_path).call("GET", "/_emulator/clock").status == 200

    child.send_signal(number)

    assert child.wait(60) == 0
    child.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named_with_what_helps(emulator: Running) -> None:
    port = emulator.url.rsplit(":", 1)[1]
    ended = subprocess.run([*OUTLAST, "emulator", "--port", port, "--", "true"], capture_output=True, text=True)

    assert ended.returncode == 2
    assert f"port {port}" in ended.stderr
    assert "hint:" in ended.stderr


@pytest.mark.parametrize("options", [["--port", "-1"], ["--port", "x"], ["--time-scale", "0"], ["--time-scale", "x"]])
def test_values_that_cannot_be_are_refused(options: list[str]) -> None:
    ended = subprocess.run([*OUTLAST, "emulator", *options, "--", "true"], capture_output=True, text=True)

    assert ended.returncode == 2
    assert options[0] in ended.stderr


def test_json_is_printed_before_the_command_begins() -> None:
    ended = subprocess.run(
        [*OUTLAST, "emulator", "--json", "--", "sh", "-c", "echo $OUTLAST_EMULATOR"], capture_output=True, text=True
    )
    first, second = ended.stdout.splitlines()
    assert json.loads(first)["variables"]["OUTLAST_EMULATOR"] == json.loads(first)["url"] == second


COUNTS = """
import os, signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
if sys.argv[1:]:
    os.setsid()
print("ready", flush=True)
until = time.monotonic() + float(sys.argv[1] if sys.argv[1:] else 60)
while not got and time.monotonic() < until:
    time.sleep(0.01)
print("interrupted", len(got), flush=True)
"""


def test_a_terminals_interrupt_reaches_the_command_by_the_terminal_alone() -> None:
    """It goes to both of them: a command that got it once more would take it for somebody's second one."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(OUTLAST[0], [*OUTLAST, "emulator", "--", sys.executable, "-c", COUNTS, "2"])
    until(terminal, b"ready\r\n")
    os.write(terminal, b"\x03")
    assert b"interrupted 0\r\n" in until(terminal, b" 0\r\n", b" 1\r\n"), "it has left the terminal"
    os.close(terminal)
    os.waitpid(pid, 0)


def test_an_interrupt_of_the_emulator_is_passed_on() -> None:
    child = subprocess.Popen(
        [*OUTLAST, "emulator", "--", sys.executable, "-c", COUNTS], stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == b"interrupted 1\n"


def until(terminal: int, *words: bytes) -> bytes:
    said = b""
    while not any(one in said for one in words):
        said += os.read(terminal, 1000)
    return said


def test_data_of_another_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with running(tmp_path) as emulator:
        emulator.make_bucket("kept")
    with closing(sqlite3.connect(tmp_path / "storage" / "storage.db")) as connection:
        connection.execute("PRAGMA user_version = 99")

    ended = subprocess.run(
        [*OUTLAST, "emulator", "--data", str(tmp_path), "--", "true"], capture_output=True, text=True
    )

    assert ended.returncode == 2
    assert "hint:" in ended.stderr
    assert "99" in ended.stderr


def test_a_data_directory_that_cannot_be_made_is_named_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = str(tmp_path / "file" / "data")

    ended = subprocess.run([*OUTLAST, "emulator", "--data", data, "--", "true"], capture_output=True, text=True)

    assert ended.returncode == 2
    assert data in ended.stderr
    assert "hint:" in ended.stderr


def test_the_time_scale_shortens_what_google_takes_long_for(tmp_path: Path) -> None:
    with running(tmp_path, time_scale=1e-6) as emulator:
        emulator.make_bucket("quick-one")
        begun = emulator.call("POST", "/upload/storage/v1/b/quick-one/o?uploadType=resumable&name=it", {})
        session = begun.headers["location"].removeprefix(emulator.url)
        while emulator.call("PUT", session, b"", {"content-range": "bytes */4"}).status != 410:
            pass
        assert [emulator.put("quick-one", "it", b"").status for _ in range(5)] == [200] * 5


STARTER = """
import sys, time
from pathlib import Path
from outlast_emulator.testing import running
with running(Path(sys.argv[1]), process=True) as emulator:
    print(emulator.url, flush=True)
    time.sleep(3600)
"""


def test_an_emulator_does_not_outlive_the_program_that_started_it(tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    emulator = Running(starter.stdout.readline().strip(), tmp_path)
    assert emulator.call("GET", "/_emulator/clock").status == 200

    starter.kill()
    starter.wait()
    starter.stdout.close()

    with pytest.raises(OSError):
        while True:
            emulator.call("GET", "/_emulator/clock")


TEST = """
def test_it_runs(emulator):
    emulator.make_bucket("my-bucket")
    assert emulator.put("my-bucket", "it", b"x").status == 200
    assert emulator.variables["OUTLAST_EMULATOR"] == emulator.url
"""


def test_the_fixture_works_in_somebody_else_s_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["outlast_emulator.testing"]\n')
    (tmp_path / "test_it.py").write_text(TEST)

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        cwd=tmp_path,
    )

    assert ended.returncode == 0, ended.stdout
