"""`outlast sync`: a job that runs has the code of the directory, and remembers that."""

from __future__ import annotations

import pytest

from tests.cli.user import SECONDS_MAX, Said, User
from tests.waiting import until

TRAINS = """
import importlib, pathlib, sys, time
sys.dont_write_bytecode = True
import outlast, words
state = outlast.State(seen=0)
for step in outlast.steps(100_000, state):
    time.sleep(0.02)
    importlib.reload(words)  # without byte code: Python takes one of the same second and length for the same
    print("word", words.WORD, sorted(path.name for path in pathlib.Path("parts").glob("*")), flush=True)
"""


@pytest.fixture
def syncer(user: User) -> User:
    user.write("train.py", TRAINS)
    user.write("words.py", "WORD = 'first'")
    user.write("parts/one.txt", "1")
    user.write("parts/two.txt", "2")
    user.write(".gitignore", "ignored.txt\n")
    assert user.outlast("run", "--job-id", "edited", "--detach", "train.py").code == 0
    logged(user, "word first ['one.txt', 'two.txt']")
    return user


def logged(user: User, text: str) -> None:
    until(lambda: text in user.outlast("logs", "edited").out, f"`{text}` in the log")


def sync(user: User, *options: str) -> Said:
    said = user.outlast("sync", *options, "edited")
    assert said.code == 0, said.err
    return said


def test_changes_and_deletions_reach_the_trainer_that_runs(syncer: User) -> None:
    syncer.write("words.py", "WORD = 'second'")
    syncer.write("parts/three.txt", "3")
    syncer.write("parts/ignored.txt", "of nobody's business")
    (syncer.work / "parts/one.txt").unlink()
    said = sync(syncer, "--once")
    assert "2 files carried over, 1 file removed" in said.err, said.err
    logged(syncer, "word second ['three.txt', 'two.txt']")
    assert "has this code already" in sync(syncer, "--once").err
    shown = syncer.outlast("show", "--json", "edited").json
    assert len(shown["attempt_list"]) == 1, "the trainer went on"
    assert shown["edited_at_step"] is not None
    assert "edited since step" in syncer.outlast("show", "edited").out


def test_what_was_carried_over_without_a_restart_can_have_it_later(syncer: User) -> None:
    syncer.write("words.py", "WORD = 'later'")
    sync(syncer, "--once")
    assert "begins again" in sync(syncer, "--once", "--restart").err
    until(lambda: len(syncer.outlast("show", "--json", "edited").json["attempt_list"]) == 2, "the trainer begins again")
    assert syncer.outlast("show", "--json", "edited").json["attempt_list"][0]["cause"] == "edited"


def test_a_whole_directory_may_go_and_one_that_was_shipped_beside_is_followed(user: User) -> None:
    user.write("train.py", TRAINS)
    user.write("words.py", "WORD = 'first'")
    user.write("parts/one.txt", "1")
    beside = user.root / "beside"
    beside.mkdir()
    (beside / "more.py").write_text("MORE = 1")
    assert user.outlast("run", "--job-id", "edited", "--dir", str(beside), "--detach", "train.py").code == 0
    logged(user, "word first ['one.txt']")
    (user.work / "parts/one.txt").unlink()
    (user.work / "parts").rmdir()
    (beside / "more.py").write_text("MORE = 2")
    assert "1 file carried over, 1 file removed" in sync(user, "--once").err
    logged(user, "word first []")
    assert user.outlast("ssh", "edited", "--", "cat beside/more.py").out == "MORE = 2"


def test_restart_begins_again_from_the_checkpoint_with_the_new_code(syncer: User) -> None:
    syncer.write("words.py", "WORD = 'again'")
    sync(syncer, "--once", "--restart")
    logged(syncer, "word again")
    shown = syncer.outlast("show", "--json", "edited").json
    first, second = shown["attempt_list"][:2]
    assert first["cause"] == "edited" and second["resumed_from_step"] > 0, (first, second)
    assert shown["preemptions"] == 0


def test_a_later_attempt_has_the_edited_code(syncer: User) -> None:
    syncer.write("words.py", "WORD = 'kept'")
    sync(syncer, "--once")
    assert syncer.outlast("stop", "edited").code == 0
    syncer.write("words.py", "WORD = 'never shipped'")
    assert syncer.outlast("resume", "--detach", "edited").code == 0
    until(lambda: len(syncer.outlast("show", "--json", "edited").json["attempt_list"]) == 2, "another attempt")
    until(lambda: syncer.outlast("logs", "edited").out.splitlines()[-1].startswith("word kept"), "of the edited code")


def test_it_watches_until_the_job_has_ended(syncer: User) -> None:
    watching = syncer.start("sync", "edited")
    try:
        assert watching.stderr is not None
        assert b"keeping `edited` equal" in watching.stderr.readline()
        for word in ("third", "fourth"):
            syncer.write("words.py", f"WORD = '{word}'")
            assert b"1 file carried over" in watching.stderr.readline()
            logged(syncer, f"word {word}")
        syncer.outlast("stop", "edited")
        assert watching.wait(SECONDS_MAX) == 0
    finally:
        watching.kill()
        watching.communicate()


def test_what_cannot_be_kept_in_step_is_refused(syncer: User) -> None:
    elsewhere = syncer.root / "elsewhere"
    elsewhere.mkdir()
    said = syncer.outlast("sync", "edited", cwd=elsewhere)
    assert said.code == 2 and f"`cd {syncer.work}` first" in said.err
    syncer.outlast("stop", "edited")
    said = syncer.outlast("sync", "edited")
    assert said.code == 2 and "has stopped" in said.err
