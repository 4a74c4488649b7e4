"""`@outlast.main`: flags out of a signature, and no resume with other values."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any, Literal, Optional

import pytest

import outlast
from outlast.errors import UsageError
from outlast.training import command, flags
from tests.training.lives import life, run_script

NO_FLAG = object()


class Colour(enum.Enum):
    RED = "r"
    DEEP_BLUE = "b"


def train(  # type: ignore[no-untyped-def] # as people write it
    learning_rate: float = 0.1,
    epochs: int = 3,
    name: str = "x",
    augment: bool = True,
    quiet: bool = False,
    limit: Optional[int] = None,  # noqa: UP045 - as people write it
    depth: int | None = 4,
    kind: Literal["small", "large", 3] = "small",
    colour: Colour = Colour.RED,
    data: Path = Path("data"),
    layers: list[int] = [64, 64],  # noqa: B006
    tags: tuple[str, ...] = (),
    untyped=5,
) -> dict[str, Any]:
    """Trains a thing."""
    return dict(locals())


def parse(*argv: str, function: Any = train) -> dict[str, Any]:
    with life(None):
        return command.read_command_line(function, flags.flags_of(function), argv)


def test_every_type_is_a_flag() -> None:
    assert parse() == train()
    values = parse(
        *("--learning-rate", "1e-3", "--epochs", "7", "--name", "--odd" if False else "odd", "--no-augment", "--quiet"),
        *(
            "--limit",
            "9",
            "--depth",
            "none",
            "--kind",
            "3",
            "--colour",
            "deep_blue",
            "--data",
            "/tmp/x",
            "--layers",
            "1",
            "2",
        ),
        *("--tags", "a", "b", "--untyped", "6"),
    )
    assert values == {
        "learning_rate": 1e-3,
        "epochs": 7,
        "name": "odd",
        "augment": False,
        "quiet": True,
        "limit": 9,
        "depth": None,
        "kind": 3,
        "colour": Colour.DEEP_BLUE,
        "data": Path("/tmp/x"),
        "layers": [1, 2],
        "tags": ("a", "b"),
        "untyped": 6,
    }
    assert parse("--learning_rate=0.5")["learning_rate"] == 0.5, "underscores are fine too"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--epochs", "many"], ["--epochs", "'many' is not an int"]),
        (["--kind", "huge"], ["'huge' is not one of small, large, 3"]),
        (["--colour", "green"], ["red", "deep_blue"]),
        (["--layers", "a"], ["'a' is not an int"]),
        (["--nonsense", "1"], ["--nonsense"]),
        (["--epoch", "1"], ["--epoch"]),
        (["--mode", "test"], ["train", "evaluate"]),
    ],
)
def test_wrong_values_are_answered_with_the_legal_ones(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(*argv)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert all(word in err for word in words), err


def test_several_values_come_as_what_the_default_is() -> None:
    def several(shape: tuple[int, ...] = (1,), sizes=[64], rates=(0.1,), mixed=[1, "a"]):  # type: ignore[no-untyped-def]  # noqa: B006
        return dict(locals())

    words = [word for name in ("shape", "sizes", "rates", "mixed") for word in (f"--{name}", "3", "4")]
    values = parse(*words, function=several)
    assert values == {"shape": (3, 4), "sizes": [3, 4], "rates": (3.0, 4.0), "mixed": ["3", "4"]}


def test_help_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--help")
    out = capsys.readouterr().out
    for word in (
        "Trains a thing.",
        "--learning-rate",
        "(default: 0.1)",
        "--no-augment",
        "(default: red)",
        "(default: 64 64)",
        "--mode",
        "--job-dir",
        "--dataset",
        "--split",
        "--train-steps",
        "--checkpoint-steps",
    ):
        assert word in out, word


@pytest.mark.parametrize("bad", [lambda *a: 1, lambda **k: 1, lambda x=NO_FLAG: 1, lambda help=1: 1])
def test_what_no_flag_can_stand_for_is_refused_when_it_is_decorated(bad: Any) -> None:
    with pytest.raises(TypeError, match="cannot be a flag"):
        outlast.main(bad)


def test_a_required_parameter_is_a_required_flag(capsys: pytest.CaptureFixture[str]) -> None:
    def needs(width: int) -> int:
        return width

    assert parse("--width", "3", function=needs) == {"width": 3}
    with pytest.raises(SystemExit):
        parse(function=needs)
    assert "--width" in capsys.readouterr().err


def test_called_with_arguments_it_is_the_function_itself() -> None:
    @outlast.main
    def double(x: int = 1) -> int:
        """Doubles."""
        return 2 * x

    assert double(x=4) == 8 and double(5) == 10 and double.__doc__ == "Doubles."


def test_common_flags_go_to_parameters_of_their_name() -> None:
    def script(mode: str, split: str = "val", train_steps: int = 10, dataset: str = "d") -> None: ...

    assert parse("--mode", "evaluate", "--split", "test", "--train-steps", "5", function=script) == {
        "mode": "evaluate",
        "split": "test",
        "train_steps": 5,
        "dataset": "d",
    }


def test_common_flags_that_nothing_reads_are_refused() -> None:
    for argv in (["--mode", "evaluate"], ["--split", "test"]):
        with pytest.raises(UsageError, match="nothing in `train` would read it"):
            parse(*argv)
    with pytest.raises(UsageError, match="--job-dir gs://b/x: it must be a directory on this machine"):
        parse("--job-dir", "gs://b/x")
    with pytest.raises(UsageError, match="--train-steps 0"):
        parse("--train-steps", "0")
    assert parse("--mode", "train") == train()


SCRIPT = """
import json, outlast

