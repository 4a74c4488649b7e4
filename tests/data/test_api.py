"""The same from Python: `outlast.push`, and data, configuration and links of `outlast.submit`."""

from __future__ import annotations

from pathlib import Path

import pytest

import outlast
from outlast.errors import NotFound
from tests.cli.user import User
from tests.data.material import make


def test_what_is_pushed_from_python_is_found_by_its_name(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in user.environ().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(user.work)
    make(user.work / "data", {"x": b"from python"})
    user.write("train.py", "import outlast; print((outlast.dataset() / 'x').read_text(), outlast.config()['a']['b'])")
    pushed = outlast.push("data", "mine")
    assert pushed.name == "mine" and pushed.pushed.files == 1
    job = outlast.submit("train.py", datasets=("mine",), config_values=("a.b=3",), directory=str(Path.cwd()))
    assert job.wait().state == "succeeded"
    assert "".join(job.logs()) == "from python 3\n"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "outlast run --dataset"),
        (
            {"OUTLAST_DATASET_TRAIN": "/x", "OUTLAST_DATASET_VAL": "/y"},
            "outlast.dataset('train'), outlast.dataset('val')",
        ),
        ({"OUTLAST_DATASET_URL": "gs://b/x"}, "was left at gs://b/x"),
    ],
)
def test_a_script_that_asks_for_what_is_not_there_is_told_what_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    for name in ("OUTLAST_DATASET", "OUTLAST_DATASET_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NotFound) as told:
        outlast.dataset()
    assert words in str(told.value)
