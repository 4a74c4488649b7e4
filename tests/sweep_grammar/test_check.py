"""A sweep's keys are held against the flags of an `@outlast.main` script before anything is submitted, and the script is not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outlast.errors import UsageError
from outlast.spec.spec import Target, TargetKind
from outlast.spec.sweep.check import check_against_target, check_keys
from outlast.spec.sweep.expand import expansion
from outlast.spec.sweep.flags import to_flags
from outlast.spec.sweep.space import space
from outlast.spec.sweep.trainer_flags import COMMON, trainer_of
from outlast.training import command

SCRIPT = '''
import sys
from pathlib import Path
from typing import Optional
import outlast

if __name__ != "__main__":
    raise SystemExit("this script must not be imported")

@outlast.main
def train(
    learning_rate: float = 0.1, layers: list[int] = [64], augment: bool = True, fast=False,
    depth: Optional[int] = None, where: Path = Path("x"), name: "str | None" = None, *, seed: int = 3, split: str = "a",
):
    """Trains."""
    print(repr((learning_rate, layers, augment, fast, depth, str(where), name, seed, split)))

train()
'''
TRAINER = trainer_of(SCRIPT.encode())
assert TRAINER is not None


def check(document: Any, *args: str) -> None:
    assert TRAINER is not None
    check_keys(expansion(document, "grid.json"), TRAINER, "grid.json", "train.py", args)


def refused(document: Any, *args: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        check(document, *args)
    assert ("`grid.json`" in caught.value.message or args) and "`train.py`" in caught.value.message + caught.value.hint
    return caught.value


def runs(tmp_path: Path, document: Any) -> list[subprocess.CompletedProcess[str]]:
    """What the script itself says to each cell's arguments."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    return [
        subprocess.run([sys.executable, script, *to_flags(cell)], capture_output=True, text=True, cwd=tmp_path)
        for cell in expansion(document, "grid.json")
    ]


GOOD = [
    {"learning_rate": [0.1, 1e-5, 3, -2, -0.5, -1e-05], "name": ["-1e-05", "-.5", "-x y", "-"]},
    {"layers": [[64, 32], [], 3], "fast": [True, False], "depth": [1, "none"], "seed": -4},
    {"no-augment": [True, False], "no-fast": True},
    {"where": "a/b", "name": ["none", "x y", 3], "split": "b", "train_steps": 5, "checkpoint-steps": 2},
    [{"learning_rate": 1}, {"learning-rate": 2}],
    {},
]


@pytest.mark.parametrize("document", GOOD)
def test_what_passes_is_what_the_script_takes(tmp_path: Path, document: Any) -> None:
    check(document)
    assert [run.returncode for run in runs(tmp_path, document)] == [0] * len(expansion(document, "grid.json"))


@pytest.mark.parametrize(
    ("document", "said", "hint"),
    [
        (
            {"learning_rat": 1},
            "key `learning_rat`: `train.py` has no such flag; there are `learning-rate`, `layers`",
            "`learning_rate`",
        ),
        ({"--seed": 1}, "key `--seed`", "did you mean `seed`?"),
        ({"SEED": 1}, "key `SEED`", "did you mean `seed`?"),
        ({"[seed,dept]": [1, 2]}, "key `dept`", "did you mean `depth`?"),
        ([{"seed": 1}, {"zzz": 1}], "key `zzz`", "the parameters of `train`"),
        ({"learning_rate": [0.1, "high"]}, '`"high"` is no value of `--learning-rate`, which is a number', "a number"),
        ({"depth": [1, 2.5]}, "`2.5` is no value of `--depth`, which is a whole number", "a whole number"),
        ({"seed": [[1, 2]]}, "`[1, 2]` is no value of `--seed`", "a whole number"),
        ({"seed": "none"}, "is no value of `--seed`", "a whole number"),
        ({"learning_rate": True}, "`true` gives `--learning_rate` alone", "value"),
        ({"augment": 1}, "which is `true` or `false`", "`true`, `false`"),
        ({"name": ["a", "-x"]}, '`"-x"` begins with a dash', "`-- --name=-x`"),
        ({"fast": "true"}, "which is `true` or `false`", "`true`, `false`"),
    ],
)
def test_what_is_refused_is_what_the_script_would_refuse(tmp_path: Path, document: Any, said: str, hint: str) -> None:
    error = refused(document)
    assert said in error.message and hint in error.hint
    assert any(run.returncode == 2 for run in runs(tmp_path, document))


def test_a_flag_that_all_cells_are_given_is_one_that_the_script_has() -> None:
    error = refused({"seed": [1, 2]}, "--nme", "x")
    assert "`-- --nme`: `train.py` has no such flag; there are `learning-rate`" in error.message
    assert error.hint == "did you mean `name`?"
    for args in (("--name", "x"), ("--no-augment",), ("--depth=3",), ("--name", "--x y"), ("-v",), ("--help",)):
        check({"seed": [1, 2]}, *args)


def test_a_list_in_a_list_is_a_list_to_the_script(tmp_path: Path) -> None:
    said = [run.stdout for run in runs(tmp_path, {"layers": [[64, 32], [], 3]})]
    assert [eval(words)[1] for words in said] == [[64, 32], [], [3]]


