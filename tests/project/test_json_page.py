"""docs/json.md names every field that a program can rely on."""

from __future__ import annotations

import re

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
