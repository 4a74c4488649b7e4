"""Documents are right: their code runs, their links lead somewhere, the commands they name exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from outlast.spec.settings import BY_NAME
from tests.project.doc_blocks import blocks, fits, run_page, steps
from tests.project.project_files import ROOT, SOURCE
from tests.requests_sent import RECORD
from tools import check_docs

PAGES = check_docs.markdown_files()
RUNNABLE = [page for page in PAGES if any(block.runnable for block in blocks(page.read_text()))]
NAMES = [str(page.relative_to(ROOT)) for page in RUNNABLE]


@pytest.mark.parametrize("page", RUNNABLE, ids=NAMES)
def test_what_a_page_says_can_be_typed(page: Path, tmp_path: Path) -> None:
    directory = tmp_path / "project"
    directory.mkdir()
    programs = f"{ROOT / '.venv' / 'bin'}:{Path(sys.executable).parent}"
    environment = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "OUTLAST_DIR": str(tmp_path / "outlast"),
        "VIRTUAL_ENV": str(ROOT / ".venv"),
        "HOME": str(tmp_path),
        RECORD: os.environ[RECORD],
    }
    assert run_page(page.read_text(), directory, environment) > 0


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_and_commands_of_a_page_exist(page: Path) -> None:
    assert list(check_docs.problems_of(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_python_in_a_page_is_python(page: Path) -> None:
    for block in blocks(page.read_text()):
        if block.language == "python":
            ast.parse(block.text)


@pytest.mark.parametrize("kind", ["tutorial.md", "guides", "concepts", "reference", "home-format.md", "json.md"])
def test_there_is_a_page_of_every_kind(kind: str) -> None:
    path = ROOT / "docs" / kind
    assert path.is_file() or len(list(path.glob("*.md"))) >= 3


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    left = [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page in seen:
            continue
        seen.add(page)
        targets = check_docs.LINK.findall(check_docs.FENCE.sub("", page.read_text()))
        found = [(page.parent / target.partition("#")[0]).resolve() for target in targets if "://" not in target]
        left += [path for path in found if path.suffix == ".md" and path.is_file()]
    apart = [path for path in PAGES if path not in seen and "bench" not in path.parts and "examples" not in path.parts]
    assert apart == []


def test_every_setting_is_in_the_guide_to_configuration() -> None:
    text = (ROOT / "docs" / "guides" / "configuration.md").read_text()
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []


def test_every_variable_that_a_trainer_is_said_to_see_stands_in_the_program() -> None:
    guide = (ROOT / "docs/guides/configuration.md").read_text()
    table = guide.partition("## What the trainer sees")[2].partition("Which Python")[0]
    promised = set(re.findall(r"`([A-Z]{2,}(?:_[A-Z]+)+)[=<`]", table))
    program = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert len(promised) > 15
    assert {name for name in promised if not re.search(rf"\b{name}\b", program)} == set()


def test_the_runner_takes_commands_apart() -> None:
    (block,) = blocks("x\n```console runnable exit=3\n$ one\na\nb\n$ two\n```\n")
    assert block.runnable
    assert block.exit_code == 3
    assert [(step.command, step.output) for step in steps(block.text)] == [("one", ["a", "b"]), ("two", [])]


def test_the_runner_notices_a_wrong_answer() -> None:
    assert fits("step 1\nstep 2\ndone\n", ["step ...", "done"])
    assert not fits("step 1\nfailed\n", ["step ...", "done"])


def test_a_broken_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A heading, here\n[a](#a-heading-here) [b](#nowhere) [c](missing.md)\n`outlast fly`\n")
    problems = list(check_docs.problems_of(page))
    assert len(problems) == 3
    assert "#nowhere" in problems[0]
    assert "missing.md" in problems[1]
    assert "fly" in problems[2]


def test_make_names_its_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "docs", "soak", "bench"):
        listed = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True)
        assert listed.returncode == 0, listed.stderr
        assert f"make {target}" in text
