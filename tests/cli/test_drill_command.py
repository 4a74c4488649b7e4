"""`outlast drill`, as it is typed; what it finds is tested in tests/drill."""

from __future__ import annotations

import pytest

from tests.cli.user import User

LOOP = """
import random, time
import outlast
random.seed(1)
state = outlast.State(total=0.0)
for step in outlast.steps(120, state, save_steps=10):
    state.total += random.random()
    time.sleep(0.01)
(outlast.output_dir() / "total.txt").write_text(repr(state.total))
"""


def test_a_training_that_survives_is_exit_code_0_and_the_report_is_on_stdout(user: User) -> None:
    user.write("train.py", LOOP)
    said = user.outlast("drill", "--seed", "5", "train.py")
    assert said.code == 0, said.out + said.err
    assert said.out.count("Kill ") == 3 and "Bit-identical" in said.out and "Survived" in said.out


def test_with_json_the_report_is_on_stderr_and_one_object_on_stdout(user: User) -> None:
    user.write("train.py", LOOP)
    said = user.outlast("drill", "train.py", "--kills", "3", "--steps", "60", "--json")
    assert said.code == 0, said.err
    assert list(said.json) == ["survived", "identical", "kills", "attempts", "steps_lost", "goodput", "problems"]
    assert said.json["survived"] is True and said.json["identical"] is True and said.json["problems"] == []
    assert "Kill 1" in said.err


def test_too_short_is_exit_code_2_and_not_survived(user: User) -> None:
    user.write("train.py", "print('done')")
    said = user.outlast("drill", "train.py")
    assert said.code == 2 and said.err.startswith("error: too short")


WITH_INPUTS = """
import pathlib
import outlast
size = outlast.config()["size"] * int((outlast.dataset("more") / "scale.txt").read_text())
pathlib.Path("beside/is.here").read_text(), pathlib.Path("seen/is.here").read_text()
for step in outlast.steps(size, outlast.State(total=0.0)):
    pass
"""


def test_a_job_is_drilled_with_its_data_its_configuration_and_its_directories(user: User) -> None:
    user.write("train.py", WITH_INPUTS)
    for name in ("data/scale.txt", "beside/is.here", "elsewhere/seen/is.here"):
        user.write(f"../{name}", "2")
    around = ["--set", "size=4", "--dir", "../beside", "--link", "../elsewhere/seen"]
    assert user.outlast("push", "../data", "numbers").code == 0
    for job, data in (("by-name", "numbers"), ("by-path", "../data")):
        submitted = user.outlast("run", "--job-id", job, *around, "--dataset", f"more={data}", "train.py")
        assert submitted.code == 0, submitted.err + submitted.out
        assert "too short to drill: 8 steps" in user.outlast("drill", "--like", job).err
    assert "too short to drill: 10 steps" in user.outlast("drill", "--like", "by-name", "--set", "size=5").err
    typed = user.outlast("drill", *around, "--dataset", "more=numbers", "train.py")
    assert "too short to drill: 8 steps" in typed.err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--compare", "total.txt", "--compare", "*.zip"], "`--compare *.zip` fits no file"),
        (["--ignore", "*"], "`--ignore *` leaves no file to compare"),
    ],
)
def test_a_drill_that_would_compare_nothing_is_refused_and_leaves_nothing(
    user: User, option: list[str], words: str
) -> None:
    user.write("train.py", LOOP)
    said = user.outlast("drill", *option, "--steps", "30", "train.py")
    assert said.code == 2 and words in said.err and "`outputs/total.txt`" in said.err
    assert "Kill" not in said.out and not [*(user.outlast_dir / "drills").iterdir()]


def test_a_drill_whose_job_was_never_submitted_leaves_nothing(user: User) -> None:
    assert user.outlast("drill", "nowhere.py").code == 3
    assert not [*(user.outlast_dir / "drills").iterdir()]


def test_a_job_is_drilled_with_other_arguments(user: User) -> None:
    user.write("train.py", "import sys\n" + LOOP.replace("120", "int(sys.argv[1])"))
    assert user.outlast("run", "--job-id", "mine", "train.py", "--", "5").code == 0
    assert "too short to drill: 5 steps" in user.outlast("drill", "--like", "mine").err
    assert "too short to drill: 4 steps" in user.outlast("drill", "--like", "mine", "--", "4").err
    assert "too short to drill: 5 steps" in user.outlast("drill", "--like", "mine", cwd=user.root).err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["drill"], "no target"),
        (["drill", "train.py", "--seed", "1", "--lr", "2"], "outlast drill --seed 1 train.py -- --lr 2"),
        (["drill", "--kills", "0", "train.py"], "between 1 and 100"),
        (["drill", "--seed", "x", "train.py"], "between 0 and"),
        (["drill", "--tolerance", "-1", "train.py"], "at least 0"),
        (["drill", "--tolerance", "nan", "train.py"], "at least 0"),
        (["drill", "--steps", "5", "--for", "1m", "train.py"], "exclude each other"),
        (["drill", "--for", "soon", "train.py"], "is no duration"),
        (["drill", "--like", "nothing"], "no job `nothing`"),
    ],
)
def test_a_wrong_drill_is_answered_with_what_is_legal(user: User, line: list[str], words: str) -> None:
    user.write("train.py", "")
    said = user.outlast(*line)
    assert said.code in (2, 3) and said.err.startswith("error: ") and words in said.err
