"""`--xgroup` is a sweep's name: each run adds a cell to it, and it is found, looked at and stopped by it."""

from __future__ import annotations

import pytest

from tests.cli.user import User
from tests.sweep.conftest import done


def test_a_group_grows_by_a_cell_with_each_run_and_is_named_by_its_option_everywhere(user: User) -> None:
    for lr in ("0.5", "0.2", "0.5"):
        said = user.outlast("run", "--xgroup", "night", "train.py", "--", "--lr", lr)
        assert said.code == 0, said.err
    assert sorted(done(user)) == ["0.2 1", "0.5 1"], "what is there already is not done again"
    (row,) = user.outlast("jobs", "--xgroup", "night", "--json").json
    assert (row["job"], row["name"], row["cells"]["done"]) == ("night", "night", 2)
    assert user.outlast("jobs", "--xgroup", "other", "--json").json == []
    shown = user.outlast("status", "--xgroup", "night", "--json").json["cell_list"]
    assert [cell["args"] for cell in shown] == [["--lr", "0.5"], ["--lr", "0.2"]]
    table = user.outlast("results", "--xgroup", "night")
    assert "ARGS" in table.out and "--lr 0.2" in table.out, "by nothing else are they told apart"
    assert user.outlast("logs", "--xgroup", "night", "2").out.startswith("lr 0.2 depth 1 step 0"), "one of its cells"
    assert user.outlast("show", "--xgroup", "night", "2", "--json").json["job"] == "night.2"
    assert user.outlast("stop", "--xgroup", "night").code == 0
    assert "has succeeded" in user.outlast("resubmit", "--xgroup", "night").err


def test_a_name_that_cannot_be_one_is_answered_with_one_that_can(user: User) -> None:
    assert "hint: `--xgroup my-group`" in user.outlast("run", "--xgroup", "My_group", "train.py").err
    two = user.outlast("run", "--xgroup", "a", "--job-id", "b", "train.py")
    assert two.code == 2 and "two names of one sweep" in two.err
    both = user.outlast("show", "--xgroup", "a", "b")
    assert both.code == 2 and "are two jobs" in both.err
    assert "missing argument" in user.outlast("stop").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seed", "3", "train.py"), "`--seed` belongs to a search"),
        (("--goal", "min", "train.py"), "hint: `--metric loss --goal min`"),
        (("--shell",), "`--shell` runs no script"),
        (("--trials", "3", "train.py"), "hint: add `--search random`"),
        (("--sweep", "", "train.py"), "no file is named"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(user: User, words: tuple[str, ...], said: str) -> None:
    user.write("grid.json", '{"lr": [1, 2]}')
    answer = user.outlast("run", "--sweep", "grid.json", *words)
    assert answer.code == 2 and said in answer.err, answer.err
    assert not (user.home / "jobs").exists()