def test_every_flag_is_named_when_a_key_is_wrong() -> None:
    message = refused({"zzz": 1}).message
    for name in ("learning-rate", "layers", "augment", "fast", "depth", "where", "name", "seed", "split", *COMMON):
        assert f"`{name.replace('_', '-')}`" in message


def test_false_for_a_flag_that_is_true_by_default_would_be_the_same_training_twice(tmp_path: Path) -> None:
    same = runs(tmp_path, {"augment": [True, False]})
    assert same[0].stdout == same[1].stdout and same[0].returncode == 0
    error = refused({"augment": [True, False]})
    assert "its default" in error.message and '`"no-augment": [true, false]`' in error.hint
    other = runs(tmp_path, {"no-augment": [True, False]})
    assert other[0].stdout != other[1].stdout
    check({"no-augment": [True, False]})
    check({"augment": True})


def test_two_spellings_of_one_flag_in_one_cell_are_refused() -> None:
    assert "the same flag as the key `learning_rate`" in _same({"learning_rate": 1, "learning-rate": 2})
    assert "the same flag as the key `fast`" in _same({"fast": True, "no-fast": True})


def _same(document: Any) -> str:
    with pytest.raises(UsageError) as caught:
        check(document)
    return caught.value.message


def test_a_flag_that_must_be_given_is_missed_unless_the_arguments_have_it() -> None:
    trainer = trainer_of(b"from outlast import main as command\n@command\ndef go(data: str, n_steps: int): ...\n")
    assert trainer is not None and trainer.function == "go"
    cells = expansion([{"data": ["a", "b"], "n_steps": 1}, {"data": "c"}], "g.json")
    with pytest.raises(UsageError, match="needs `--n-steps`, and not every cell has it"):
        check_keys(cells, trainer, "g.json", "t.py")
    check_keys(cells, trainer, "g.json", "t.py", ["--n-steps", "3"])
    check_keys(cells, trainer, "g.json", "t.py", ["--n_steps=3"])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"depth": {"float": [1, 3]}}, "`--depth`, which is a whole number"),
        ({"lr": {"log": [1, 3]}}, "key `lr`"),
        ({"fast": {"int": [0, 1]}}, "`true` or `false`"),
        ({"seed": [1, "x"]}, "which is a whole number"),
    ],
)
def test_ranges_of_a_search_are_checked_too(document: Any, said: str) -> None:
    assert TRAINER is not None
    with pytest.raises(UsageError) as caught:
        check_keys(space(document, "s.json"), TRAINER, "s.json", "train.py")
    assert said in caught.value.message
    good = {"depth": {"int": [1, 3]}, "learning_rate": {"log": [1e-5, 1]}, "fast": [True, False], "name": "x"}
    check_keys(space(good, "s.json"), TRAINER, "s.json", "train.py")


@pytest.mark.parametrize(
    "source",
    [
        "import outlast\n@outlast.main\ndef f(a: int = 1): ...",
        "import outlast as ol\n@ol.main\ndef f(a: int = 1): ...",
        "from outlast import main\n@main\ndef f(a: int = 1): ...",
        "from outlast import State, main as m\n@m\ndef f(a: int = 1): ...",
        "from outlast import *\n@main\ndef f(a: int = 1): ...",
        "import outlast.training\nif True:\n  @other\n  @outlast.main\n  def f(a=1): ...",
    ],
)
def test_the_decorator_is_found_whatever_it_is_called(source: str) -> None:
    trainer = trainer_of(source.encode())
    assert trainer is not None and trainer.flags[0].name == "a" and trainer.flags[0].kind == "int"


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"def main(f): ...\n@main\ndef f(a): ...",
        b"from .outlast import main\n@main\ndef f(a): ...",
        b"from other import main\n@main\ndef f(a): ...",
        b"import outlast as x\n@outlast.main\ndef f(a): ...",
        b"import outlast\nprint outlast",
        b"import outlast\n@outlast.main\n",
        b"\xff\xfe\x00",
        b"import outlast\0",
        b"(" * 5000,
    ],
)
def test_of_other_scripts_nothing_is_known(source: bytes) -> None:
    assert trainer_of(source) is None


def test_scripts_and_modules_are_looked_at_and_shell_scripts_are_not(tmp_path: Path) -> None:
    source = "import outlast\n@outlast.main\ndef f(a: int = 1): ...\nraise SystemExit('run')\n"
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    for name in ("train.py", "pkg/train.py", "pkg/sub/__main__.py", "train.sh"):
        (tmp_path / name).write_text(source)
    cells = expansion({"b": 1}, "g.json")
    for target in (
        Target(TargetKind.SCRIPT, "train.py"),
        Target(TargetKind.MODULE, "pkg.train"),
        Target(TargetKind.MODULE, "pkg.sub"),
    ):
        with pytest.raises(UsageError, match="has no such flag"):
            check_against_target(cells, target, tmp_path, "g.json")
    for target in (Target(TargetKind.SHELL, "train.sh"), Target(TargetKind.SCRIPT, "gone.py")):
        check_against_target(cells, target, tmp_path, "g.json")


def test_the_flags_of_every_trainer_are_the_librarys() -> None:
    assert tuple(command._COMMON) == COMMON
