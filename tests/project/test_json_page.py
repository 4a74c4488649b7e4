"""docs/json.md names every field that a program can rely on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.folder.records import Attempt, Checkpoint, Head, LaunchRecord, State
from outlast.results.status import Status
from outlast.spec.spec import Machine, Provenance, Spec, Target, TargetKind
from tests.project.project_files import ROOT

LITERALS = set(re.findall(r"[`\"](\w+)[`\"]", (ROOT / "docs" / "json.md").read_text()))

SPEC = Spec("j", "n", Target(TargetKind.SCRIPT, "t.py"), "b", "python3", Provenance("0"), 1.0)
HEAD = Head(
    "j",
    1,
    "id",
    State.RUNNING,
    "b",
    attempt=1,
    checkpoints=(Checkpoint("c", 1, 1, 1, 1.0),),
    attempts={"1": Attempt(1, 1.0)},
)
LAUNCH = LaunchRecord(1, "id", "local", 1, Machine(), 1.0, 2.0, "b")
STATUS = Status(SPEC, HEAD, LAUNCH, "running", "", 1, "", (), "folder", 2.0)


def test_every_field_of_a_job_is_documented() -> None:
    assert [name for name in STATUS.document() if name not in LITERALS] == []


@pytest.mark.parametrize("part", ["attempt_list", "checkpoints"])
def test_every_field_of_its_parts_is_documented(part: str) -> None:
    assert [name for name in STATUS.document()[part][0] if name not in LITERALS] == []


def test_every_bucket_of_goodput_is_documented_twice() -> None:
    concept = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "concepts" / "goodput.md").read_text()))
    for name in STATUS.goodput.document():
        assert name in LITERALS
        assert name in concept


SCRIPT = """
import outlast
state = outlast.State(count=0)
for step in outlast.steps(20, state, save_steps=5):
    state.count += 1
(outlast.output_dir() / "count.txt").write_text(str(state.count))
print("done")
"""

COMMANDS = [
    "run --dry-run --json train.py",
    "run --json --job-id one train.py",
    "run --detach --json --job-id two train.py",
    "stop --json two",
    "evaluate --json --job-id three one",
    "jobs --json",
    "show --json one",
    "logs --json one",
    "checkpoints --json one",
    "pull --json one",
    "config --json",
]


def test_what_the_commands_print_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTLAST_DIR", str(tmp_path / "outlast"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(SCRIPT)
    for command in COMMANDS:
        program = [sys.executable, "-m", "outlast.cli", *command.split()]
        ended = subprocess.run(program, cwd=project, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        documents = [json.loads(line) for line in ended.stdout.splitlines()]
        assert documents, command
        rows = documents if len(documents) > 1 or isinstance(documents[0], dict) else documents[0]
        assert rows, command
        for row in rows:
            assert [name for name in row if name not in LITERALS] == [], command
