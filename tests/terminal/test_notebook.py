"""A job in a real notebook, executed by a real kernel: a summary that is kept fresh; and nothing of it anywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import outlast
from outlast.jobs.api import JobHandle
from outlast_notebook.summary import html_of
from tests.cli.user import User, stop_everything

SECONDS_MAX = 180

TRAIN = """
import outlast, time
state = outlast.State(total=0)
for step in outlast.steps(30, state, save_steps=10):
    outlast.log(step, loss=1 / (step + 1))
    time.sleep(0.1)
"""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    user = User(tmp_path)
    user.work.mkdir()
    user.write("train.py", TRAIN)
    for name, value in user.environ().items():
        monkeypatch.setenv(name, value)
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
    monkeypatch.delenv("OUTLAST_HOME", raising=False)
    yield user
    stop_everything(user)


def executed(user: User, *cells: str) -> list[list[Any]]:
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(
        notebook, timeout=SECONDS_MAX, kernel_name="python3", resources={"metadata": {"path": str(user.work)}}
    )
    client.execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def test_a_job_that_is_waited_for_is_one_output_kept_fresh_until_its_end(user: User) -> None:
    seen = (
        "import IPython.display as d\n"
        "seen = []\n"
        "real = d.DisplayHandle.update\n"
        "def update(self, bundle, **more):\n"
        "    seen.append(bundle['text/plain'])\n"
        "    return real(self, bundle, **more)\n"
        "d.DisplayHandle.update = update\n"
    )
    _, waited, told, shown = executed(
        user,
        f"import outlast\n{seen}\njob = outlast.submit('train.py', job_id='live')",
        "status = job.wait()",
        "print(len(seen), seen[-1], status.state)",
        "job",
    )
    assert len(waited) == 1, "one output, not one for every look"
    html = waited[0]["data"]["text/html"]
    assert 'data-state="succeeded"' in html and "live" in html and "<polyline" in html and "loss" in html
    updates, last, state = told[0]["text"].split(" ", 1)[0], told[0]["text"], told[0]["text"].split()[-1]
    assert int(updates) >= 1 and "live: succeeded" in last and state == "succeeded"
    assert shown[0]["data"]["text/plain"].startswith("<outlast job live: succeeded")
    assert 'data-state="succeeded"' in shown[0]["data"]["text/html"]


def test_outside_of_a_notebook_nothing_of_it_is_loaded(user: User) -> None:
    code = (
        "import sys, outlast\n"
        "job = outlast.submit('train.py', job_id='plain')\n"
        "states = []\n"
        "assert job.wait(on_status=lambda status: states.append(status.state)).state == 'succeeded'\n"
        "assert states and repr(job) == '<outlast job plain>'\n"
        "assert max(job.metrics()['loss']) == 29\n"
        "assert not {'outlast_notebook', 'IPython', 'ipykernel'} & set(sys.modules)\n"
        "assert job.delete() > 3\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=user.work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_foreign_is_obeyed_in_a_summary(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(user.work)
    job = outlast.submit("train.py", args=["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>'])
    assert isinstance(job, JobHandle)
    status = job.wait()
    series = {"<b>bold</b>": {0: 1.0, 1: 2.0}, "odd": {0: float("nan")}, "huge": {0: 1e308, 5: -1e308}}
    html = html_of(status, series)
    assert "<script" not in html and "<img" not in html and "<b>bold" not in html
    assert "&lt;script&gt;" in html and "http" not in html.replace("http://www.w3.org", "")
    assert html.count("<polyline") == 2 and "nan" not in html
    os.chdir(user.root)
