"""What cannot be said, and what nobody expected."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.user import OUTLAST, User


def shell(user: User, line: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """`$@` stands for outlast."""
    return subprocess.run(
        ["bash", "-c", line, "-", *OUTLAST],
        cwd=user.work,
        env=user.environ(**changes),
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("line", ['"$@" --help', '"$@" config', '"$@" config --json', '"$@" jobs --json'])
def test_a_full_disk_behind_stdout_is_said_and_is_no_success(user: User, line: str) -> None:
    done = shell(user, f"{line} > /dev/full")
    assert done.returncode == 6
    assert b"error: No space left on device" in done.stderr and b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("line", ["--help", "config", "config --json", "jobs", "show nothing"])
def test_closed_streams_are_no_bug_and_nothing_is_written_into_foreign_files(
    user: User, line: str, closed: str
) -> None:
    done = shell(user, f'"$@" {line} {closed}')
    assert done.returncode == (3 if "nothing" in line else 0)
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("line", ['"$@" --help | true', '"$@" config | true', '"$@" config --json | true'])
def test_a_pipe_that_nobody_reads_ends_quietly(user: User, line: str) -> None:
    for _ in range(3):
        assert shell(user, line).stderr == b""


def test_an_unreadable_user_directory_is_exit_code_4(user: User) -> None:
    (user.root / "file").write_text("")
    said = user.outlast("jobs", OUTLAST_DIR=str(user.root / "file" / "below"))
    assert said.code == 4 and said.err.startswith("error: ") and "Traceback" not in said.err


def test_what_nobody_expected_has_a_trace_and_says_that_it_is_a_bug(user: User) -> None:
    program = (
        "import sys, outlast.jobs.world as world\n"
        "def broken(): raise LookupError('planted')\n"
        "world.system_world = broken\n"
        "from outlast.cli.edge import run\n"
        "sys.exit(run(['jobs']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=user.environ(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "LookupError: planted" in done.stderr and "this is a bug in outlast" in done.stderr


def test_an_interrupt_is_exit_code_130(user: User) -> None:
    program = (
        "import sys, outlast.jobs.world as world\n"
        "def slow(): raise KeyboardInterrupt\n"
        "world.system_world = slow\n"
        "from outlast.cli.edge import run\n"
        "sys.exit(run(['config']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=user.environ(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (130, "interrupted")


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "C.UTF-8"])
def test_every_locale_can_read_it(user: User, locale: str) -> None:
    user.write("outlast.toml", 'name = "naïve…"\n')
    said = user.outlast("config", LC_ALL=locale, LANG=locale)
    assert said.code == 2 and "Traceback" not in said.err


def test_an_error_has_its_parts_in_order() -> None:
    from outlast.cli.edge import tell
    from outlast.errors import NoCapacity

    program = (
        "from outlast.cli.edge import tell\nfrom outlast.errors import NoCapacity\n"
        "tell(NoCapacity('no `a100` in `zone`', state='job `x` is saved', hint='`outlast resume x`'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "error: no `a100` in `zone`\n  job `x` is saved\n\nhint: `outlast resume x`\n"
    assert tell is not None and NoCapacity.exit_code == 5


def test_an_interrupt_while_modules_are_still_imported_is_no_trace(user: User) -> None:
    program = (
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'outlast.cli.edge': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "sys.argv = ['outlast', 'config']\n"
        "from outlast.cli import main\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=user.environ(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
