"""`--config` and `--set`: merged, stored with the job, given as JSON, and in agreement with the dataset."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.user import User
from tests.data.material import make

SHOWS = """
import json, os
path = os.environ.get("OUTLAST_CONFIG", "")
print(json.dumps({"config": json.load(open(path)) if path else None, "dataset": os.environ.get("OUTLAST_DATASET")}))
"""


@pytest.fixture
def ready(user: User) -> User:
    user.write("train.py", SHOWS)
    user.write("base.yaml", "# base\nmodel:\n  layers: 2\n  name: small\nlr: 0.1\nsteps: [1, 2]\n")
    user.write("more.toml", "day = 2024-01-01\n[model]\nlayers = 4\n[model.head]\nsize = 10\n")
    user.write("last.json", '{"steps": [3], "model": {"name": null}}')
    return user


def run(user: User, *options: str) -> Any:
    said = user.outlast("run", *options, "train.py")
    assert said.code == 0, said.err
    return json.loads(said.out)


def spec(user: User) -> Any:
    return user.outlast("show", "--json").json["spec"]


def test_files_are_merged_left_to_right_and_values_come_last(ready: User) -> None:
    options = ["-c", "base.yaml", "--config", "more.toml", "-c", "last.json"]
    options += ["--set", "model.head.size=12", "--set", "lr=1e-3", "--set", "a.b.c=text", "--set", "list=[1, 2]"]
    options += ["--set", "on=true", "--set", "none=null", "--set", 'quoted="7"', "--set", "eq=a=b", "--set", "empty="]
    found = run(ready, *options)["config"]
    assert found == {
        "model": {"layers": 4, "name": None, "head": {"size": 12}},
        "lr": 0.001,
        "steps": [3],
        "day": "2024-01-01",
        "a": {"b": {"c": "text"}},
        "list": [1, 2],
        "on": True,
        "none": None,
        "quoted": "7",
        "eq": "a=b",
        "empty": "",
    }
    assert spec(ready)["config"] == found


def test_without_a_configuration_there_is_none(ready: User) -> None:
    assert run(ready)["config"] is None
    assert run(ready, "--set", "x=1")["config"] == {"x": 1}


def test_dataset_dir_is_the_default_of_the_dataset_and_the_flag_overrides_it(ready: User) -> None:
    make(ready.work, {"one/x": b"1", "two/x": b"2"})
    ready.write("data.yaml", "dataset:\n  dir: one\n  workers: 4\n")
    first = run(ready, "-c", "data.yaml")
    assert first["config"] == {"dataset": {"dir": first["dataset"], "workers": 4}}
    assert spec(ready)["config"]["dataset"]["dir"] == "one"
    second = run(ready, "-c", "data.yaml", "--dataset", "two")
    assert second["config"]["dataset"]["dir"] == second["dataset"] != first["dataset"]
    assert spec(ready)["config"]["dataset"]["dir"] == "two"
    third = run(ready, "-c", "data.yaml", "--set", "dataset.dir=two")
    assert third["dataset"] == second["dataset"]
    url = run(ready, "-c", "data.yaml", "--dataset", "http://127.0.0.1:9/x", "--dataset-mode", "url")
    assert url["config"]["dataset"]["dir"] == "http://127.0.0.1:9/x"


def test_a_dataset_table_without_a_dir_is_left_alone(ready: User) -> None:
    make(ready.work, {"one/x": b"1"})
    found = run(ready, "--set", "dataset.name=mnist", "--dataset", "one")
    assert found["config"] == {"dataset": {"name": "mnist"}} and found["dataset"]
    assert run(ready, "--set", "dataset=mnist")["config"] == {"dataset": "mnist"}


@pytest.mark.parametrize(
    ("name", "text", "code", "words"),
    [
        ("x.yaml", "a: 1\nb: yes\n", 2, "x.yaml` line 2: `yes` means different things"),
        ("x.json", '{"a": 1,\n "b" 2}', 2, "x.json` line 2, column 6"),
        ("x.json", '{"a": 1, "a": 2}', 2, "`a` stands in one table twice"),
        ("x.json", '{"a": NaN}', 2, "no number that JSON has"),
        ("x.json", "[1]", 2, "holds a list, not a table"),
        ("x.json", "[" * 100_000, 2, "x.json"),
        ("x.toml", "a = 1\nb = \n", 2, "x.toml` is not TOML"),
        ("x.toml", "a = inf\n", 2, "`a` is inf"),
        ("x.ini", "a = 1\n", 2, "no configuration by its name"),
        ("x.yaml", "dataset: {dir: [1]}", 2, "`dataset.dir` is [1]"),
        ("x.yaml", "dataset: {dir: ./nowhere}", 3, "there is no `./nowhere`"),
    ],
)
def test_a_wrong_file_is_answered_with_its_name_its_line_and_what_is_wrong(
    ready: User, name: str, text: str, code: int, words: str
) -> None:
    ready.write(name, text)
    said = ready.outlast("run", "-c", name, "train.py")
    assert said.code == code and words in said.err and "Traceback" not in said.err, said.err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-c", "missing.yaml"], 3, "there is no configuration"),
        (["-c", "."], 2, "no configuration"),
        (["--set", "x"], 2, "is no `a.b=VALUE`"),
        (["--set", "=1"], 2, "is no `a.b=VALUE`"),
        (["--set", "a..b=1"], 2, "is no `a.b=VALUE`"),
        (["--set", "a=1", "--set", "a.b=2"], 2, "`a` is 1, and no table"),
    ],
)
def test_wrong_options_are_answered_with_the_right_form(ready: User, options: list[str], code: int, words: str) -> None:
    said = ready.outlast("run", *options, "train.py")
    assert said.code == code and words in said.err, said.err


def test_a_file_that_is_not_text_is_refused(ready: User) -> None:
    (ready.work / "x.yaml").write_bytes(b"a: \xff\xfe")
    said = ready.outlast("run", "-c", "x.yaml", "train.py")
    assert said.code == 2 and "is not UTF-8" in said.err