@outlast.main
def train(rate: float = 0.1, layers: list[int] = [1]):
    state = outlast.State(w=0.0)
    ran = []
    for step in outlast.steps(6, state):
        state.w += rate
        ran.append(step)
    print(json.dumps([ran, state.w, str(outlast.dataset()) if outlast.training.context.current().dataset else None]))

if __name__ == "__main__":
    import outlast.training.context
    train()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path / "train.py"


def test_train_steps_replaces_the_total_and_may_change(tmp_path: Path, script: Path) -> None:
    run_dir = tmp_path / "run"
    assert json.loads(run_script(script, run_dir, "--train-steps", "2")[1])[0] == [0, 1]
    assert json.loads(run_script(script, run_dir, "--train-steps", "4", "--checkpoint-steps", "1")[1])[0] == [2, 3]
    assert json.loads(run_script(script, run_dir)[1])[0] == [4, 5]


def test_job_dir_keeps_things_when_not_in_a_job(tmp_path: Path, script: Path) -> None:
    job = tmp_path / "job"
    argv = ("--job-dir", str(job), "--train-steps", "3", "--dataset", "there")
    code, out, err = run_script(script, None, *argv)
    assert code == 0 and json.loads(out)[2] == "there" and "nothing is kept" not in err
    assert (job / "checkpoint" / "step-000000000003").is_dir()
    assert json.loads(run_script(script, None, *argv)[1])[0] == []
    run_script(script, tmp_path / "run", "--job-dir", str(tmp_path / "other"))
    assert not (tmp_path / "other").exists(), "in a job the job's own directory is used"


def test_resuming_with_other_values_is_refused_naming_both(tmp_path: Path, script: Path) -> None:
    run_dir = tmp_path / "run"
    assert run_script(script, run_dir, "--train-steps", "2")[0] == 0
    code, out, err = run_script(script, run_dir, "--rate", "0.2", "--layers", "3", "4")
    assert (code, out) == (2, "")
    assert (
        "--rate is 0.2, but this job has trained with 0.1" in err
        and "--layers is 3 4, but this job has trained with 1" in err
    )
    assert (
        "Traceback" not in err and "hint:" in err and "step 2" in err and "`outlast resume JOB --allow-changed`" in err
    )
    (run_dir / "attempt.json").write_text('{"attempt": 5, "allow_changed": true}')
    code, out, err = run_script(script, run_dir, "--rate", "0.2")
    assert code == 0 and json.loads(out)[0] == [2, 3, 4, 5] and "note: --rate is 0.2" in err


@pytest.mark.parametrize(("before", "after"), [(("--dataset", "here"), ()), ((), ("--dataset", "there"))])
def test_a_dataset_that_is_given_no_more_or_only_now_is_another_one(
    tmp_path: Path, script: Path, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    run_dir = tmp_path / "run"
    assert run_script(script, run_dir, "--train-steps", "2", *before)[0] == 0
    code, out, err = run_script(script, run_dir, *after)
    assert (code, out) == (2, "")
    told = [given[1] if given else "not given" for given in (after, before)]
    assert "--dataset is {}, but this job has trained with {}".format(*told) in err
    assert run_script(script, run_dir, *before)[0] == 0


def test_a_value_that_is_no_number_is_the_same_value_again(tmp_path: Path, script: Path) -> None:
    assert run_script(script, tmp_path, "--rate", "nan", "--train-steps", "2")[0] == 0
    assert run_script(script, tmp_path, "--rate", "nan")[0] == 0


def test_a_command_that_is_never_called_is_told(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import atexit, outlast\natexit.register(print, 'bye')\n@outlast.main\ndef train(): pass\nprint('all')\n"
    )
    code, _, err = run_script(script, None)
    assert code == 0 and "was never called; end the script with `train()`" in err
    code, out, err = run_script(script, None, env={"OUTLAST_JOB": "mine"})
    assert (code, out) == (2, "all\nbye\n"), "a job that has trained nothing has not succeeded"
    assert "error: `train` is made a command" in err
