"""Lanes: every test is in one, each has a budget, the budgets fit into half an hour, and CI skips nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.project_files import ROOT
from tools import lanes


def test_every_test_directory_belongs_to_exactly_one_lane() -> None:
    listed = [name for names in lanes.DIRECTORIES.values() for name in names]
    present = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(listed) == len(set(listed))
    assert present <= set(listed)


def test_no_test_lies_outside_of_a_lane() -> None:
    assert list((ROOT / "tests").glob("test_*.py")) == []


def test_all_lanes_together_leave_room_within_half_an_hour() -> None:
    budgets = lanes.read_budgets((ROOT / "CONTRIBUTING.md").read_text())
    assert set(budgets) == set(lanes.LANES)
    for row in lanes.rows_of(lanes.LANES):
        assert sum(budgets[lane] for lane in row) <= lanes.TOTAL_SECONDS_MAX


def test_a_lane_without_a_budget_is_refused() -> None:
    with pytest.raises(SystemExit, match="no budget for unit"):
        lanes.read_budgets("\n".join(f"| `{lane}` | what | 5 |" for lane in lanes.LANES if lane != "unit"))


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (lanes.Outcome("store", 40.0, passed=True), 0),
        (lanes.Outcome("store", 60.0, passed=True), 0),
        (lanes.Outcome("store", 130.0, passed=True), 1),
        (lanes.Outcome("store", 40.0, passed=False), 1),
    ],
)
def test_a_lane_fails_by_its_tests_or_by_its_time(outcome: lanes.Outcome, code: int) -> None:
    assert lanes.report([outcome], {"store": 50}, 4.0, 0.5) == code


def test_where_all_lanes_are_slow_only_one_that_is_slower_still_fails(capsys: pytest.CaptureFixture[str]) -> None:
    budgets = dict.fromkeys(lanes.LANES, 50)
    slow = [lanes.Outcome(lane, 140.0, passed=True) for lane in lanes.LANES]
    assert lanes.report(slow, budgets, 4.0, 0.5) == 0
    assert "280% of their budgets" in capsys.readouterr().out
    worse = [lanes.Outcome("store", 360.0, passed=True) if one.lane == "store" else one for one in slow]
    assert lanes.report(worse, budgets, 4.0, 0.5) == 1
    assert re.findall(r"^(\w+) .*FAR OVER BUDGET$", capsys.readouterr().out, flags=re.MULTILINE) == ["store"]
    fast = [lanes.Outcome(lane, 20.0, passed=True) for lane in lanes.LANES if lane != "store"]
    assert lanes.report([*fast, lanes.Outcome("store", 105.0, passed=True)], budgets, 4.0, 0.5) == 0


SKIPS = """
import pytest
@pytest.mark.skip(reason="strace is missing")
def test_one(): pass
def test_two(): pytest.skip("no such thing here")
"""

SKIPS_WHOLE_MODULE = """
import pytest
pytest.importorskip("a_module_that_nobody_has")
def test_one(): pass
"""

EXPECTS_FAILURE = """
import pytest
@pytest.mark.xfail
def test_one(): raise ValueError
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("in_ci", ["true", ""])
def test_a_skipped_test_fails_in_ci_and_only_there(tmp_path: Path, workers: str, in_ci: str) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "requests_sent.py", tmp_path / "tests")
    (tmp_path / "tests" / "this_clone.py").write_text("def check() -> None: ...\n")  # no clone is here
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    for name, text in (("skips", SKIPS), ("whole", SKIPS_WHOLE_MODULE), ("expects", EXPECTS_FAILURE)):
        (tmp_path / f"test_{name}.py").write_text(text)
    lean = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--continue-on-collection-errors")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-n", workers, "--rootdir", str(tmp_path), *lean]
    environment = {**os.environ, "CI": in_ci}
    ended = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    refused = ["test_skips.py::test_one", "test_skips.py::test_two", "test_whole.py"] if in_ci else []
    why = r"^(?:FAILED|ERROR) (\S+) - A required test is never skipped in CI"
    assert sorted(re.findall(why, ended.stdout, flags=re.MULTILINE)) == refused, ended.stdout
    assert (ended.returncode == 0) == (not refused)
    assert re.findall(r"^XFAIL (\S+)", ended.stdout, flags=re.MULTILINE) == ["test_expects.py::test_one"]


def test_the_tests_never_see_the_users_own_directory() -> None:
    assert "outlast-tests-" in os.environ["HOME"]
    assert "outlast-tests-" in os.environ["OUTLAST_DIR"]


def test_a_test_that_fails_only_beside_others_is_run_alone_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    once = "import pathlib\n\ndef test_shy():\n    seen = pathlib.Path(__file__).with_suffix('.seen')\n"
    once += "    first = not seen.exists()\n    seen.touch()\n    assert not first\n"
    outcome = ran_alone(tmp_path, monkeypatch, once)
    assert outcome.passed and [test.rpartition("::")[2] for test in outcome.unsteady] == ["test_shy"]
    assert lanes.report([outcome], {"store": 500}, 4.0, 0.5) == 0
    assert "UNSTEADY" in capsys.readouterr().out


@pytest.mark.parametrize("failing", [1, 4])
def test_what_fails_twice_or_in_numbers_fails_the_lane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    outcome = ran_alone(tmp_path, monkeypatch, "".join(f"def test_{n}():\n    assert False\n" for n in range(failing)))
    assert not outcome.passed and not outcome.unsteady


def ran_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> lanes.Outcome:
    """A lane of one file, with the project's own programs."""
    tests = tmp_path / "tests" / "store"
    tests.mkdir(parents=True)
    (tests / "test_it.py").write_text(text)
    monkeypatch.setattr(lanes, "ROOT", tmp_path)
    monkeypatch.setattr(lanes, "CACHES", tmp_path / "caches")
    return lanes.run_lane("store")
