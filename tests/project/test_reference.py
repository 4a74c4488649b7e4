"""The reference is what the program says, and the program's quick answer is what click would say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.project_files import ROOT
from tools import generate_reference


@pytest.fixture(scope="module")
def wanted() -> dict[Path, str]:
    return generate_reference.generate()


def test_every_generated_page_is_current(wanted: dict[Path, str]) -> None:
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    assert [str(path.relative_to(ROOT)) for path in stale] == [], "hint: `make docs`"


def test_no_page_is_left_of_a_command_that_is_gone(wanted: dict[Path, str]) -> None:
    assert [str(path) for path in generate_reference.existing() if path not in wanted] == []


def test_every_command_has_a_page(wanted: dict[Path, str]) -> None:
    commands = ["run", "jobs", "show", "logs", "stop", "resume", "checkpoints", "pull", "drill", "config"]
    names = {path.stem for path in wanted if path.suffix == ".txt"}
    assert {"outlast", *commands} <= names


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["drill", "--help"]])
def test_help_is_the_generated_page(wanted: dict[Path, str], arguments: list[str]) -> None:
    page = arguments[0] if len(arguments) == 2 else "outlast"
    command = [sys.executable, "-m", "outlast.cli", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == wanted[generate_reference.PAGES / f"{page}.txt"]


def test_help_is_printed_before_click_is_imported() -> None:
    program = (
        "import sys; sys.argv = ['outlast', '--help']; import outlast.cli as c; c.main(); print('click' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("False\n")


def test_a_changed_page_is_reported(
    wanted: dict[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = generate_reference.REFERENCE / "README.md"
    monkeypatch.setattr(generate_reference, "generate", lambda: {**wanted, path: "something else"})
    assert generate_reference.main(["--check"]) == 1
    assert "docs/reference/README.md" in capsys.readouterr().err
