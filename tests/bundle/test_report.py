"""What was left out is said when it matters: large, or named by the script."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlast.bundle.report import REPORTED_MAX
from outlast.spec.spec import Target, TargetKind
from tests.bundle.working import Working

SCRIPT = Target(TargetKind.SCRIPT, "train.py")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.bundle.report.LARGE_BYTES", 1000)


def test_the_largest_files_of_a_heavy_bundle_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlast.bundle.pack.HEAVY_BYTES", 10_000)
    working = Working(tmp_path)
    working.write("train.py", "x" * 900)
    working.write("data/a", "x" * 4000)
    working.write("data/b", "x" * 3000)
    assert working.pack().heaviest == ()
    working.write("weights.bin", "x" * 5000)
    working.write("c", "x" * 2000)
    for _ in range(2):  # the second time from memory
        assert working.pack().heaviest == (("weights.bin", 5000), ("data/a", 4000), ("data/b", 3000))


def told(working: Working, target: Target | None = SCRIPT) -> dict[str, tuple[int, str]]:
    return {one.path: (one.bytes, one.why) for one in working.pack(target=target).left_out}


@pytest.mark.parametrize("git", [True, False])
def test_what_is_large_and_ignored_is_told_and_the_rest_is_not(tmp_path: Path, git: bool) -> None:
    working = Working(tmp_path, git=git)
    working.write(".gitignore", "/data/\n*.bin\n.venv/\n__pycache__/\n")
    working.write(".outlastignore", "notes/\n")
    working.write("train.py")
    working.write("data/a", "x" * 600)
    working.write("data/sub/b", "x" * 600)
    working.write("large.bin", "x" * 2000)
    working.write("small.bin", "x")
    working.write("notes/n", "x" * 3000)
    working.write(".venv/pyvenv.cfg", "x" * 5000)
    working.write("__pycache__/train.pyc", "x" * 5000)
    ignored = "ignored by git, large" if git else "ignored by `.gitignore`, large"
    assert told(working) == {
        "data": (1200, ignored),
        "large.bin": (2000, ignored),
        "notes": (3000, "listed in `.outlastignore`, large"),
    }


def test_what_the_script_names_and_does_not_ship_is_told(working: Working) -> None:
    working.write(".gitignore", "/data/\n/models/\n*.csv\nsecret/\n")
    working.write("shipped.csv", "x")
    working.git("add", "-f", "shipped.csv")
    working.write("data/__init__.py", "x")
    working.write("models/best.pt", "12345")
    working.write("in.csv", "123")
    working.write("other.csv", "123")
    working.write("secret/x", "1")
    working.write(".env", "A=1")
    script = (
        "from data import loader\nimport os, json\n"
        'weights = load("models/best.pt")\ntable = read(\'in.csv\'); read("shipped.csv"); read("absent.csv")\n'
        'load_dotenv(".env"); open("/etc/passwd"); open("../outside"); os.makedirs("."); print("")\n'
    )
    working.write("train.py", script)
    assert told(working) == {
        "models/best.pt": (5, "left out, but `train.py` names it"),
        "in.csv": (3, "left out, but `train.py` names it"),
        "data": (1, "left out, but `train.py` imports it"),
        ".env": (3, "looks like a credential"),
    }
    assert set(told(working, None)) == {".env"}


def test_a_script_below_the_top_names_files_from_both_places(working: Working) -> None:
    working.write(".gitignore", "*.csv\n")
    working.write("a.csv", "1")
    working.write("src/b.csv", "1")
    working.write("src/train.py", 'open("a.csv"); open("b.csv")')
    module = Target(TargetKind.MODULE, "src.train")
    assert set(told(working, module)) == {"a.csv", "src/b.csv"}
    assert {why for _, why in told(working, module).values()} == {"left out, but `src/train.py` names it"}


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00'", b"'" * 10000, b'"' + b"a" * 100000, b'open("a\\0b")', b"import " * 1000]
)
def test_no_script_breaks_the_report(working: Working, text: bytes) -> None:
    working.write("train.py", text)
    working.pack(target=SCRIPT)


def test_a_directory_with_very_many_files_is_at_least_so_large(
    working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outlast.bundle.report.ENTRIES_MEASURED_MAX", 50)
    working.write(".gitignore", "data\n")
    working.write("train.py")
    for number in range(100):
        working.write(f"data/{number}", "x" * 100)
    ((size, why),) = told(working).values()
    assert 1000 < size <= 5000 and why == "ignored by git, large"


def test_the_report_has_an_end(working: Working) -> None:
    working.write("train.py")
    for number in range(REPORTED_MAX + 50):
        working.write(f"{number}.pem")
    assert len(told(working)) == REPORTED_MAX
