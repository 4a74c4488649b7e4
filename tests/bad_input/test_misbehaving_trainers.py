"""Trainers that do what they should not: the job ends and says how, what can be kept is kept, and nothing is left running."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bad_input.surroundings import alive, assert_nothing_runs, obey_modes
from tests.cli.user import Said, User


def ends(user: User, script: str, *options: str, args: tuple[str, ...] = ()) -> tuple[Said, dict[str, Any]]:
    """What was said, and `show --json` after it. Nothing runs any more."""
    user.write("train.py", script)
    said = user.outlast("run", "--job-id", "wild", *options, "train.py", "--", *args)
    assert "Traceback" not in said.err and "bug in outlast" not in said.err, said.err
    assert_nothing_runs(user)
    shown = user.outlast("show", "--json", "wild")
    assert shown.code == 0, shown.err
    return said, shown.json


DAEMON = """
import os, pathlib, sys, time
place = pathlib.Path(sys.argv[1])
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if number:
                os.execve(sys.executable, ["quiet", "-c",
                    "import os, sys, time, signal\\n"
                    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n"
                    f"open({str(place / str(number))!r}, 'w').write(str(os.getpid()))\\ntime.sleep(600)"], {})
            (place / str(number)).write_text(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
while len([path for path in place.iterdir() if path.read_text()]) < 3:
    time.sleep(0.01)
sys.exit(int(sys.argv[2]))
"""


@pytest.mark.parametrize("code", [3, pytest.param(0, marks=pytest.mark.soak)])
def test_daemons_that_forked_away_end_with_the_job(user: User, code: int) -> None:
    place = user.root / "place"
    place.mkdir()
    said, shown = ends(user, DAEMON, args=(str(place), str(code)))
    assert said.code == (1 if code else 0) and shown["exit_code"] == code
    pids = [int(path.read_text()) for path in place.iterdir()]
    assert len(pids) == 3 and not any(map(alive, pids))


TRAINS_ON = """
import os, pathlib, shutil, sys, time
checkpoint = pathlib.Path(os.environ["OUTLAST_CHECKPOINT_DIR"])
output = pathlib.Path(os.environ["OUTLAST_OUTPUT_DIR"])
(checkpoint / "ckpt-1.bin").write_bytes(b"first")
{}
time.sleep(0.5)
print("trained", flush=True)
"""


USUAL = (
    "shutil.rmtree(os.environ['OUTLAST_RUN_DIR']); open(os.environ['OUTLAST_RUN_DIR'], 'w')",
    "shutil.rmtree(os.getcwd()); shutil.rmtree(os.environ['OUTLAST_RUN_DIR'])",
    "shutil.rmtree(checkpoint); checkpoint.write_text('a file')",
    "shutil.rmtree(checkpoint); checkpoint.symlink_to(checkpoint.name)",
    "shutil.rmtree(checkpoint); os.mkfifo(checkpoint)",
    "(checkpoint / 'passwords').symlink_to('/etc/passwd'); (output / 'all').symlink_to('/etc')",
    "shutil.rmtree(output); output.write_text('a file')",
    "os.close(1); os.close(2); sys.stdout = sys.stderr = open(os.devnull, 'w')",
)
MORE = (
    "shutil.rmtree(os.environ['OUTLAST_RUN_DIR'])",
    "shutil.rmtree(os.getcwd())",
    "shutil.rmtree(checkpoint)",
    "shutil.rmtree(checkpoint); checkpoint.symlink_to('/etc')",
    "os.mkfifo(checkpoint / 'pipe'); (checkpoint / 'circle').symlink_to('circle')",
    "shutil.rmtree(output); output.symlink_to('/etc')",
    "[os.mkdir(d) or os.chdir(d) for d in ['d' * 200] * 40]",
    "(checkpoint / '\\udcff\\udcfe').write_bytes(b'no text'); (output / 'new\\nline').write_bytes(b'x')",
)


@pytest.mark.parametrize("does", [*USUAL, *(pytest.param(one, marks=pytest.mark.soak) for one in MORE)])
def test_whatever_it_does_to_its_directories_it_has_trained(user: User, does: str) -> None:
    said, shown = ends(user, TRAINS_ON.format(does))
    assert (said.code, shown["state"], shown["exit_code"]) == (0, "succeeded", 0), (said.out, said.err)
    assert user.outlast("checkpoints", "--verify", "wild").code == 0
    pulled = user.outlast("pull", "wild", "--to", str(user.root / "to"))
    assert pulled.code == 0 and "Traceback" not in pulled.err, pulled.err
    found = [path for path in (user.root / "to").rglob("*") if path.is_symlink() or path.name == "passwd"]
    assert not found, "nothing of others is kept as if it were the job's own"


def test_a_checkpoint_directory_that_leads_elsewhere_is_told_about(user: User) -> None:
    """Also where it ends so soon that nobody has looked before."""
    does = "elsewhere = pathlib.Path(sys.argv[1]); shutil.move(checkpoint, elsewhere); checkpoint.symlink_to(elsewhere)"
    does += "; sys.exit()"
    elsewhere = user.root / "elsewhere"
    said, shown = ends(user, TRAINS_ON.format(does), args=(str(elsewhere),))
    assert said.code == 0 and "leads out of this machine's directory" in said.out, said.out
    assert (elsewhere / "ckpt-1.bin").read_bytes() == b"first"
    assert shown["checkpoints"] == []


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_directory_of_thousands_of_files_is_one_checkpoint(user: User, count: int) -> None:
    does = f"for number in range({count}): (checkpoint / f'part-{{number:05d}}').write_bytes(b'%d' % number)"
    said, _ = ends(user, TRAINS_ON.format(does))
    assert said.code == 0, said.err
    assert user.outlast("checkpoints", "--verify", "wild").code == 0
    said = user.outlast("pull", "wild", "--to", "to", "--json")
    assert said.code == 0 and len(said.json["files"]) == count + 1
    assert (user.work / f"to/checkpoint/part-{count - 1:05d}").read_bytes() == b"%d" % (count - 1)


def test_files_that_may_not_be_read_are_left_and_told_about(user: User) -> None:
    user.become = obey_modes
    does = "(checkpoint / 'secret').write_bytes(b'x'); (checkpoint / 'secret').chmod(0); time.sleep(1.5)"
    said, shown = ends(user, TRAINS_ON.format(does))
    assert said.code == 0 and "`secret` may not be read, and is not kept" in said.out, (said.out, said.err)
    assert [one["step"] for one in shown["checkpoints"]] and user.outlast("pull", "wild", "--to", "to").code == 0
    assert [path.name for path in (user.work / "to" / "checkpoint").iterdir()] == ["ckpt-1.bin"]


@pytest.mark.parametrize(
    "does",
    [
        pytest.param("signal.signal(signal.SIGTERM, signal.SIG_IGN)", marks=pytest.mark.soak),
        pytest.param("os.kill(os.getpid(), signal.SIGSTOP)", marks=pytest.mark.soak),
        "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]; os.fork() or os.setsid()",
    ],
)
def test_a_trainer_that_does_not_leave_is_ended(user: User, does: str) -> None:
    script = f"import os, signal, time\nprint('here', flush=True)\n{does}\nwhile True: time.sleep(1)"
    said, shown = ends(user, script, "--max-run", "4s")
    assert (said.code, shown["state"], shown["exit_code"]) == (8, "expired", 137), said.err


def test_a_trainer_that_stopped_itself_has_stalled_and_is_started_again(user: User) -> None:
    pid = user.root / "pid"
    script = (
        "import os, signal\nif os.environ['OUTLAST_ATTEMPT'] == '1':\n"
        f"    open({str(pid)!r}, 'w').write(str(os.getpid()))\n    os.kill(os.getpid(), signal.SIGSTOP)"
    )
    said, shown = ends(user, script, "--stall", "2s")
    assert said.code == 0, said.err
    assert [one["cause"] for one in shown["attempt_list"]] == ["stalled", "succeeded"]
    assert not alive(int(pid.read_text()))
