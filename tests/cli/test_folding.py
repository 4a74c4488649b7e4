"""Names of files that differ by case alone, or are no UTF-8, on a file system that takes them for one or has none such, as a Mac's: nothing
is lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.errors import UsageError
from outlast.host.secrets import names_kept, put_kept, read_kept
from tests import folding
from tests.cli.stranger import estranged
from tests.cli.user import Said, User

TWO = """
import os, pathlib, sys
for directory in ("kept", "made"):
    os.makedirs(directory, exist_ok=True)
    for name in ("A.txt", "a.txt"):
        pathlib.Path(directory, name).write_text(f"{directory} {name}")
sys.exit(0 if "--again" in sys.argv else 3)
"""

ODD = """
import os, sys
for directory in (b"kept", b"made"):
    os.makedirs(directory, exist_ok=True)
    for name in (b"good.txt", b"caf\\xe9.txt"):
        with open(directory + b"/" + name, "wb") as file:
            file.write(directory)
sys.exit(0 if "--again" in sys.argv else 3)
"""

RENAMED = """
import outlast
loop = outlast.steps(2, outlast.State(total=0), save_steps=1)
for step in loop:
    pass
again = loop.attempt > 1
for old in outlast.output_dir().iterdir():
    old.unlink()
(outlast.output_dir() / ("result.txt" if again else "Result.txt")).write_text("second" if again else "first")
raise SystemExit(0 if again else 3)
"""


def on_linux(user: User, *args: str) -> Said:
    """On another computer, with the same home."""
    return user.outlast(args[0], "--home", str(user.root / "shared"), *args[1:], OUTLAST_DIR=str(user.root / "linux"))


def there(user: User, *args: str) -> Said:
    return user.outlast(args[0], "--home", str(user.root / "shared"), *args[1:])


@pytest.fixture
def two(user: User, monkeypatch: pytest.MonkeyPatch) -> User:
    """Has a job that failed on Linux, with two files each among its checkpoint and its outputs."""
    user.write("train.py", TWO)
    words = ("--job-id", "two", "--checkpoint-dir", "kept", "--output-dir", "made", "--resume-args=--again")
    assert on_linux(user, "run", *words, "train.py").code == 1
    return user


def files(directory: Path) -> dict[str, str]:
    found = (path for path in directory.rglob("*.txt") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_text() for path in found}


def test_a_pull_names_the_file_that_it_has_no_place_for(two: User, monkeypatch: pytest.MonkeyPatch) -> None:
    estranged(two, monkeypatch)
    for _ in range(2):  # what is there of the first one does not pass for the other
        pulled = there(two, "pull", "two")
        assert pulled.code == 1
        assert "2 files were not copied" in pulled.err and "`outputs/a.txt` and `outputs/A.txt` for one" in pulled.err
        assert files(two.work / "two") == {"outputs/A.txt": "made A.txt", "checkpoint/A.txt": "kept A.txt"}
    assert (two.work / "two/.gitignore").read_text() == "*\n"
    assert there(two, "pull", "two", "outputs/a.txt", "--to", "other").code == 0
    assert files(two.work / "other") == {"outputs/a.txt": "made a.txt"}


def test_a_checkpoint_that_has_no_place_fails_its_job_and_goes_on_elsewhere(
    two: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        far = estranged(User(two.root), patch)
        resumed = there(far, "resume", "two")
        assert resumed.code == 1 and "takes two names of the checkpoint for one" in resumed.err
    done = on_linux(two, "resume", "two")
    assert done.code == 0, done.err
    assert on_linux(two, "pull", "two").code == 0
    assert files(two.work / "two").keys() >= {"outputs/A.txt", "outputs/a.txt", "checkpoint/A.txt", "checkpoint/a.txt"}


def test_a_bundle_that_has_no_place_fails_its_job_with_the_name(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write("train.py", "raise SystemExit(3)")
    user.write("part/Model.py", "x = 1")
    user.write("part/model.py", "x = 2")
    assert on_linux(user, "run", "--job-id", "twin", "train.py").code == 1
    estranged(user, monkeypatch)
    resumed = there(user, "resume", "twin")
    assert resumed.code == 1 and "takes two names of the bundle for one" in resumed.err, resumed.err


@pytest.fixture
def odd(user: User) -> User:
    """Has a job that failed on Linux, with a file each among its checkpoint and its outputs whose name is no UTF-8."""
    user.write("train.py", ODD)
    words = ("--job-id", "odd", "--checkpoint-dir", "kept", "--output-dir", "made", "--resume-args=--again")
    assert on_linux(user, "run", *words, "train.py").code == 1
    return user


def test_a_file_whose_name_a_mac_cannot_have_is_named_and_all_others_are_pulled(
    odd: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    estranged(odd, monkeypatch)
    pulled = there(odd, "pull", "odd")
    assert pulled.code == 1
    assert "2 files were not copied" in pulled.err and "has no name like `outputs/caf\\udce9.txt`" in pulled.err
    assert files(odd.work / "odd") == {"outputs/good.txt": "made", "checkpoint/good.txt": "kept"}


def test_a_checkpoint_with_a_name_that_a_mac_cannot_have_fails_its_job_and_goes_on_elsewhere(
    odd: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        far = estranged(User(odd.root), patch)
        resumed = there(far, "resume", "odd")
        assert resumed.code == 1 and "`checkpoint/caf\\udce9.txt` cannot be made" in resumed.err, resumed.err
    assert on_linux(odd, "resume", "odd").code == 0


@pytest.mark.parametrize("where", ["bundle", "dataset"])
def test_what_a_job_was_given_under_a_name_that_a_mac_cannot_have_fails_it_with_the_name(
    user: User, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    user.write("train.py", "raise SystemExit(3)")
    data = user.root / "data" / "caf\udce9"
    given = (user.work if where == "bundle" else data) / "caf\udce9.txt"
    data.mkdir(parents=True)
    given.write_text("x")
    options = () if where == "bundle" else ("--dataset", f"words={data.parent}")
    assert on_linux(user, "run", "--job-id", "given", *options, "train.py").code == 1
    estranged(user, monkeypatch)
    resumed = there(user, "resume", "given")
    assert resumed.code == 1 and f"is in the {where}, and this file system has no such name" in resumed.err, resumed.err


def test_an_output_that_is_spelled_anew_is_published(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write("train.py", RENAMED)
    estranged(user, monkeypatch)
    assert user.outlast("run", "--job-id", "anew", "train.py").code == 1
    assert files(user.home / "jobs/anew/outputs") == {"Result.txt": "first"}
    assert user.outlast("resume", "anew").code == 0
    assert set(files(user.home / "jobs/anew/outputs").values()) == {"second"}


def test_what_is_typed_in_another_spelling_is_answered_with_the_right_one(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    estranged(user, monkeypatch)
    user.write("train.py", "import part.Model")
    user.write("part/Model.py", "print('it is here')")
    typed = user.outlast("run", "Train.py")
    assert typed.code == 2 and "`Train.py` is spelled `train.py`" in typed.err and "`outlast run train.py`" in typed.err
    user.write("prepare.sh", "true")
    asked = user.outlast("run", "--setup", "Prepare.sh", "train.py")
    assert asked.code == 2 and "`Prepare.sh` is spelled `prepare.sh`" in asked.err, asked.err
    assert user.outlast("run", "train.py").code == 0
    (user.work / "part/Model.py").rename(user.work / "part/model.py")
    user.write("train.py", "import part.model")
    done = user.outlast("run", "train.py")
    assert done.code == 0 and "it is here" in done.out, done.err


def test_a_secret_is_not_replaced_by_one_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folding.install(str(tmp_path), monkeypatch.setattr)
    put_kept(tmp_path, "token", "first")
    with pytest.raises(UsageError, match="`token` is kept, and this file system takes `TOKEN` for the same name"):
        put_kept(tmp_path, "TOKEN", "second")
    assert (names_kept(tmp_path), read_kept(tmp_path, "token")) == (["token"], b"first")
    put_kept(tmp_path, "token", "third")
    assert read_kept(tmp_path, "token") == b"third"
